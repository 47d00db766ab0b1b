"""The commands ``remove``, ``restore``, ``bin`` and ``missing``: pictures out of the collection."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.core.errors import InvalidInput
from lookalike.core.text import counted
from lookalike.service.commands.upkeep import put_back
from lookalike.service.options import HERE, AsJson, CollectionPath, from_home
from lookalike.service.screen import Screen

if TYPE_CHECKING:
    from lookalike.collection import Collection, PictureRow

SHOWN = 100
"""Most pictures shown on the screen."""

EVERY = 1_000_000_000

Pictures = Annotated[list[str], typer.Argument(metavar="PICTURES", show_default=False)]


def remove(pictures: Pictures, collection: CollectionPath = HERE, as_json: AsJson = False) -> None:
    """Move pictures, or all in a folder, to the bin; the files themselves are kept.

    They stay out when their folder is indexed again. Pictures of a folder that also lie in another
    one stay. lookalike restore brings them back with their labels and votes; lookalike bin --empty
    erases what is stored about them.
    """
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        chosen: list[int | str] = [name for name in pictures if not Path(name).is_dir()]
        # As paths are stored: without "..", which Path.absolute keeps.
        folders = [Path(os.path.abspath(n)) for n in pictures if Path(n).is_dir()]  # noqa: PTH100
        rows = [row for folder in folders for row in _inside(store, folder)]
        only_here = {row.id for row in rows if not _lies_outside(row, folders)}
        copied = {row.id for row in rows} - only_here
        removed = store.remove([*chosen, *only_here]) if chosen or only_here else 0
        total = len(store)
    if copied:
        screen.say(
            f"{counted(len(copied), 'picture')} kept, with copies in another folder. To remove "
            f"these as well, name their files or that folder, too."
        )
    screen.say(
        f"{removed:,} moved to the bin; {counted(total, 'picture')} left in {collection}. "
        f"To bring them back: lookalike restore."
    )
    screen.result(
        {"collection": collection, "removed": removed, "kept": len(copied), "pictures": total}
    )


def _inside(store: "Collection", folder: Path) -> "Sequence[PictureRow]":
    """Return the pictures in a folder and below it, or raise NotFound."""
    from lookalike.collection import Filter
    from lookalike.core.errors import NotFound

    rows = store.pictures.browse(EVERY, where=Filter(folder=str(folder)))
    if not rows:
        raise NotFound(f"{store.path} has no pictures in the folder {folder}.")
    return rows


def _lies_outside(row: "PictureRow", folders: "Sequence[Path]") -> bool:
    """Return whether there is a file of a picture outside of some folders."""
    outside = [p for p in row.places if not any(p.is_relative_to(folder) for folder in folders)]
    return any(path.is_file() for path in outside)


def _binned_inside(store: "Collection", name: str) -> "Sequence[int | str]":
    """Return the pictures in the bin from a folder and below it, or what else was named."""
    from lookalike.core.errors import NotFound

    if not Path(name).is_dir():
        return [name]
    folder = Path(os.path.abspath(name))  # noqa: PTH100
    rows = [
        row.id
        for row in store.bin.browse(EVERY)
        if any(path.is_relative_to(folder) for path in row.places)
    ]
    if not rows:
        raise NotFound(
            f"{store.path} has no pictures of the folder {name} in the bin, nor did lookalike "
            f"backup write it."
        )
    return rows


def restore(
    pictures: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PICTURES | BACKUP]", show_default="all in the bin"),
    ] = None,
    *,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="With a backup: delete what was there instead of keeping it beside."
        ),
    ] = False,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Bring pictures back from the bin, or put a backup in the place of the collection.

    Pictures, or all from a folder, come back with their labels and votes. Given a folder that
    lookalike backup wrote, the backup is verified and takes the collection's place, which no server
    may use meanwhile; what was there is kept beside it.
    """
    from lookalike.collection import Collection, is_backup

    screen = Screen(as_json)
    given = [from_home(Path(name)) for name in pictures or ()]
    if len(given) == 1 and is_backup(given[0]):
        put_back(given[0], collection, replace=replace, screen=screen)
        return
    if replace:
        raise InvalidInput(
            "restore: --replace is for one folder that lookalike backup wrote; name that."
        )
    with Collection.open(collection) as store:
        named = [one for name in pictures or () for one in _binned_inside(store, name)]
        restored = store.restore(named or None)
        total = len(store)
    screen.say(f"{restored:,} restored; {counted(total, 'picture')} in {collection}.")
    screen.result({"collection": collection, "restored": restored, "pictures": total})


def bin(  # noqa: A001
    *,
    empty: Annotated[
        bool,
        typer.Option(
            "--empty",
            help="Erase the pictures in it: all that is stored about them, and uploaded files. "
            "Your own files are kept.",
        ),
    ] = False,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """List the pictures in the bin, or empty it."""
    from lookalike.collection import Collection

    screen = Screen(as_json)
    with Collection.open(collection) as store:
        if empty:
            erased = store.bin.empty()
            screen.say(f"{counted(erased, 'picture')} erased. The bin is empty.")
            screen.result({"collection": collection, "erased": erased})
            return
        rows = store.bin.browse(EVERY)
    _show(screen, rows, "in the bin")
    screen.result({"collection": collection, "pictures": _as_rows(rows)})


def missing(
    *,
    gone: Annotated[
        bool, typer.Option("--remove", help="Move all missing pictures to the bin.")
    ] = False,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Look for all files, and list the pictures whose files are missing.

    They keep their labels and votes, and are found again when a file with the same content is
    indexed, wherever it lies then.
    """
    from lookalike.collection import Collection, Filter

    screen = Screen(as_json)
    lost = Filter(missing=True)
    with Collection.open(collection) as store:
        store.pictures.find_missing()
        rows = store.pictures.browse(EVERY, where=lost, order="added")
        removed = store.remove(lost) if gone else 0
    _show(screen, rows, "missing")
    if gone:
        screen.say(f"{removed:,} moved to the bin.")
    screen.result({"collection": collection, "pictures": _as_rows(rows), "removed": removed})


def _show(screen: Screen, rows: "list[PictureRow]", what: str) -> None:
    screen.say(f"{counted(len(rows), 'picture')} {what}.")
    if rows:
        screen.table(["id", "file"], [[row.id, row.places[0]] for row in rows[:SHOWN]])
    if len(rows) > SHOWN:
        screen.say(f"… and {len(rows) - SHOWN:,} more; use --json for all.")


def _as_rows(rows: "Iterable[PictureRow]") -> list[dict[str, Any]]:
    return [{"id": row.id, "places": list(row.places), "missing": row.missing} for row in rows]

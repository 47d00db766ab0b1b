"""The command ``lookalike albums``: list albums, or the pictures of one, or write these down."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.core.text import counted
from lookalike.service.album_export import album_content, album_rows, album_table
from lookalike.service.options import HERE, AsJson, CollectionPath, from_home
from lookalike.service.screen import Screen

if TYPE_CHECKING:
    from lookalike.collection import Album


def albums(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The album to show.", show_default=False),
    ] = None,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv|FILE.json",
            callback=lambda path: None if path is None else from_home(path),
            help="Write the pictures of the album to a file, with their paths and labels.",
        ),
    ] = None,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """List the albums, or the pictures of one, best first.

    An album is a search saved with a name on the page or by Collection.save_album. Search among
    its pictures with: lookalike search PICTURE --album NAME
    """
    from lookalike.collection import Collection

    screen = Screen(as_json)
    if out is not None and (name is None or out.suffix.lower() not in (".csv", ".json")):
        raise typer.BadParameter("--out needs an album's NAME and a file named .csv or .json.")
    with Collection.open(collection) as store:
        if name is None:
            _list(screen, store.albums.all())
            return
        album = store.albums.get(name)
        rows = album_rows(store, album)
    if album.gone:
        screen.say(f"{counted(album.gone, 'picture')} of this album removed from the collection.")
    if album.trouble:
        screen.say(album.trouble)
    if out is not None:
        from lookalike.core.arrays import write_whole

        write_whole(out, _written(out, album, rows))
        screen.say(f"{counted(len(rows), 'picture')} written to {out}.")
    else:
        screen.table(
            ["id", "picture", "labels", "new"],
            [
                [row["id"], row["path"], ", ".join(row["labels"]), "new" if row["new"] else ""]
                for row in rows
            ],
            numbers=["id"],
        )
    screen.result({**album_content(album, rows), "opened": album.opened, "file": out})


def _list(screen: Screen, result: "list[Album]") -> None:
    if not result:
        screen.say("No albums yet. Save a search or a selection on the page: lookalike serve")
    else:
        screen.table(
            ["album", "pictures", "new", "last opened"],
            [[one.name, len(one.members), len(one.new), one.opened] for one in result],
            numbers=["pictures", "new"],
        )
    screen.result(
        {
            "albums": [
                {
                    "id": one.id,
                    "name": one.name,
                    "pictures": len(one.members),
                    "new": len(one.new),
                    "made": one.made,
                    "opened": one.opened,
                    "trouble": one.trouble,
                }
                for one in result
            ]
        }
    )


def _written(out: Path, album: "Album", rows: list[dict[str, Any]]) -> bytes:
    if out.suffix.lower() == ".json":
        return json.dumps(album_content(album, rows), ensure_ascii=False, indent=2).encode()
    return album_table(rows).encode()

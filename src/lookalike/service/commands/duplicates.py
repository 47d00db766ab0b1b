"""The command ``lookalike duplicates``: find near-duplicates, with a suggestion which to keep."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lookalike.core.text import counted
from lookalike.service.options import HERE, AsJson, By, CollectionPath, or_another
from lookalike.service.screen import Screen, kept

if TYPE_CHECKING:
    from lookalike.collection import Collection, Duplicates, PictureRow
    from lookalike.service.file_lists import Form

SHOWN = 50
"""Most groups shown on the screen."""

FORMS: "dict[str, Form]" = {".txt": "txt", ".csv": "csv", ".sh": "sh"}
"""What a list of files is by the end of its name."""

ON_SHEET, EACH = 500, 24
"""Most groups on a contact sheet, and most pictures of each."""


def duplicates(
    *,
    radius: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=128,
            help="In how many of 128 bits the codes of two copies may differ. More find more "
            "heavily changed copies, and take longer.",
            show_default="40, or 48 for a sparse feature",
        ),
    ] = None,
    like: Annotated[
        float | None,
        typer.Option(
            help="How alike two copies are at least: 1 for the same, 0 for unrelated pictures.",
            show_default="0.95",
        ),
    ] = None,
    by: By = None,
    sheet: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write an HTML page with the groups.")
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.txt|FILE.csv|FILE.sh",
            help="Write the files that could go, each beside one to keep: to read, for a "
            "spreadsheet, or as a script that checks each again and deletes it.",
        ),
    ] = None,
    collection: CollectionPath = HERE,
    as_json: AsJson = False,
) -> None:
    """Find copies of files, and near-duplicates: resized, recompressed, cropped, grey or mirrored.

    Of each group one is suggested to keep: the largest, then one in colour, the one of the richest
    format, the largest file, with tags or votes, the oldest. Nothing is changed or deleted: remove
    what you do not need with lookalike remove, or look through the groups in lookalike serve, where
    the one kept gets the tags of the others.
    """
    from lookalike.collection import Collection

    form = None if files is None else FORMS.get(files.suffix.lower())
    if files is not None and form is None:
        raise typer.BadParameter("--files needs a file named .txt, .csv or .sh.")
    screen = Screen(as_json)
    with (
        Collection.open(collection) as store,
        or_another(store),
        kept("Nothing was changed."),
    ):
        with screen.bar("Looking for duplicates") as progress:
            result = store.duplicates.find(by=by, radius=radius, like=like, progress=progress)
        rows = _rows(store, result if as_json else result[:ON_SHEET])
        if sheet is not None:
            _write_sheet(sheet, store, result, rows)
        labels = store.labels.of(rows) if as_json else {}
        copies = store.duplicates.copies()
        if files is not None and form is not None:
            _write_files(screen, files, form, store, result)
    more = sum(len(one.paths) - 1 for one in copies)
    if copies:
        screen.say(
            f"{counted(more, 'file')} could go: {counted(len(copies), 'picture')} with several "
            f"files of the same content."
        )
        if files is None:
            screen.say("To list them: lookalike duplicates --files duplicates.txt")
    extra = sum(len(group.pictures) - 1 for group in result)
    screen.say(
        f"{counted(len(result), 'group')} of near-duplicates; {counted(extra, 'picture')} could go."
        if result
        else "No near-duplicates found."
    )
    _show(screen, result, rows)
    if sheet is not None:
        screen.say(f"Groups written to {sheet}.")
    screen.result(
        {
            "collection": collection,
            "groups": [
                {
                    "keeper": group.keeper,
                    "reason": group.reason,
                    "pictures": [
                        {
                            **asdict(rows[number]),
                            "labels": labels.get(number, []),
                            "likeness": score,
                        }
                        for number, score in _present(group, rows)
                    ],
                }
                for group in result
            ],
            "duplicates": extra,
            "copies": [asdict(one) for one in copies],
            "files": files,
            "sheet": sheet,
        }
    )


def _write_files(
    screen: Screen,
    place: Path,
    form: "Form",
    store: "Collection",
    groups: "Sequence[Duplicates]",
) -> None:
    from lookalike.core.arrays import write_whole
    from lookalike.service.file_lists import file_list, spare_files

    spare = spare_files(store, groups)
    write_whole(place, file_list(spare, form, place.name))
    screen.say(f"{counted(len(spare), 'file')} that could go written to {place}.")


def _rows(store: "Collection", groups: "Iterable[Duplicates]") -> "dict[int, PictureRow]":
    from lookalike.collection import Filter

    ids = tuple(number for group in groups for number in group.pictures)
    some = store.pictures.browse(len(ids), where=Filter(pictures=ids)) if ids else []
    return {row.id: row for row in some}


def _present(group: "Duplicates", rows: "dict[int, PictureRow]") -> list[tuple[int, float]]:
    """Return the pictures of a group that are still there, and how alike they are."""
    pairs = zip(group.pictures, group.likeness, strict=True)
    return [(number, score) for number, score in pairs if number in rows]


def _show(screen: Screen, groups: "Sequence[Duplicates]", rows: "dict[int, PictureRow]") -> None:
    lines: list[list[Any]] = []
    for place, group in enumerate(groups[:SHOWN], start=1):
        for number, score in _present(group, rows)[:EACH]:
            row, first = rows[number], number == group.keeper
            alike = f"keep ({group.reason})" if first else f"{score:.3f}"
            size = f"{row.width} × {row.height}"
            lines.append([place if first else "", alike, size, row.format, row.places[0]])
        if len(group.pictures) > EACH:
            lines.append(["", f"… {len(group.pictures) - EACH:,} more", "", "", ""])
    if lines:
        screen.table(["group", "likeness", "size", "format", "picture"], lines, numbers=["group"])
    if len(groups) > SHOWN:
        screen.say(f"… and {len(groups) - SHOWN:,} more groups; use --json for all.")


def _write_sheet(
    sheet: Path,
    store: "Collection",
    groups: "Sequence[Duplicates]",
    rows: "dict[int, PictureRow]",
) -> None:
    from lookalike.core.arrays import write_whole
    from lookalike.service.contact_sheet import Query, Strip, Tile, contact_sheet
    from lookalike.service.web.pages.views import size

    queries = []
    for group in groups[:ON_SHEET]:
        tiles = []
        for number, score in _present(group, rows)[: EACH + 1]:
            row = rows[number]
            facts = f"{row.width} × {row.height}, {row.format}, {size(row.bytes)}"
            alike = group.reason if number == group.keeper else f"{score:.3f}"
            tiles.append(
                Tile(store.pictures.thumbnail(number), row.places[0].name, f"{facts} · {alike}")
            )
        more = len(group.pictures) - len(tiles)
        heading = f"Duplicates ({more:,} more)" if more > 0 else "Duplicates"
        queries += [Query(first, [Strip(heading, tiles[1:])], "Keep") for first in tiles[:1]]
    extra = sum(len(group.pictures) - 1 for group in groups)
    page = contact_sheet(
        "Near-duplicates",
        [
            f"{counted(len(groups), 'group')} in {counted(len(store), 'picture')}; "
            f"{counted(extra, 'picture')} could go. The picture to keep comes first, with the "
            f"reason; the others with how alike they are to it."
        ],
        queries,
        notes=[f"The first {ON_SHEET} groups are shown."] if len(groups) > ON_SHEET else [],
    )
    write_whole(sheet, page.encode())

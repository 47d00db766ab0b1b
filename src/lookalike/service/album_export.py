"""The pictures of an album, as a table to write."""

import io
from typing import TYPE_CHECKING, Any

from lookalike.core.text import safe_cell, shown
from lookalike.service.csv_rows import write_rows

if TYPE_CHECKING:
    from lookalike.collection import Album, Collection


DETAILS = ("caption", "camera", "lens", "latitude", "longitude")
"""What files say of pictures besides labels."""


def album_rows(collection: "Collection", album: "Album") -> list[dict[str, Any]]:
    """Return a row for each picture in an album, best first: where it is, and what is known."""
    from lookalike.collection import Filter

    rows = collection.pictures.browse(
        max(len(album.members), 1), where=Filter(pictures=tuple(sorted(album.members)))
    )
    by_id = {row.id: row for row in rows if row.places}
    labels, new = collection.labels.of(by_id), set(album.new)
    return [
        {
            "id": number,
            "path": shown(by_id[number].places[0]),
            "labels": [shown(label) for label in labels.get(number, ())],
            "new": number in new,
            **{name: getattr(by_id[number], name) for name in DETAILS},
        }
        for number in album.members
        if number in by_id
    ]


def album_content(album: "Album", rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return an album with its pictures to write as JSON, and whose votes chose them."""
    layers = "shared" if album.search.learned else "plain"
    return {"name": shown(album.name), "layers": layers, "pictures": rows}


def album_table(rows: list[dict[str, Any]]) -> str:
    """Return the pictures of an album as CSV, several labels separated by semicolons."""
    table = io.StringIO(newline="")
    write_rows(table, [["id", "path", "labels", "new", *DETAILS]])
    cells = (
        [
            *(row["id"], safe_cell(row["path"]), safe_cell(";".join(row["labels"])), row["new"]),
            *(safe_cell(row[name]) for name in ("caption", "camera", "lens")),
            *(row["latitude"], row["longitude"]),
        ]
        for row in rows
    )
    write_rows(table, cells)
    return table.getvalue()

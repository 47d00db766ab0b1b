"""The pictures: which there are, what is known of each, and their thumbnails."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store.database import Database, now, numbers, stored
from lookalike.collection.store.details import details_of
from lookalike.collection.store.places import missing_since, places_of
from lookalike.collection.store.sums import damaged, is_sound, row_sum, sound_jpeg
from lookalike.collection.store.texts import texts_of
from lookalike.core.checks import is_whole
from lookalike.core.errors import InvalidInput
from lookalike.images import Facts
from lookalike.images.details import NOTHING, Details


@dataclass(frozen=True, slots=True)
class PictureRow:
    """What is known of a picture; ``added`` is in UTC, ``taken`` as the camera said.

    ``missing`` is since when, in UTC, all its files are missing; None where one is there.
    ``caption``, ``camera``, ``lens`` and the place in degrees are what its files say, or empty.
    ``written`` is what is written in it, where that was read.
    """

    id: int
    sha256: str
    format: str
    width: int
    height: int
    bytes: int
    taken: str | None
    added: str
    places: tuple[Path, ...]
    missing: str | None = None
    caption: str = ""
    camera: str = ""
    lens: str = ""
    latitude: float | None = None
    longitude: float | None = None
    written: str = ""


_PAGE = 1000

FACTS = "id, sha256, format, width, height, bytes, taken, added, crc"
"""The columns of a picture, as a PictureRow has them, and their checksum."""


def find_id(database: Database, picture: object) -> int | None:
    """Return the id of a picture named by id or path, or None."""
    return _find(
        database,
        picture,
        by_id="SELECT id FROM pictures WHERE id = ?",
        by_path="SELECT picture FROM places WHERE path = CAST(? AS TEXT) "
        "AND picture NOT IN (SELECT picture FROM bin) ORDER BY lost DESC NULLS FIRST LIMIT 1",
    )


def find_binned(database: Database, picture: object) -> int | None:
    """Return the id of a picture in the bin, named by id or path, or None."""
    return _find(
        database,
        picture,
        by_id="SELECT picture FROM bin WHERE picture = ?",
        by_path="SELECT picture FROM places WHERE path = CAST(? AS TEXT) "
        "AND picture IN (SELECT picture FROM bin)",
    )


def _find(database: Database, picture: object, *, by_id: str, by_path: str) -> int | None:
    if is_whole(picture):
        row = database.row(by_id, int(picture))  # type: ignore[call-overload]
    elif isinstance(picture, str | os.PathLike):
        row = database.row(by_path, stored(Path(picture)))
    else:
        raise _unnamed(picture)
    return None if row is None else int(row[0])


def _unnamed(picture: object) -> InvalidInput:
    return InvalidInput(
        f"Collection: a picture is named by its id or path; got {type(picture).__name__}."
    )


def find_content(database: Database, sha256: str) -> int | None:
    """Return the id of the picture with this content, or None."""
    row = database.row("SELECT id FROM pictures WHERE sha256 = ?", sha256)
    return None if row is None else int(row[0])


def find_anywhere(connection: Connection, sha256: str) -> tuple[int, bool] | None:
    """Return the id of the picture with this content, and whether it is in the bin; or None."""
    row = connection.execute(
        "SELECT id, id IN (SELECT picture FROM bin) FROM all_pictures WHERE sha256 = ?", (sha256,)
    ).fetchone()
    return None if row is None else (int(row[0]), bool(row[1]))


def has_content(database: Database, sha256: str) -> bool:
    """Return whether a picture, in the bin or not, has this content."""
    return database.row("SELECT 1 FROM all_pictures WHERE sha256 = ?", sha256) is not None


def add(connection: Connection, facts: Facts, thumbnail: bytes | None) -> int:
    """Add a picture, and return its id; its place and its records have to follow."""
    values = (
        *(facts.sha256, facts.format, facts.width, facts.height, facts.bytes, facts.taken),
        now(),
    )
    number = connection.execute(
        "INSERT INTO all_pictures (sha256, format, width, height, bytes, taken, added, crc) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (*values, row_sum(*values)),
    ).lastrowid
    connection.execute(
        "INSERT INTO thumbnails VALUES (?, ?, ?)", (number, thumbnail, row_sum(number, thumbnail))
    )
    return int(number or 0)


def binned(database: Database) -> set[int]:
    """Return the pictures in the bin."""
    return {number for (number,) in database.rows("SELECT picture FROM bin")}


def existing_ids(database: Database, ids: Iterable[int]) -> set[int]:
    """Return those of some pictures that are in the collection, and not in the bin."""
    rows = database.rows(
        "SELECT id FROM pictures WHERE id IN (SELECT value FROM json_each(?))", numbers(ids)
    )
    return {number for (number,) in rows}


def picture_rows(database: Database, facts: Sequence[Sequence[Any]]) -> list[PictureRow]:
    """Return pictures with their places; ``facts`` are their columns, as ``FACTS`` names them."""
    return list(_rows(database, facts, places_of(database, [row[0] for row in facts])).values())


def _rows(
    database: Database, facts: Sequence[Sequence[Any]], places: Mapping[int, tuple[Path, ...]]
) -> dict[int, PictureRow]:
    missing, details = missing_since(database, places), details_of(database, places)
    texts = texts_of(database, places)
    return {
        row[0]: PictureRow(
            *(*_sound_facts(row), places[row[0]], missing.get(row[0])),
            **_fields(details.get(row[0], NOTHING), texts.get(row[0], "")),
        )
        for row in facts
        if row[0] in places
    }


def _fields(details: Details, written: str) -> dict[str, Any]:
    return {"written": written} | {one.name: getattr(details, one.name) for one in fields(Details)}


def with_labels(
    database: Database, places: Mapping[int, tuple[Path, ...]]
) -> dict[int, tuple[PictureRow, list[str]]]:
    """Return pictures whose places are known, each with its labels, all read at once."""
    labels = "(SELECT json_group_array(label) FROM labels WHERE picture = pictures.id)"
    rows = database.rows(
        f"SELECT {FACTS}, {labels} FROM pictures "  # noqa: S608
        "WHERE id IN (SELECT value FROM json_each(?))",
        numbers(places),
    )
    made = _rows(database, rows, places)
    return {row[0]: (made[row[0]], json.loads(row[-1])) for row in rows}


def _sound_facts(row: Sequence[Any]) -> Sequence[Any]:
    """Return the facts of a picture without their checksum, or raise DamagedFile."""
    if not is_sound(row[8], *row[1:8]):
        raise damaged(f"what is known of picture {row[0]}")
    return row[:8]


def pictures(database: Database, first: int, last: int | None = None) -> Iterator[PictureRow]:
    """Go over the pictures from one id to another, a page at a time."""
    start, end = first, 2**62 if last is None else last
    while True:
        rows = database.rows(
            f"SELECT {FACTS} FROM pictures "  # noqa: S608
            "WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
            *(start, end, _PAGE),
        )
        if not rows:
            return
        yield from picture_rows(database, rows)
        start = rows[-1][0] + 1


def file_facts(database: Database) -> list[tuple[Any, ...]]:
    """Return of all pictures id, width, height, format, bytes, taken, camera and oldest file.

    The last is when the oldest of their files was written, in seconds since 1970.
    """
    return database.rows(
        "SELECT id, width, height, format, bytes, taken, "
        "ifnull((SELECT camera FROM details WHERE picture = pictures.id), ''), "
        "ifnull((SELECT min(mtime_ns) / 1000000000 FROM places WHERE picture = pictures.id), 0) "
        "FROM pictures"
    )


def days(database: Database, ids: Iterable[int]) -> dict[int, str]:
    """Return the days that pictures were taken on, as ``2024-05-31``; empty where unknown."""
    return dict(
        database.rows(
            "SELECT id, ifnull(substr(taken, 1, 10), '') FROM pictures "
            "WHERE id IN (SELECT value FROM json_each(?))",
            numbers(ids),
        )
    )


def ids(database: Database) -> NDArray[np.int64]:
    """Return the ids of all pictures, rising."""
    # One text is read five times as fast as a row for each.
    rows = database.rows("SELECT group_concat(id) FROM pictures")
    return np.sort(read_numbers(rows[0][0]))


def read_numbers(text: str | None) -> NDArray[np.int64]:
    """Return the numbers that SQLite's ``group_concat`` wrote."""
    result: NDArray[np.int64] = np.fromstring(text or "", np.int64, sep=",")
    return result


def thumbnail(database: Database, number: int) -> bytes | None:
    """Return a small JPEG of a picture, or None."""
    row = database.row("SELECT jpeg, crc FROM thumbnails WHERE picture = ?", number)
    return sound_jpeg(f"the thumbnail of picture {number}", number, row)


def thumbnails(database: Database, ids: Iterable[int]) -> dict[int, bytes]:
    """Return small JPEGs of pictures, of those that have one."""
    rows = database.rows(
        "SELECT picture, jpeg FROM thumbnails WHERE picture IN (SELECT value FROM json_each(?))",
        numbers(ids),
    )
    return {picture: bytes(jpeg) for picture, jpeg in rows}


def without_thumbnail(database: Database) -> list[int]:
    """Return the pictures, in the bin or not, that have no thumbnail, by rising id."""
    rows = database.rows(
        "SELECT id FROM all_pictures WHERE id NOT IN (SELECT picture FROM thumbnails) ORDER BY id"
    )
    return [number for (number,) in rows]


def delete(connection: Connection, ids: Iterable[int]) -> set[str]:
    """Delete pictures with all that refers to them, and return the tokens of their regions."""
    some = numbers(ids)
    regions = connection.execute(
        "SELECT token FROM queries WHERE picture IN (SELECT value FROM json_each(?))", (some,)
    )
    tokens = {token for (token,) in regions}
    connection.execute(
        "DELETE FROM all_pictures WHERE id IN (SELECT value FROM json_each(?))", (some,)
    )
    return tokens

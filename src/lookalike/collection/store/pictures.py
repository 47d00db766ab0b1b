"""What the tables say of pictures: which there are, where their files lie, which were refused."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store.database import Database, numbers, stored
from lookalike.collection.store.sums import PLACE, damaged, is_sound, sound_jpeg
from lookalike.core.checks import is_whole
from lookalike.core.errors import InvalidInput
from lookalike.images import Refused


@dataclass(frozen=True, slots=True)
class PictureRow:
    """What is known of a picture; ``added`` is in UTC, ``taken`` as the camera said.

    ``missing`` is since when, in UTC, all its files are missing; None where one is there.
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


def file_facts(database: Database, path: str | Path) -> tuple[int, int] | None:
    """Return the size and time a file had when it was read, or None."""
    row = database.row(
        "SELECT size, mtime_ns FROM places WHERE path = CAST(? AS TEXT) AND lost IS NULL",
        stored(path),
    )
    return None if row is None else (row[0], row[1])


def known(database: Database, ids: Iterable[int]) -> set[int]:
    """Return those of some pictures that are in the collection, and not in the bin."""
    rows = database.rows(
        "SELECT id FROM pictures WHERE id IN (SELECT value FROM json_each(?))", numbers(ids)
    )
    return {number for (number,) in rows}


def places_of(database: Database, ids: Iterable[int]) -> dict[int, tuple[Path, ...]]:
    """Return the paths of pictures, oldest first; those that are missing come last.

    Raises
    ------
    DamagedFile
        If a picture of the collection has none, or one that is not as it was written.
    """
    asked = list(ids)
    found: dict[int, tuple[Path, ...]] = {}
    rows = database.rows(
        f"SELECT picture, path, crc = row_sum({', '.join(PLACE)}) FROM places "  # noqa: S608
        "WHERE picture IN (SELECT value FROM json_each(?)) ORDER BY lost IS NOT NULL, id",
        numbers(asked),
    )
    with database.parsing("the path of a picture"):
        for picture, path, sound in rows:
            if not sound:
                raise damaged(f"the path of picture {picture}")
            found[picture] = (*found.get(picture, ()), Path(path))
        if lacking := {*asked} - found.keys():
            # A picture that was erased meanwhile has no path, but is not there, either.
            there = database.row(
                "SELECT min(id) FROM all_pictures WHERE id IN (SELECT value FROM json_each(?))",
                numbers(lacking),
            )
            if there and there[0] is not None:
                raise ValueError(f"picture {there[0]} has none")
    return found


def missing_since(database: Database, ids: Iterable[int]) -> dict[int, str]:
    """Return since when the files of pictures are missing, of those all of whose files are."""
    rows = database.rows(
        "SELECT picture, max(lost) FROM places WHERE picture IN (SELECT value FROM json_each(?)) "
        "GROUP BY picture HAVING count(*) = count(lost)",
        numbers(ids),
    )
    return dict(rows)


def picture_rows(database: Database, facts: Sequence[Sequence[Any]]) -> list[PictureRow]:
    """Return pictures with their places; ``facts`` are their columns, as ``FACTS`` names them."""
    ids = [row[0] for row in facts]
    places, missing = places_of(database, ids), missing_since(database, ids)
    return [
        PictureRow(*(*checked_facts(row), places[row[0]], missing.get(row[0])))
        for row in facts
        if row[0] in places
    ]


def checked_facts(row: Sequence[Any]) -> Sequence[Any]:
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


def all_places(database: Database) -> list[tuple[str, int]]:
    """Return every path and its picture, oldest first; a path that is missing before others."""
    rows = database.rows(
        "SELECT path, picture FROM places WHERE picture NOT IN (SELECT picture FROM bin) "
        "ORDER BY lost IS NULL, id"
    )
    with database.parsing("the path of a picture"):
        return [(_text(path), picture) for path, picture in rows]


def roots(database: Database) -> list[str]:
    """Return the folders that were added."""
    with database.parsing("a folder that was added"):
        return [_text(path) for (path,) in database.rows("SELECT path FROM roots ORDER BY path")]


def _text(path: object) -> str:
    """Return a path as it is stored; ValueError for one that is not text."""
    if not isinstance(path, str):
        raise ValueError(f"it is {path!r:.80}")
    return path


def lies_below(database: Database, path: Path) -> bool:
    """Return whether a picture lies, or lay, at a path or below it."""
    name = stored(path)
    found = database.row(
        "SELECT 1 FROM places WHERE path = CAST(?1 AS TEXT) "
        "OR (path > CAST(?2 AS TEXT) AND path < CAST(?3 AS TEXT)) LIMIT 1",
        *(name, name + b"/", name + b"0"),
    )
    return found is not None


def ids(database: Database) -> NDArray[np.int64]:
    """Return the ids of all pictures, rising."""
    # One text is read five times as fast as a row for each.
    found = database.rows("SELECT group_concat(id) FROM pictures")
    return np.sort(read_numbers(found[0][0]))


def read_numbers(text: str | None) -> NDArray[np.int64]:
    """Return the numbers that SQLite's ``group_concat`` wrote."""
    found: NDArray[np.int64] = np.fromstring(text or "", np.int64, sep=",")
    return found


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


def refused(database: Database) -> list[Refused]:
    """Return the files that could not be used when they were last read."""
    found = database.rows("SELECT path, reason FROM refused ORDER BY path")
    return [Refused(Path(path), reason) for path, reason in found]


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

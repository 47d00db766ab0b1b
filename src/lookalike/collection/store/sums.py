"""Checksums of rows: written with them, and checked when they are read.

SQLite notices a damaged page only where its structure is: a flipped bit in a stored vector, a
thumbnail or a label is read as if it had been written so.
"""

import zlib
from collections.abc import Iterable, Sequence
from sqlite3 import Connection
from typing import Any

from lookalike.core.errors import DamagedFile

RECORD = ("picture", "record")
PLACE = ("picture", "CAST(path AS BLOB)")  # a path need not be text that can be read
DETAILS = ("picture", "caption", "camera", "lens", "latitude", "longitude")
TEXT = ("picture", "text")

SUMMED = {
    "all_pictures": ("sha256", "format", "width", "height", "bytes", "taken", "added"),
    "places": PLACE,
    "thumbnails": ("picture", "jpeg"),
    "details": DETAILS,
    "texts": TEXT,
    "given": ("picture", "key", "source", "label"),
    "refusals": ("picture", "key", "word"),
    "clicks": ("query", "picture", "weight"),
    "queries": ("token", "jpeg"),
    "query_records": ("token", "ranker", "record"),
}
"""The tables whose rows have a checksum in the column ``crc``, and what it is made of.

So have the tables of records, of a :data:`RECORD`.
"""


def row_sum(*values: Any) -> int:
    """Return the checksum of a row: a CRC-32 of its values, one after the other."""
    result = 0
    for value in values:
        if not isinstance(value, bytes):
            value = repr(value).encode("utf-8", "surrogatepass")  # noqa: PLW2901
        result = zlib.crc32(value, result)
    return result


def register(connection: Connection) -> None:
    """Let SQL statements call ``row_sum``."""
    connection.create_function("row_sum", -1, row_sum, deterministic=True)


def is_sound(crc: int, *values: Any) -> bool:
    """Return whether a row is as it was written."""
    return crc == row_sum(*values)


def sound_jpeg(what: str, key: int | str, row: Sequence[Any] | None) -> bytes | None:
    """Return the JPEG of a row of it and its checksum, None for no row, or raise DamagedFile."""
    if row is None:
        return None
    if not is_sound(row[1], key, row[0]):
        raise damaged(what)
    return bytes(row[0])


def check_rows(what: str, rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return rows without their last column, the checksum.

    Raises
    ------
    DamagedFile
        If one is not as it was written; ``what`` says what they are.
    """
    result = []
    for *values, crc in rows:
        if not is_sound(crc, *values):
            raise damaged(f"{what} {values[0]!r:.40}")
        result.append(tuple(values))
    return result


def damaged(what: str) -> DamagedFile:
    """Return the error of a row that is not as it was written."""
    return DamagedFile(
        f"the database is damaged: {what} is not as it was written (its checksum differs). "
        f"“lookalike check” lists all that is damaged; restore a backup of the collection."
    )


def damaged_rows(connection: Connection, table: str, columns: Sequence[str]) -> list[Any]:
    """Return the first column of all rows of a table that are not as they were written."""
    rows = connection.execute(f"SELECT {', '.join(columns)}, crc FROM {table}")  # noqa: S608
    return [values[0] for *values, crc in rows if not is_sound(crc, *values)]

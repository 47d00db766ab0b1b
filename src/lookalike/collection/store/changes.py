"""What an event did to many pictures: rows beside the log, which holds a digest of them."""

import hashlib
from collections.abc import Iterable, Sequence
from sqlite3 import Connection

from lookalike.collection.store.database import Database, numbers
from lookalike.collection.store.labels import Change

_SIZE = 16
_ALL: int = 2 ** (8 * _SIZE)

PENDING = 0
"""Stands for the event of what was changed and is not recorded yet."""


def digest(rows: Iterable[Change]) -> int:
    """Return a number that tells rows from others, in whatever order they come.

    It is a sum, so that what is erased can be subtracted: the log stays true and does not tell it.
    """
    return sum(map(_row_digest, rows)) % _ALL


def _row_digest(row: Change) -> int:
    content = repr(row).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(content, digest_size=_SIZE).digest())


def written(number: int) -> str:
    """Return a digest as events hold it."""
    return f"{number:0{2 * _SIZE}x}"


def less(number: int, erased: int) -> int:
    """Return a digest without rows that were erased, by the digest of these."""
    return (number - erased) % _ALL


def keep(connection: Connection, event: int, rows: Iterable[Change]) -> None:
    """Keep what an event did."""
    connection.executemany(
        "INSERT INTO changes VALUES (?, ?, ?, ?, ?)", [(event, *row) for row in rows]
    )


def keep_word(
    connection: Connection, event: int, pictures: Sequence[int], key: str, word: str
) -> None:
    """Keep that an event said a word of many pictures."""
    connection.execute(
        "INSERT INTO changes SELECT ?, value, ?, NULL, ? FROM json_each(?) ORDER BY value",
        (event, key, word, numbers(pictures)),
    )


def of(connection: Connection, event: int) -> list[Change]:
    """Return what an event did to the pictures that were not erased since."""
    return list(
        connection.execute(
            "SELECT picture, key, before, after FROM changes WHERE event = ? ORDER BY 1, 2",
            (event,),
        )
    )


def keep_pending(connection: Connection, rows: Iterable[Change]) -> None:
    """Keep what was changed and is not recorded yet; what was before the first change stays."""
    connection.executemany(
        "INSERT INTO changes VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (event, picture, key) DO UPDATE SET after = excluded.after",
        [(PENDING, *row) for row in rows],
    )


def take_pending(connection: Connection) -> list[Change]:
    """Return all that was changed and is not recorded yet, and forget it."""
    rows = [row for row in of(connection, PENDING) if row[2] != row[3]]
    connection.execute("DELETE FROM changes WHERE event = ?", (PENDING,))
    return rows


def digests(database: Database) -> dict[int, int]:
    """Return the digests of the rows of each event."""
    found: dict[int, int] = {}
    for event, *row in database.rows(
        "SELECT event, picture, key, before, after FROM changes WHERE event > 0"
    ):
        picture, key, before, after = row
        found[event] = found.get(event, 0) + _row_digest((picture, key, before, after))
    return {event: number % _ALL for event, number in found.items()}

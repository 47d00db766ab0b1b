"""What an event did to many pictures: rows beside the log, which holds a digest of them."""

import hashlib
from collections.abc import Iterable
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


def digest_of(database: Database, event: int) -> int:
    """Return the digest of the rows of an event."""
    return digest(
        (picture, key, before, after)
        for picture, key, before, after in database.rows(
            "SELECT picture, key, before, after FROM changes WHERE event = ?", event
        )
    )


def digests(database: Database) -> dict[int, int]:
    """Return the digests of the rows of each event."""
    result: dict[int, int] = {}
    for event, *row in database.rows(
        "SELECT event, picture, key, before, after FROM changes WHERE event > 0"
    ):
        picture, key, before, after = row
        result[event] = result.get(event, 0) + _row_digest((picture, key, before, after))
    return {event: number % _ALL for event, number in result.items()}


def count(connection: Connection, event: int) -> int:
    """Count the rows of an event."""
    ((rows,),) = connection.execute("SELECT count(*) FROM changes WHERE event = ?", (event,))
    return int(rows)


def are_left(connection: Connection, event: int) -> bool:
    """Return whether an event has any rows left."""
    row = connection.execute("SELECT 1 FROM changes WHERE event = ? LIMIT 1", (event,)).fetchone()
    return row is not None


def overlap(connection: Connection, one: int, other: int) -> bool:
    """Return whether two events changed the same word of the same picture."""
    row = connection.execute(
        "SELECT 1 FROM changes AS one JOIN changes AS other USING (picture, key) "
        "WHERE one.event = ? AND other.event = ? LIMIT 1",
        (one, other),
    ).fetchone()
    return row is not None


def of_word(
    connection: Connection, key: str, pictures: Iterable[int]
) -> list[tuple[int, int, str | None, str | None, str]]:
    """Return picture, event, before, after and who labelled, of what people said of a word.

    In order; who kept one of some duplicates had to manage the collection, and is nobody here.

    Imports of labels are left out: they have a subject, their source.
    """
    return connection.execute(
        "SELECT picture, event, before, after, iif(kind = 'label', who, '') "
        "FROM changes JOIN events ON number = event "
        "WHERE picture IN (SELECT value FROM json_each(?)) AND changes.key = ? "
        "AND about IS NULL ORDER BY event",
        (numbers(pictures), key),
    ).fetchall()


def words_by_hand(database: Database) -> list[tuple[int, str, int, str | None, str | None, str]]:
    """Return picture, key, event, before, after and who labelled, of all words, as ``of_word``."""
    return database.rows(
        "SELECT picture, changes.key, event, before, after, iif(kind = 'label', who, '') "
        "FROM changes JOIN events ON number = event WHERE about IS NULL ORDER BY event"
    )


def touched(database: Database, events: Iterable[int], pictures: Iterable[int]) -> bool:
    """Return whether one of some events changed one of some pictures."""
    row = database.row(
        "SELECT 1 FROM changes WHERE event IN (SELECT value FROM json_each(?)) "
        "AND picture IN (SELECT value FROM json_each(?)) LIMIT 1",
        *(numbers(events), numbers(pictures)),
    )
    return row is not None


def by_event(connection: Connection, pictures: Iterable[int]) -> dict[int, list[Change]]:
    """Return what events did to some pictures, by event."""
    result: dict[int, list[Change]] = {}
    for event, *row in connection.execute(
        "SELECT event, picture, key, before, after FROM changes "
        "WHERE picture IN (SELECT value FROM json_each(?)) AND event != ?",
        (numbers(pictures), PENDING),
    ):
        picture, key, before, after = row
        result.setdefault(event, []).append((picture, key, before, after))
    return result


def events_of_word(database: Database, picture: int, key: str) -> list[int]:
    """Return the events that changed a word of a picture, the last first."""
    rows = database.rows(
        "SELECT event FROM changes WHERE picture = ? AND key = ? AND event > 0 ORDER BY 1 DESC",
        *(picture, key),
    )
    return [number for (number,) in rows]


def first_pictures(database: Database, event: int, limit: int) -> tuple[int, ...]:
    """Return the first pictures that an event changed."""
    rows = database.rows(
        "SELECT DISTINCT picture FROM changes WHERE event = ? ORDER BY 1 LIMIT ?", event, limit
    )
    return tuple(picture for (picture,) in rows)

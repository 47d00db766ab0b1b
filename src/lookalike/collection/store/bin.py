"""The bin: pictures that were removed, until they are restored or erased."""

import json
from collections.abc import Iterable, Sequence
from sqlite3 import Connection

from lookalike.collection.store.database import now, numbers
from lookalike.collection.store.labels import show


def contents(connection: Connection, ids: Iterable[int] | None = None) -> list[int]:
    """Return the pictures in the bin, or those of some, rising."""
    inside = {picture for (picture,) in connection.execute("SELECT picture FROM bin")}
    return sorted(inside if ids is None else inside.intersection(ids))


def put(connection: Connection, ids: Sequence[int]) -> None:
    """Move pictures into the bin."""
    connection.execute(
        "INSERT OR IGNORE INTO bin SELECT value, ? FROM json_each(?)", (now(), numbers(ids))
    )
    show(connection, numbers(ids))


def take(connection: Connection, ids: Sequence[int]) -> None:
    """Move pictures out of the bin."""
    connection.execute(
        "DELETE FROM bin WHERE picture IN (SELECT value FROM json_each(?))", (numbers(ids),)
    )
    show(connection, numbers(ids))


def moves(connection: Connection, event: int, kinds: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return picture, event and kind of all moves of the pictures that an event moved, in order."""
    return connection.execute(
        "SELECT other.picture, other.event, events.kind FROM changes AS own "
        "JOIN changes AS other USING (picture) JOIN events ON events.number = other.event "
        "WHERE own.event = ?1 AND events.kind IN (SELECT value FROM json_each(?2)) "
        "AND own.key = '' AND own.after IS NULL AND other.key = '' AND other.after IS NULL "
        "ORDER BY other.event",
        (event, json.dumps(list(kinds))),
    ).fetchall()

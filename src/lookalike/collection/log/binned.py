"""The bin: pictures that were removed, until they are restored or erased."""

from collections.abc import Iterable, Sequence
from sqlite3 import Connection

from lookalike.collection.log import events
from lookalike.collection.log.events import Event
from lookalike.collection.store import changes
from lookalike.collection.store.database import now, numbers
from lookalike.collection.store.labels import Change, show

MOVED = ("removal", "restoration")
"""The kinds of events that move pictures into the bin and out of it."""


def move(
    connection: Connection,
    kind: str,
    ids: Sequence[int],
    *,
    beside: Sequence[Change] = (),
    who: str = "",
    key: str | None = None,
) -> int:
    """Move pictures into the bin (``removal``) or out of it, and return how many.

    ``beside`` is what the event does to others, which the caller has to do.
    """
    if not ids:
        return 0
    rows: list[Change] = [*((picture, "", None, None) for picture in ids), *beside]
    body: dict[str, object] = {
        "pictures": len(ids),
        "changes": changes.written(changes.digest(rows)),
    }
    if words := sum(word is not None for _, name, _, word in beside if name):
        body["words"] = words
    event = events.append(connection, kind, body, who=who, key=key)
    changes.keep(connection, event.number, rows)
    (_put if kind == "removal" else _take)(connection, ids)
    return len(ids)


def follow(connection: Connection, target: Event) -> None:
    """Move pictures as the log says once an event of ``MOVED`` was undone or redone."""
    rows = connection.execute(
        "SELECT other.picture, other.event, events.kind FROM changes AS own "
        "JOIN changes AS other USING (picture) JOIN events ON events.number = other.event "
        "WHERE own.event = ? AND events.kind IN (?, ?) "
        "AND own.key = '' AND own.after IS NULL AND other.key = '' AND other.after IS NULL "
        "ORDER BY other.event",
        (target.number, *MOVED),
    ).fetchall()
    gone = events.undone_among(connection, sorted({event for _, event, _ in rows}))
    last = {picture: "restoration" for picture, _, _ in rows}
    last |= {picture: kind for picture, event, kind in rows if event not in gone}
    _put(connection, [picture for picture, kind in last.items() if kind == "removal"])
    _take(connection, [picture for picture, kind in last.items() if kind == "restoration"])


def holds(connection: Connection, ids: Iterable[int] | None = None) -> list[int]:
    """Return the pictures in the bin, or those of some, rising."""
    found = {picture for (picture,) in connection.execute("SELECT picture FROM bin")}
    return sorted(found if ids is None else found.intersection(ids))


def _put(connection: Connection, ids: Sequence[int]) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO bin SELECT value, ? FROM json_each(?)", (now(), numbers(ids))
    )
    show(connection, numbers(ids))


def _take(connection: Connection, ids: Sequence[int]) -> None:
    connection.execute(
        "DELETE FROM bin WHERE picture IN (SELECT value FROM json_each(?))", (numbers(ids),)
    )
    show(connection, numbers(ids))

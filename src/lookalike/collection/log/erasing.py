"""Erase pictures: all that is kept of them, and what the log says of them.

The log keeps that something was said, when and by whom, not what. Each event is in the chain of
digests by a salted digest of its content, its seal; what is erased takes the salt along, and the
erasure records the new seals, so that the log can still be checked.
"""

from collections.abc import Iterable
from sqlite3 import Connection

from lookalike.collection.log.event import KINDS, Event, Position, read_event
from lookalike.collection.log.removals import Erasure
from lookalike.collection.store import changes, pictures, snapshots
from lookalike.collection.store import log as rows
from lookalike.collection.store.queries import Ref


def erase(connection: Connection, ids: Iterable[int]) -> Erasure:
    """Erase pictures with all that is kept of them, and return the event that has to record it."""
    erased = set(ids)
    touched = changes.by_event(connection, erased)
    tokens = pictures.delete(connection, erased)
    digests = {str(one): changes.written(changes.digest(it)) for one, it in touched.items()}
    return Erasure(len(erased), digests, _erase_from_log(connection, {*erased, *tokens}))


def _erase_from_log(connection: Connection, erased: set[Ref]) -> dict[str, str]:
    """Take erased pictures and queries out of events, and return the new seals of these."""
    if not erased:
        return {}
    kinds = [kind for kind, cls in KINDS.items() if cls.without is not Event.without]
    seals: dict[str, str] = {}
    for row in rows.of_kinds(connection, kinds):
        event = read_event(row)
        left = event.without(erased, Position(connection, row.number))
        if left is None or left.body() != event.body():
            body = None if left is None else left.body()
            seals[str(row.number)] = rows.replace_body(connection, row.number, body)
    if seals:
        # It has the votes as they were.
        snapshots.delete(connection)
    return seals

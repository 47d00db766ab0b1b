"""Whose labels models learned from, and what is used once some of these count no more."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from sqlite3 import Connection

from lookalike.collection.store import log, people
from lookalike.collection.store.database import Database

_UNDONE_LABELS = (
    "SELECT undo.number, json_extract(undo.body, '$.person'), min(label.number) "
    "FROM events AS undo, json_each(undo.body, '$.events') AS one "
    "JOIN events AS label ON label.number = one.value "
    "WHERE undo.kind = ? AND undo.body != '' AND label.kind = 'label' "
    "GROUP BY undo.number"
)
"""Each time that labels of a person were undone at once, with the first of these."""


@dataclass(frozen=True, slots=True)
class Teachers:
    """The people besides the owner whose labels are learned from, with the last event of each.

    ``seen`` is the last event of the log.
    """

    people: Mapping[str, int]
    seen: int

    @classmethod
    def of(cls, database: Database) -> "Teachers":
        """Return those whose labels count now."""
        return cls(teachers(database), log.last_number(database))


def teachers(database: Database) -> dict[str, int]:
    """Return the people besides the owner whose labels count, with the last event of each."""
    counts, up_to, undone = (
        people.trusted(database),
        people.accepted(database),
        log.undone(database),
    )
    return {
        who: number
        for number, who in database.rows(
            "SELECT number, who FROM events WHERE kind = 'label' AND body != '' ORDER BY number"
        )
        if number not in undone and (who in counts or number <= up_to.get(who, 0))
    }


def still_counting(source: Database | Connection) -> Callable[[Mapping[str, int], int], bool]:
    """Return what tells whether all labels still count of which ``teachers`` were told.

    The second argument is the last event of the log then. Labels count no more once their person
    is revoked, or the acceptance of them or all of the person is undone; that a single one is
    undone does not count.
    """
    counts, up_to = people.trusted(source), people.accepted(source)
    gone = [
        (number, person, first)
        for number, person, first in people.read(source, _UNDONE_LABELS, people.UNDO_PERSON)
        if not log.is_undone(source, number)
    ]

    def are_counted(known: Mapping[str, int], seen: int) -> bool:
        return all(
            who in counts or last <= up_to.get(who, 0) for who, last in known.items()
        ) and not any(
            number > seen and first <= known.get(person, 0) for number, person, first in gone
        )

    return are_counted


def in_place_of(database: Database) -> dict[int, int | None]:
    """Return the models that learned from labels that count no more, with what is used instead.

    That is the last model before whose labels all count and whose file is kept, else none. Nothing
    is written of it: once the labels count again, so does the model.
    """
    if database.row("SELECT 1 FROM models WHERE people != '{}' LIMIT 1") is None:
        return {}
    are_counted = still_counting(database)
    last: dict[tuple[int, str], int] = {}
    result: dict[int, int | None] = {}
    for number, ranker, kind, whose, seen, is_kept in database.rows(
        "SELECT number, ranker, kind, people, seen, file IS NOT NULL FROM models ORDER BY number"
    ):
        with database.parsing(f"model {number}"):
            if not are_counted(dict(json.loads(whose)), seen):
                result[number] = last.get((ranker, kind))
            elif is_kept:
                last[ranker, kind] = number
    return result

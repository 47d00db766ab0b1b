"""Entries of the log: events with their numbers, times and people, and the one way to write one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any

from lookalike.collection.log.event import KINDS, Event, Position, read_event
from lookalike.collection.store import changes
from lookalike.collection.store import log as rows
from lookalike.collection.store.database import Database
from lookalike.collection.store.labels import Change
from lookalike.core.errors import InvalidInput
from lookalike.core.text import first_control

MAX_WHO, MAX_KEY = 64, 128
"""Characters of a person's name, and of the key of a request."""

MAX_SHOWN = 4
"""Pictures that stand for an event in a list."""

_LEARNER = "taught"
"""The part of a body that only the learner reads."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the log.

    Attributes
    ----------
    number : int
        Rising, never used again.
    at : str
        When, in UTC.
    kind : str
        The kind of event, as ``vote`` or ``label``; ``docs/glossary.md`` lists them.
    who : str
        Who said it, where there are several; else empty.
    body : dict
        What was said.
    undone : bool
        Whether it counts no more.
    sentence : str
        What happened, in words.
    can_undo : bool
        Whether it can be undone now.
    icon : str
        What stands for it in a list.
    pictures : tuple of int
        The first pictures it is about; removed ones among them.
    """

    number: int
    at: str
    kind: str
    who: str
    body: dict[str, Any]
    undone: bool
    sentence: str
    can_undo: bool
    icon: str
    pictures: tuple[int, ...] = ()

    @classmethod
    def of(cls, row: rows.Row, *, undone: bool = False, changed: tuple[int, ...] = ()) -> Entry:
        """Return a row without what only the learner reads; ``changed`` are pictures it changed."""
        event = read_event(row)
        body = json.loads(row.body) if row.body else {}
        body.pop(_LEARNER, None)
        kind = row.kind if row.body else event.kind
        undoable = event.undoable and not undone
        number, at, _, who, _ = row
        return cls(
            *(number, at, kind, who, body, undone, event.sentence(), undoable),
            event.icon,
            event.pictures_shown[:MAX_SHOWN] or changed,
        )


class NewEntry:
    """An entry that is being written, in a transaction that nobody else writes in.

    Attributes
    ----------
    connection : Connection
    is_new : bool
        Whether nothing was recorded under its key before; else there is nothing to do.
    """

    def __init__(self, connection: Connection, who: str = "", key: str | None = None) -> None:
        self.connection, self.who = connection, who
        # Of each person alone, so that nobody's request takes the place of another's; no name has a
        # line break in it.
        self._key = key if key is None or not who else f"{who}\n{key}"
        recorded = None if self._key is None else rows.with_key(connection, self._key)
        self.is_new = recorded is None
        self._row = recorded

    def append(
        self, event: Event | Callable[[str], Event], done: Iterable[Change] = ()
    ) -> rows.Row:
        """Add an event with what it does to pictures, and apply it.

        One that does something to pictures is made from the digest of these changes.
        """
        rows_done = list(done)
        if not isinstance(event, Event):
            event = event(changes.written(changes.digest(rows_done)))
        row = rows.insert(
            self.connection,
            event.kind,
            event.body(),
            who=self.who,
            key=self._key,
            about=event.about,
        )
        # A second event of the same request has no key: keys are unique.
        self._key, self._row = None, row
        changes.keep(self.connection, row.number, rows_done)
        event.apply(Position(self.connection, row.number))
        return row

    def repeat(self, number: int) -> None:
        """Say that the same was recorded before, and still holds."""
        self._row = rows.read(self.connection, number)

    @property
    def result(self) -> Entry:
        """The entry that was written, or that says the same."""
        if self._row is None:
            raise InvalidInput("Collection: nothing was recorded.")
        return Entry.of(self._row)


class Writer:
    """What writes to the log of a database; an open collection is one."""

    database: Database

    @contextmanager
    def entry(self, who: str = "", key: str | None = None) -> Iterator[NewEntry]:
        """Write an entry: check the names, take the lock and a transaction, look the key up."""
        check_names(who, key)
        with self.database.lock, self.database.transaction() as connection:
            yield NewEntry(connection, who, key)


def check_names(who: str, key: str | None = None) -> None:
    """Raise InvalidInput for names of people and keys of requests that are not short text."""
    for name, value, limit in (("who", who, MAX_WHO), ("key", key or "", MAX_KEY)):
        if not isinstance(value, str) or len(value) > limit or first_control(value) is not None:
            raise InvalidInput(
                f"Collection: {name} must be text of at most {limit} characters, without control "
                f"characters; got {value!r:.80}."
            )


def hidden_kinds() -> list[str]:
    """Return the kinds that the history leaves out."""
    return [kind for kind, cls in KINDS.items() if cls.hidden]

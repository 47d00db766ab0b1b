"""Events: one frozen dataclass a kind, which knows how to be applied, reverted, erased and told."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Set
from dataclasses import MISSING, Field, dataclass, fields
from sqlite3 import Connection
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar

from lookalike.collection.store import changes
from lookalike.collection.store import log as rows
from lookalike.collection.store.labels import Change
from lookalike.collection.store.queries import Ref
from lookalike.core.text import shown as printable

Touched: TypeAlias = Literal["pictures", "labels", "votes", "models"]
"""What an event may change."""

Icon: TypeAlias = Literal[
    "add", "bin", "close", "copy", "down", "spark", "tag", "undo", "up", "why"
]

KINDS: dict[str, type[Event]] = {}
"""The kinds of events by their names in the log."""

TOUCHES: dict[str, frozenset[Touched]] = {}
"""What events of each kind change."""

T = TypeVar("T", bound="type[Event]")


def event(
    kind: str,
    *,
    undoable: bool = False,
    touches: Set[Touched] = frozenset(),
    icon: Icon = "why",
    hidden: bool = False,
) -> Callable[[T], T]:
    """Register a kind of event.

    Parameters
    ----------
    kind : str
        Its name in the log.
    undoable : bool
        Whether people may take it back.
    touches : set of {"pictures", "labels", "votes", "models"}
        What it changes, so that what is derived from that is made anew.
    icon : str
        What stands for it in a list.
    hidden : bool
        Whether the history leaves it out, since nobody said it.
    """

    def register(cls: T) -> T:
        cls.kind, cls.undoable, cls.hidden = kind, undoable, hidden
        cls._touches, cls._icon = frozenset(touches), icon
        KINDS[kind], TOUCHES[kind] = cls, cls._touches
        return cls

    return register


@dataclass(frozen=True, slots=True)
class Position:
    """Where an event stands in the log of an open transaction."""

    connection: Connection
    number: int

    def changes(self) -> list[Change]:
        """Return what the event did to pictures that were not erased since."""
        return changes.of(self.connection, self.number)

    @property
    def is_undone(self) -> bool:
        """Whether the event counts no more."""
        return rows.is_undone(self.connection, self.number)


@dataclass(frozen=True, eq=False)
class Event:
    """Something that was said or done, as the log keeps it: its fields are its body.

    What it does to many pictures stands beside it in rows of their own (``changes``), of which it
    holds a digest. The store follows from the log: to apply an event, and to revert it, brings
    the pictures that it names to what all events that count say of them.
    """

    kind: ClassVar[str] = ""
    undoable: ClassVar[bool] = False
    hidden: ClassVar[bool] = False
    _touches: ClassVar[frozenset[Touched]] = frozenset()
    _icon: ClassVar[Icon] = "why"

    @property
    def about(self) -> str | None:
        """What the event is found by, where it is looked for."""
        return None

    @property
    def touches(self) -> frozenset[Touched]:
        """What it changes."""
        return self._touches

    @property
    def icon(self) -> Icon:
        """What stands for it in a list."""
        return self._icon

    @property
    def pictures_shown(self) -> tuple[int, ...]:
        """Pictures that stand for it in a list, where it names some."""
        return ()

    @property
    def new_words(self) -> int:
        """How many words it gave or took that models have not learned."""
        return 0

    def apply(self, at: Position) -> None:
        """Bring the store to what the log says, now that the event counts."""
        self.settle(at)

    def revert(self, at: Position) -> None:
        """Bring the store to what the log says, now that the event counts no more."""
        self.settle(at)

    def settle(self, at: Position) -> None:
        """Bring what the event touches to what the log says."""
        return

    def without(self, erased: Set[Ref], at: Position) -> Self | None:
        """Return the event without erased pictures; None if nothing is left of it."""
        return self

    @abstractmethod
    def sentence(self) -> str:
        """Return what happened, as a sentence without its full stop."""

    def body(self) -> dict[str, Any]:
        """Return its fields as JSON knows them; those at their defaults are left out."""
        written = {one.name: _plain(getattr(self, one.name)) for one in _stored(type(self))}
        return {
            one.name: written[one.name]
            for one in _stored(type(self))
            if one.default is MISSING or written[one.name] != _plain(one.default)
        }

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """Return the event of a body; TypeError or ValueError if it is none of this kind."""
        known = {one.name for one in _stored(cls)}
        given = {name: _tuple(value) for name, value in body.items() if name in known}
        return cls(**given)


@dataclass(frozen=True)
class Erased(Event):
    """An event about pictures that were erased, of which nothing else is left."""

    kind = "erased"

    def sentence(self) -> str:
        """Return what happened."""
        return "Something about a picture that was erased"


@dataclass(frozen=True)
class Damaged(Event):
    """An event that is not as it was written."""

    kind = "damaged"

    def sentence(self) -> str:
        """Return what happened."""
        return "Not as it was written: the log is damaged here"


@dataclass(frozen=True)
class Unknown(Event):
    """An event of a kind that a later version wrote: kept as it is, and not learned from."""

    name: str = ""

    def sentence(self) -> str:
        """Return what happened."""
        return f"An event of a later version ({printable(self.name)})"


def read_event(row: rows.Row) -> Event:
    """Return the event of a row; TypeError or ValueError if it cannot be read."""
    if not row.body:
        return Erased()
    if row.kind not in KINDS:
        return Unknown(row.kind)
    body = json.loads(row.body)
    if not isinstance(body, dict):
        raise TypeError(f"the body of event {row.number} is not an object")
    return KINDS[row.kind].read(body)


def _stored(cls: type[Event]) -> list[Field[Any]]:
    return [one for one in fields(cls) if one.metadata.get("stored", True)]


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


def pictures_text(count: int) -> str:
    """Return a number of pictures in words."""
    return "a picture" if count == 1 else f"{count:,} pictures"

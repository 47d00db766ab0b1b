"""Events about duplicates: pictures that are none, and one that is kept instead of the others."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias, get_args

from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.event import Event, Position, event, pictures_text, read_event
from lookalike.collection.log.removals import Removal, move
from lookalike.collection.store import albums
from lookalike.collection.store import labels as stored
from lookalike.collection.store import log as rows
from lookalike.collection.store.database import Database, numbers
from lookalike.collection.store.queries import Ref
from lookalike.core.errors import InvalidInput

Difference: TypeAlias = Literal["different", "keep"]

Apart: TypeAlias = dict[int, list[frozenset[int]]]

_ABOUT = "distinct"


@event("distinct", undoable=True, icon="copy")
@dataclass(frozen=True)
class Distinct(Event):
    """Pictures that are not duplicates of each other, or ``of`` others."""

    pictures: tuple[int, ...]
    difference: Difference = "different"
    of: tuple[int, ...] = ()

    @property
    def about(self) -> str:
        """All such events have one subject."""
        return _ABOUT

    @property
    def pictures_shown(self) -> tuple[int, ...]:
        """The pictures."""
        return self.pictures

    def without(self, erased: Set[Ref], at: Position) -> Self | None:
        """Return the event without erased pictures; None if there is nothing to tell apart."""
        pictures, of = (
            tuple(picture for picture in side if picture not in erased)
            for side in (self.pictures, self.of)
        )
        if not pictures or (self.of and not of) or (not self.of and len(pictures) < 2):
            return None
        return replace(self, pictures=pictures, of=of)

    def sentence(self) -> str:
        """Return what happened."""
        many, count = pictures_text(len(self.pictures)), len(self.of)
        if self.difference == "keep":
            return f"Kept all of {many} that look alike"
        if count:
            others = "another" if count == 1 else f"{count:,} others"
            verb = "is" if len(self.pictures) == 1 else "are"
            return f"Said that {many} {verb} not a duplicate of {others}"
        return f"Said that {many} are not duplicates"


def pictures_apart(database: Database) -> Apart:
    """Return for each picture the sets of those that it was said not to be a duplicate of."""
    undone = rows.undone(database)
    apart: Apart = {}
    with database.parsing("an event"):
        events = [
            read_event(row) for row in rows.about(database, _ABOUT) if row.number not in undone
        ]
    for one in events:
        if isinstance(one, Distinct):
            some, others = frozenset(one.pictures), frozenset(one.of or one.pictures)
            for picture in some:
                apart.setdefault(picture, []).append(others)
            for picture in others - some:
                apart.setdefault(picture, []).append(some)
    return apart


def tell_apart(
    entry: NewEntry, some: Sequence[int], of: Sequence[int], difference: Difference
) -> None:
    """Record that pictures are not duplicates, of each other or ``of`` others."""
    if difference not in get_args(Difference):
        raise InvalidInput(
            f"Collection.duplicates: difference must be different or keep; got {difference!r:.80}."
        )
    if len(some) < (1 if of else 2) or set(some) & set(of):
        raise InvalidInput(
            "Collection.duplicates: give two pictures or more, or one and those it is no "
            "duplicate of."
        )
    entry.append(Distinct(tuple(some), difference, tuple(of)))


def keep_best(entry: NewEntry, choices: Sequence[tuple[int, Sequence[int]]]) -> None:
    """Move the duplicates of pictures to the bin, of each one that is kept.

    In the same event the one kept gets their words, and joins the albums in which they were saved.
    """
    every = [picture for keep, others in choices for picture in (keep, *others)]
    if not choices or not all(others for _, others in choices) or len({*every}) < len(every):
        raise InvalidInput(
            "Collection.duplicates: give one picture or more to remove, and not the one to keep; "
            "each in one group."
        )
    beside = []
    for picture, others in choices:
        beside += stored.words_to_take(entry.connection, picture, others)
        if joined := albums.holding(entry.connection, others, picture):
            beside.append((picture, "", None, numbers(joined)))
    move(entry, Removal, [other for _, others in choices for other in others], beside)

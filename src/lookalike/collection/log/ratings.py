"""Ratings: which pictures of two rankings, seen side by side, a rater found relevant."""

from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Self

from lookalike.collection.log.event import Event, Position, event, read_event
from lookalike.collection.store import log as rows
from lookalike.collection.store.database import Database
from lookalike.collection.store.queries import Ref
from lookalike.core.text import shown

_ABOUT = "rating"


@event("rating", undoable=True)
@dataclass(frozen=True)
class Rating(Event):
    """What a rater said of a query: which pictures of two rankings are relevant.

    ``learned`` and ``other`` are the rankings as they were shown, ``against`` says what the other
    is, and ``learned_left`` on which side each stood.
    """

    query: int
    rater: str
    learned: tuple[int, ...]
    other: tuple[int, ...]
    relevant: tuple[int, ...] = ()
    against: str = "cosine"
    by: str = ""
    learned_left: bool = True

    @property
    def about(self) -> str:
        """All such events have one subject."""
        return _ABOUT

    @property
    def pictures_shown(self) -> tuple[int, ...]:
        """The query, and what was found relevant."""
        return (self.query, *self.relevant)

    def without(self, erased: Set[Ref], at: Position) -> Self | None:
        """Return the event without erased pictures; None if nothing is left to compare."""
        learned, other, relevant = (
            tuple(picture for picture in side if picture not in erased)
            for side in (self.learned, self.other, self.relevant)
        )
        if self.query in erased or not learned or not other:
            return None
        return replace(self, learned=learned, other=other, relevant=relevant)

    def sentence(self) -> str:
        """Return what happened."""
        count = len({*self.learned, *self.other})
        return f"{shown(self.rater)} found {len(self.relevant):,} of {count:,} pictures relevant"


def ratings(database: Database) -> list[Rating]:
    """Return the ratings that count; of several of a query by one rater, the last."""
    undone = rows.undone(database)
    with database.parsing("an event"):
        events = [
            read_event(row) for row in rows.about(database, _ABOUT) if row.number not in undone
        ]
    last: dict[tuple[str, str, str, int], Rating] = {}
    for one in events:
        if isinstance(one, Rating):
            last[one.rater, one.by, one.against, one.query] = one
    return list(last.values())

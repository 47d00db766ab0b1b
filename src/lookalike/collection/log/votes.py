"""Events of votes: what was picked and rejected for a query, what later rankers learn, resets."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.log.event import Event, Icon, Position, event
from lookalike.collection.store.queries import Ask, Ref
from lookalike.core.text import shown as printable


@dataclass(frozen=True, slots=True, eq=False)
class Taught:
    """What a vote taught a ranker.

    Attributes
    ----------
    pictures : tuple of int
        The j pictures it is made of: 0 for the query itself and the picked ones, then the
        rejected ones.
    picked : int
        How many of them stand before the rejected ones.
    steps : array of shape (j,)
        The length of the step of each.
    width : float
        γ of the kernel exp(−(γ(1 − cos))²) by which steps fade.
    right : (float or None, float or None)
        The share of its comparisons that were in the right order without votes, and with what
        votes on other queries had taught; None where it compares nothing, and the second where
        only some of what was shown was judged, since that was chosen with votes in view.
    """

    pictures: tuple[int, ...] = ()
    picked: int = 0
    steps: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    width: float = 0.0
    right: tuple[float | None, float | None] = (None, None)

    def without(self, erased: Set[Ref]) -> "Taught":
        """Return it without the steps of erased pictures."""
        stays = [place for place, it in enumerate(self.pictures) if it not in erased]
        return replace(
            self,
            pictures=tuple(self.pictures[place] for place in stays),
            picked=sum(place < self.picked for place in stays),
            steps=self.steps[stays],
        )

    def written(self) -> dict[str, Any]:
        """Return it as the log keeps it."""
        return {
            "pictures": list(self.pictures),
            "picked": self.picked,
            "steps": self.steps.tolist(),
            "width": self.width,
            "right": list(self.right),
        }

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> "Taught":
        """Return what :meth:`written` gave; ValueError, TypeError or KeyError for anything else."""
        pictures = tuple(map(int, written["pictures"]))
        steps = np.array(written["steps"], np.float64).reshape(len(pictures))
        picked, width = int(written["picked"]), float(written["width"])
        if not 0 <= picked <= len(pictures):
            raise ValueError("more pictures are picked than there are")
        if not np.isfinite(steps).all() or not 0 <= width < np.inf:
            raise ValueError("a step is not finite")
        before, after = written["right"]
        return cls(pictures, picked, steps, width, (before, after))


@event("vote", undoable=True, touches={"votes"})
@dataclass(frozen=True, eq=False)
class Vote(Event):
    """Pictures that are right and wrong for a query.

    Attributes
    ----------
    like, unlike : tuple of int or str
        What was searched for.
    picked, rejected : tuple of int
        Pictures that are right, and wrong.
    shown : tuple of int
        The pictures in the order shown.
    taught : mapping from a ranker's id to Taught
        What it taught each ranker; only the learner reads it.
    number, who : int, str
        Those of its entry, once it is recorded.
    """

    like: tuple[Ref, ...]
    unlike: tuple[Ref, ...] = ()
    picked: tuple[int, ...] = ()
    rejected: tuple[int, ...] = ()
    shown: tuple[int, ...] = ()
    taught: Mapping[int, Taught] = field(default_factory=dict)
    number: int = field(default=0, metadata={"stored": False})
    who: str = field(default="", metadata={"stored": False})

    @cached_property
    def subject(self) -> str:
        """The query, as text that is the same for the same query."""
        return str(self.ask)

    @property
    def ask(self) -> Ask:
        """What was searched for."""
        return Ask(self.like, self.unlike)

    @property
    def icon(self) -> Icon:
        """A thumb."""
        return "up" if self.picked else "down"

    @property
    def pictures_shown(self) -> tuple[int, ...]:
        """The pictures picked."""
        return self.picked

    def without(self, erased: Set[Ref], at: Position) -> Self | None:
        """Return the vote without erased pictures; None if it was about them alone."""
        if not erased.isdisjoint((*self.like, *self.unlike)):
            return None
        picked, rejected, shown = (
            tuple(picture for picture in side if picture not in erased)
            for side in (self.picked, self.rejected, self.shown)
        )
        if not picked and not rejected:
            return None
        taught = {ranker: one.without(erased) for ranker, one in self.taught.items()}
        return replace(self, picked=picked, rejected=rejected, shown=shown, taught=taught)

    def with_taught(self, ranker: int, taught: Taught) -> Self:
        """Return the vote with what it taught a ranker."""
        return replace(self, taught={**self.taught, ranker: taught})

    def sign(self, picture: int) -> int:
        """Return +1 for a picture it picks, -1 for one it rejects, 0 for another."""
        return (picture in self.picked) - (picture in self.rejected)

    def body(self) -> dict[str, Any]:
        """Return its fields as JSON knows them."""
        return {**super().body(), "taught": _written(self.taught)}

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """Return the vote of a body."""
        return super().read({**body, "taught": _read(body.get("taught", {}))})

    def sentence(self) -> str:
        """Return what happened."""
        if not self.picked:
            return "Less like this"
        return "More like this, less like that" if self.rejected else "More like this"


@event("lessons", touches={"votes"}, hidden=True)
@dataclass(frozen=True)
class Lessons(Event):
    """What earlier votes, by their numbers, teach a ranker that came after them."""

    ranker: int
    votes: Mapping[int, Taught]

    def body(self) -> dict[str, Any]:
        """Return its fields as JSON knows them."""
        return {"ranker": self.ranker, "votes": _written(self.votes)}

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """Return the lessons of a body."""
        return cls(int(body["ranker"]), _read(body["votes"]))

    def without(self, erased: Set[Ref], at: Position) -> Self | None:
        """Return the lessons without the steps of erased pictures."""
        votes = {number: one.without(erased) for number, one in self.votes.items()}
        return replace(self, votes=votes)

    def sentence(self) -> str:
        """Return what happened."""
        return "Earlier votes taught a further ranker"


@event("reset", undoable=True, touches={"votes"}, icon="undo")
@dataclass(frozen=True)
class Reset(Event):
    """Votes before it count no more: all, or those of one person."""

    of: str | None = None

    def sentence(self) -> str:
        """Return what happened."""
        if self.of is None:
            return "Discarded all votes"
        return f"Discarded the votes of {printable(self.of) or 'a person without a name'}"


def _written(taught: Mapping[int, Taught]) -> dict[str, Any]:
    return {str(number): one.written() for number, one in taught.items()}


def _read(written: Mapping[str, Any]) -> dict[int, Taught]:
    return {int(number): Taught.read(one) for number, one in written.items()}

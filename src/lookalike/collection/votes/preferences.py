"""What votes taught a ranker: how they turn its searches, and how far searches go with that."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lookalike.collection.vectors.queries import VectorSource
from lookalike.collection.votes.gate import HeldLabels, Judgement
from lookalike.collection.votes.ledger import Ledger, Standing
from lookalike.collection.votes.surroundings import Surroundings
from lookalike.collection.votes.turning import Turns
from lookalike.similarity.base import Similarity


@dataclass(frozen=True)
class Preferences:
    """What votes taught a ranker, over the vectors of one moment; it never changes.

    ``around`` are the pictures of the collection, and ``judgement`` what votes taught and how it
    was judged.
    """

    around: Surroundings
    judgement: Judgement

    @classmethod
    def none(cls, ranker: int, source: VectorSource, similarity: Similarity) -> Preferences:
        """Return those of a ranker without votes."""
        return cls(Surroundings(source), Judgement(Turns.none(ranker, similarity)))

    @property
    def source(self) -> VectorSource:
        """Where vectors come from."""
        return self.around.source

    @property
    def width(self) -> float:
        """γ of the kernel of votes to come."""
        return self.around.width

    @property
    def ledger(self) -> Ledger:
        """The votes."""
        return self.judgement.ledger

    @property
    def turns(self) -> Turns:
        """How they turn queries."""
        return self.judgement.turns

    @property
    def standing(self) -> Standing:
        """How far searches go with that, and why."""
        return self.judgement.standing

    def following(self, ledger: Ledger) -> Preferences:
        """Return what a ledger comes to: only new votes are read, if it goes on from this one."""
        turns, count = self.turns, len(self.ledger.votes)
        if ledger.votes[:count] != self.ledger.votes:
            turns, count = Turns.none(turns.lessons.ranker, turns.lessons.similarity), 0
        turns = turns.extended(ledger.votes[count:], ledger, self.source)
        return replace(self, judgement=replace(self.judgement, ledger=ledger, turns=turns))

    def over(self, source: VectorSource) -> Preferences:
        """Return the same over an index that has more pictures."""
        return replace(self, around=Surroundings(source))

    def judged_by(self, held: HeldLabels | None) -> Preferences:
        """Return the same with other labelled pictures to judge by."""
        return replace(self, judgement=replace(self.judgement, held=held))

"""What votes taught a ranker: how they turn its searches, and how far searches go with that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lookalike.collection.store.queries import Ask
from lookalike.collection.vectors.queries import VectorSource
from lookalike.collection.votes.gate import HeldLabels, Judgement
from lookalike.collection.votes.ledger import Ledger, Standing
from lookalike.collection.votes.steps import Geometry, fold_of
from lookalike.collection.votes.surroundings import Surroundings
from lookalike.collection.votes.turning import Turns
from lookalike.core.vectors import dense, stack_rows, unit_rows
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

    def geometry(self, ask: Ask, pictures: Sequence[int], *, who: str) -> Geometry:
        """Return the inner products of a query and pictures; 0 stands for the query itself.

        What was learned is that without the votes of ``who`` on the same query: theirs is to take
        the place of these.
        """
        vector, others = self.source.ask_among(ask, [picture for picture in pictures if picture])
        whole: Any = stack_rows([others[it] if it else vector for it in pictures])
        lessons = self.turns.lessons
        query = dense(lessons.similarity.query_vectors(whole))
        items = dense(lessons.similarity.item_vectors(whole))
        units = dense(unit_rows(lessons.similarity.stored_vectors(whole)))
        lengths = np.linalg.norm(query, axis=1)
        unit = np.maximum(lengths * np.linalg.norm(items, axis=1).mean(), 1e-12)[:, None]
        subject = str(ask)
        turned, first = self.turns.apart(
            whole, query, fold_of(subject), lessons.votes_of(who, subject)
        )
        return Geometry(
            near=dense(whole @ whole.T),
            gram=units @ units.T,
            base=query @ items.T / unit,
            learned=(lengths[:, None] * turned) @ items.T / unit,
            others=((lengths[:1, None] * first) @ items.T / unit[:1])[0],
        )

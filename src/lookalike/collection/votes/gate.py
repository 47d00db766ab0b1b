"""Judge what votes add: by votes that were not learned from, and by labelled pictures held out."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store import changes, models
from lookalike.collection.store.database import Database
from lookalike.collection.store.models import Ids
from lookalike.collection.votes.ledger import WHOLE, Judged, Ledger, Standing
from lookalike.collection.votes.turning import Turns
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.core.ranking import judge
from lookalike.core.vectors import Vectors, dense
from lookalike.index.base import Index
from lookalike.similarity.base import Similarity

if TYPE_CHECKING:
    from lookalike.supervision import Relevance

MAX_HELD = 200
"""Pictures that are judged by: enough to see harm, few enough to be asked at every vote."""

STRENGTHS = (WHOLE, 0.5, 0.25)
"""How far searches may go with what votes taught, where labels judge it too."""

MIN_HARM = 0.001
"""What labelled pictures must rank worse by, in mean average precision, for that to be harm."""

_log = logging.getLogger(__name__)

Added = Callable[[Vectors], NDArray[np.float64]]
"""What votes add to what is asked with for each of some vectors, a row each."""


def _sides(database: Database, number: int | None) -> tuple[Ids, Ids] | None:
    """Return the pictures a model was judged by and those it learned from, if they are known."""
    try:
        return models.sides(database, number)
    except DamagedFile as error:
        _log.warning("votes are not judged by labels: %s", error)
        return None


class HeldLabels:
    """How pictures held out rank each other, without votes and with them.

    What votes add counts as harm where it lowers the mean average precision by more than one
    standard error of the difference, and by more than ``MIN_HARM``: a few votes move it up or
    down a little by chance.
    """

    def __init__(self, vectors: Vectors, similarity: Similarity, relevance: Relevance) -> None:
        self._vectors = vectors
        self._items: Any = similarity.item_vectors(vectors)
        self._relevance = relevance
        scores = dense(self._items @ similarity.query_vectors(vectors).T).T
        self._scores = scores
        self._before = self._precision(scores)

    @classmethod
    def of(
        cls, database: Database, index: Index, similarity: Similarity, number: int | None
    ) -> HeldLabels | None:
        """Return those that the model in use was judged by; None where there are too few."""
        sides = _sides(database, number)
        if sides is None:
            return None
        try:
            from lookalike.collection.log.examples import alike

            examples = alike(database, number=number)
        except InvalidInput:
            return None
        held = np.flatnonzero(np.isin(examples.ids, np.intersect1d(sides[0], index.ids)))
        if len(held) > MAX_HELD:
            held = np.sort(np.random.default_rng(0).choice(held, MAX_HELD, replace=False))
        relevance = examples.judging.subset(held)
        if not relevance.has_alike.any():
            return None
        return cls(index.take(examples.ids[held]), similarity, relevance)

    @staticmethod
    def changed(database: Database, number: int | None, ledger: Ledger, since: int) -> bool:
        """Return whether an event after ``since`` changed the labels that are judged by."""
        new = ledger.relabelled[bisect_right(ledger.relabelled, (since, 2**63)) :]
        if not new:
            return False
        sides = _sides(database, number)
        if sides is None:
            return False
        changed_by = {event for _, event in new}
        return 0 in changed_by or changes.touched(database, changed_by, sides[0].tolist())

    def mean(self, added: Added) -> float:
        """Return the mean average precision with what is added at full strength."""
        more = dense(self._items @ added(self._vectors).T).T
        return float(self._precision(self._scores + more).mean())

    def judge(self, added: Added) -> Judged:
        """Return the mean average precision without votes and with them, and how far they may go.

        Of ``STRENGTHS`` the first that does no harm; 0 where all do, and then the precision is
        that of the last tried.
        """
        more = dense(self._items @ added(self._vectors).T).T
        after = self._before
        for strength in STRENGTHS:
            after = self._precision(self._scores + strength * more)
            change = after - self._before
            if change.mean() >= -max(change.std() / np.sqrt(len(change)), MIN_HARM):
                return Judged(float(self._before.mean()), float(after.mean()), strength)
        return Judged(float(self._before.mean()), float(after.mean()), 0.0)

    def _precision(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        everyone = np.arange(len(scores))
        single = scores.astype(np.float32)
        judged = judge(single, self._relevance.rows(everyone), own=everyone, cutoffs=(1,))
        return judged.average_precision[judged.judged]


@dataclass(frozen=True)
class Judgement:
    """What votes taught, and how far searches go with it; it never changes.

    ``turns`` is what the votes of ``ledger`` come to, and ``held`` labelled pictures to judge by
    as well.
    """

    turns: Turns
    ledger: Ledger = field(default_factory=Ledger)
    held: HeldLabels | None = None

    @cached_property
    def standing(self) -> Standing:
        """Judge what votes taught: by votes that were not learned from, and by labels."""
        labels = Judged()
        if self.held is not None and self.ledger.votes:
            labels = self.held.judge(self.turns.added)
        return self.ledger.standing(self.turns.lessons.ranker, labels)

    def cost(self, who: str) -> float | None:
        """Return how much better labelled pictures rank without the votes of a person.

        None where there are no labels to judge by, or no votes of theirs.
        """
        if self.held is None or who not in self.turns.lessons.people:
            return None
        return self.held.mean(self.turns.without(who).added) - self.held.mean(self.turns.added)

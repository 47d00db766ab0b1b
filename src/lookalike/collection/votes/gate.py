"""Labelled pictures that were held out from learning, to judge by what votes add to it."""

from bisect import bisect_right
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store import models
from lookalike.collection.store.database import Database
from lookalike.collection.training.examples import alike
from lookalike.collection.training.given import Given
from lookalike.collection.votes.ledger import Ledger
from lookalike.core.errors import InvalidInput
from lookalike.core.ranking import judge
from lookalike.core.vectors import Vectors, dense
from lookalike.index.base import Index
from lookalike.similarity.base import Similarity
from lookalike.supervision import Relevance

MOST = 200
"""Pictures that are judged by: enough to see harm, few enough to be asked at every vote."""


class HeldLabels:
    """How pictures held out rank each other, without votes and with them.

    What votes add counts as harm where it lowers the mean average precision by more than one
    standard error of the difference: a few votes move it up or down a little by chance.
    """

    def __init__(self, items: Vectors, scores: NDArray[np.float64], relevance: Relevance) -> None:
        self._items = items
        self._scores = scores
        self._relevance = relevance
        self._before = self._precision(scores)

    @classmethod
    def of(
        cls, database: Database, index: Index, similarity: Similarity, number: int | None
    ) -> "HeldLabels | None":
        """Return those that the model in use was judged by; None where there are too few."""
        sides = models.sides(database, number)
        if sides is None:
            return None
        try:
            known = alike(database, Given(), number)
        except InvalidInput:
            return None
        held = np.flatnonzero(np.isin(known.ids, np.intersect1d(sides[0], index.ids)))
        if len(held) > MOST:
            held = np.sort(np.random.default_rng(0).choice(held, MOST, replace=False))
        relevance = known.relevance.subset(held)
        if not relevance.has_alike.any():
            return None
        X = index.take(known.ids[held])
        items = similarity.item_vectors(X)
        return cls(items, dense(items @ similarity.query_vectors(X).T).T, relevance)

    @staticmethod
    def changed(database: Database, number: int | None, ledger: Ledger, since: int) -> bool:
        """Return whether an event after ``since`` changed the labels that are judged by."""
        new = ledger.relabelled[bisect_right(ledger.relabelled, (since, 2**63)) :]
        if not new:
            return False
        sides = models.sides(database, number)
        if sides is None:
            return False
        return any(not picture or picture in sides[0] for _, picture in new)

    def judge(
        self, added: Callable[[Vectors], NDArray[np.float64]], strengths: Sequence[float]
    ) -> tuple[float, float, float]:
        """Return how far votes may go, with the mean average precision without them and that far.

        Of ``strengths``, falling, the first that does no harm; 0 where all do, and then the
        precision is that of the last tried.
        """
        more = added(self._items)
        after = self._before
        for strength in strengths:
            after = self._precision(self._scores + strength * more)
            change = after - self._before
            if change.mean() >= -change.std() / np.sqrt(len(change)):
                return float(self._before.mean()), float(after.mean()), strength
        return float(self._before.mean()), float(after.mean()), 0.0

    def _precision(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        everyone = np.arange(len(scores))
        single = scores.astype(np.float32)
        judged = judge(single, self._relevance.rows(everyone), own=everyone, cutoffs=(1,))
        return judged.average_precision[judged.judged]

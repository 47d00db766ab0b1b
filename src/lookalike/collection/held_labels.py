"""Labelled pictures that were held back from learning, to judge by what votes add to it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.collection import events, rows
from lookalike.collection.database import Database
from lookalike.collection.hearing import Heard, knowledge
from lookalike.collection.vectors import AnyIndex
from lookalike.core.errors import InvalidInput
from lookalike.core.ranking import judge
from lookalike.features import Vectors
from lookalike.similarity import OASIS
from lookalike.supervision import Relevance

MOST = 200
"""Pictures that are judged by: enough to see harm, few enough to be asked at every vote."""


class HeldLabels:
    """How pictures held back rank each other, without votes and with them.

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
        cls, database: Database, index: AnyIndex, model: OASIS | None, number: int | None
    ) -> "HeldLabels | None":
        """Take those that the model in use was judged by; None where there are too few."""
        sides = rows.sides(database, number)
        if model is None or sides is None:
            return None
        try:
            known = knowledge(database, Heard(), number)
        except InvalidInput:
            return None
        held = np.flatnonzero(np.isin(known.ids, np.intersect1d(sides[0], index.ids)))
        if len(held) > MOST:
            held = np.sort(np.random.default_rng(0).choice(held, MOST, replace=False))
        relevance = known.relevance.subset(held)
        if not relevance.has_alike.any():
            return None
        order = np.argsort(index.ids)
        places = order[np.searchsorted(index.ids, known.ids[held], sorter=order)]
        X = index.vectors[places]
        items = model.item_vectors(X)
        return cls(items, dense(items @ model.query_vectors(X).T).T, relevance)

    @staticmethod
    def changed(database: Database, number: int | None, since: int) -> bool:
        """Return whether something said after an event changes the labels that are judged by."""
        sides = rows.sides(database, number)
        if sides is None:
            return False
        return any(
            event.kind == "learn"
            or (event.kind == "undo" and event.body["undid"] not in ("vote", "reset"))
            or (event.kind in ("tag", "correction") and event.body["picture"] in sides[0])
            for event in events.after(database, since)
        )

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


def dense(matrix: Any) -> NDArray[np.float64]:
    """Return a dense or sparse matrix as a dense one."""
    sparse: bool = sp.issparse(matrix)
    return np.asarray(matrix.toarray() if sparse else matrix, np.float64)

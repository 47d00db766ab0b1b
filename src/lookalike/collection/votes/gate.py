"""Judge what votes add: by votes that were not learned from, and by labelled pictures held out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.answers import Standing
from lookalike.collection.store import models
from lookalike.collection.store.database import Database
from lookalike.collection.votes.ledger import Ledger, Record
from lookalike.core.errors import InvalidInput
from lookalike.core.ranking import judge
from lookalike.core.vectors import Vectors, dense
from lookalike.index.base import Index
from lookalike.similarity.base import Similarity

if TYPE_CHECKING:
    from lookalike.supervision import Relevance

MOST = 200
"""Pictures that are judged by: enough to see harm, few enough to be asked at every vote."""


STRENGTHS = (1.0, 0.5, 0.25)
"""How far searches may go with what votes taught, where labels judge it too."""

Added = Callable[[Vectors], NDArray[np.float64]]
"""What votes add to what is asked with for each of some vectors, a row each."""


class HeldLabels:
    """How pictures held out rank each other, without votes and with them.

    What votes add counts as harm where it lowers the mean average precision by more than one
    standard error of the difference: a few votes move it up or down a little by chance.
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
        sides = models.sides(database, number)
        if sides is None:
            return None
        try:
            from lookalike.collection.training.examples import alike
            from lookalike.collection.training.given import Given

            known = alike(database, Given(), number)
        except InvalidInput:
            return None
        held = np.flatnonzero(np.isin(known.ids, np.intersect1d(sides[0], index.ids)))
        if len(held) > MOST:
            held = np.sort(np.random.default_rng(0).choice(held, MOST, replace=False))
        relevance = known.relevance.subset(held)
        if not relevance.has_alike.any():
            return None
        return cls(index.take(known.ids[held]), similarity, relevance)

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

    def judge(self, added: Added) -> tuple[float, float, float]:
        """Return the mean average precision without votes and with them, and how far they may go.

        Of ``STRENGTHS`` the first that does no harm; 0 where all do, and then the precision is
        that of the last tried.
        """
        more = dense(self._items @ added(self._vectors).T).T
        after = self._before
        for strength in STRENGTHS:
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


def judged(
    ledger: Ledger, records: Mapping[str, Record], held: HeldLabels | None, added: Added
) -> Standing:
    """Return what votes have taught, and how far searches may go with it.

    A person's votes count by their weight here as well: what is cast the wrong way round neither
    teaches nor judges. A person's votes speak against what was learned where, with it, they are
    in the right order less often by more than two standard errors; votes rest while most votes do.
    """
    judged_votes = 0
    total = change = against = agreed = 0.0
    for record in records.values():
        judged_votes += record.judged
        total += record.weight * record.judged
        change += record.weight * record.change
        agreed += record.weight * record.before
        against += record.weight * record.judged * record.is_worse
    before = after = None
    if total:
        before = 0.5 + agreed / total
        after = before + change / total
    worse = 2 * against > total
    labels: tuple[float | None, float | None, float] = (None, None, STRENGTHS[0])
    if held is not None and ledger.votes:
        labels = held.judge(added)
    strength = 0.0 if worse or not ledger.votes else labels[2]
    left_out = tuple(sorted(who for who, record in records.items() if not record.weight))
    votes = len(ledger.votes)
    return Standing(
        votes=votes,
        judged=judged_votes,
        before=before,
        after=after,
        labels_before=labels[0],
        labels_after=labels[1],
        strength=strength,
        left_out=left_out,
        reason=_reason(votes, judged_votes, worse, labels[2], left_out, ledger.damaged),
    )


def _reason(
    votes: int,
    judged_votes: int,
    worse: bool,
    labels: float,
    left_out: tuple[str, ...],
    damaged: int | None,
) -> str:
    lost = f" Votes from event {damaged} on are damaged and were left out." if damaged else ""
    if not votes:
        return f"No votes yet.{lost}"
    if worse:
        said = "Votes are paused: with them, held-out votes rank worse."
    elif not labels:
        said = "Votes are paused: with them, held-out labelled pictures rank worse."
    elif labels < STRENGTHS[0]:
        said = (
            f"Votes are used at {labels:.0%} strength; with more, held-out labelled pictures rank "
            f"worse."
        )
    elif judged_votes:
        said = "Votes are in use: with them, held-out votes rank no worse."
    else:
        said = "Votes are in use; none compares two pictures yet, so they cannot be evaluated."
    if left_out:
        people = "one person" if len(left_out) == 1 else f"{len(left_out)} people"
        said += f" The votes of {people} are left out: they contradict how the pictures look."
    return said + lost

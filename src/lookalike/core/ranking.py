"""Evaluate rankings: average precision and precision at top k, as paper 1 defines them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core._fast.ranking import judge_rows
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent

CUTOFFS = (1, 10, 50)
"""The k of precision at top k in Table 4 of paper 1."""

BLOCK_SCORES = 1 << 23
"""Scores in memory at once."""


@dataclass(frozen=True)
class Judgement:
    """How well each query ranked the items relevant to it (paper 1, section 5.1).

    Attributes
    ----------
    average_precision : ndarray of shape (q,)
        For each query the mean, over the positions k of the relevant items, of the
        precision at top k; NaN where nothing is relevant.
    precision : ndarray of shape (q, len(cutoffs))
        Relevant items among the top k, divided by k, even where there are fewer than k items
        to rank; NaN where nothing is relevant.
    cutoffs : tuple of int
        The k of the columns of ``precision``.
    prevalence : ndarray of shape (q,)
        The share of relevant items among those ranked: the precision of a random order.
    """

    average_precision: NDArray[np.float64]
    precision: NDArray[np.float64]
    cutoffs: tuple[int, ...]
    prevalence: NDArray[np.float64]

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Which queries have a relevant item other than themselves; means are over these."""
        return self.prevalence > 0

    @property
    def mean_average_precision(self) -> float:
        """The mean average precision over the judged queries."""
        return float(self.average_precision[self._some_judged()].mean())

    @property
    def mean_precision(self) -> NDArray[np.float64]:
        """The precision curve: the mean over the judged queries for each of ``cutoffs``."""
        means: NDArray[np.float64] = self.precision[self._some_judged()].mean(axis=0)
        return means

    @property
    def chance(self) -> float:
        """The mean precision of a random order."""
        return float(self.prevalence[self._some_judged()].mean())

    def precision_at(self, k: int) -> float:
        """Return the mean precision at top ``k``, one of ``cutoffs``, over the judged queries."""
        if k not in self.cutoffs:
            raise InvalidInput(
                f"Judgement: k must be one of {self.cutoffs}; got {k}. "
                f"Evaluate again with this k in cutoffs."
            )
        return float(self.mean_precision[self.cutoffs.index(k)])

    def _some_judged(self) -> NDArray[np.bool_]:
        judged = self.judged
        if not judged.any():
            raise InvalidInput(
                f"Judgement: none of the {judged.size} queries has a relevant item other than "
                f"itself, so there is nothing to average."
            )
        return judged

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return one judgement for the queries of several that have the same cutoffs."""
        return cls(
            np.concatenate([part.average_precision for part in parts]),
            np.concatenate([part.precision for part in parts]),
            parts[0].cutoffs,
            np.concatenate([part.prevalence for part in parts]),
        )


def judge(
    scores: ArrayLike,
    relevant: NDArray[np.bool_],
    *,
    own: ArrayLike | None = None,
    cutoffs: Sequence[int] = CUTOFFS,
) -> Judgement:
    """Rank all items for each query and evaluate the ranking.

    Items are ranked by decreasing score, ties by column. With R relevant
    items at the ranks r₁ < r₂ < …, the average precision is (1/R) Σⱼ j / rⱼ (paper 1, section
    5.1). Costs O(n log R) per query, since only the relevant items are sorted.

    Parameters
    ----------
    scores : array of shape (q, n)
        One row per query, one column per item; larger is more similar. NaN is an error.
    relevant : bool array of shape (q, n)
        Which items are relevant.
    own : int array of shape (q,), optional
        The column of each query itself, which is left out of its ranking; -1 for none.
    cutoffs : sequence of int
        The k for precision at top k.

    Examples
    --------
    >>> relevant = np.array([[True, False, True, False]])
    >>> found = judge([[0.9, 0.8, 0.7, 0.6]], relevant, cutoffs=[1, 2])
    >>> round(found.mean_average_precision, 3), found.precision_at(2)
    (0.833, 0.5)
    """
    table = np.ascontiguousarray(scores)
    if table.dtype.type not in (np.float32, np.float64):
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"judge: scores must be numbers; {error}.") from error
    truth = np.ascontiguousarray(relevant)
    if table.ndim != 2 or truth.shape != table.shape or truth.dtype != np.bool_:
        raise InvalidInput(
            f"judge: scores and relevant must be matrices of the same shape, relevant of bool; "
            f"got {table.shape} and {truth.dtype} of shape {truth.shape}."
        )
    q, n = table.shape
    mine = _own_columns(own, q, n)
    limits = check_cutoffs(cutoffs)
    average_precision = np.empty(q)
    precision = np.empty((q, len(limits)))
    result = np.zeros(q, np.int64)
    bad = judge_rows(
        table, truth, mine, np.array(limits, np.int64), average_precision, precision, result
    )
    if bad >= 0:
        raise InvalidInput(f"judge: scores must not be NaN; row {bad} contains one.")
    candidates = np.maximum(n - (mine >= 0), 1)
    return Judgement(average_precision, precision, limits, result / candidates)


def discounted_gains(
    scores: NDArray[np.floating], values: NDArray[np.floating], k: int = 10
) -> NDArray[np.float64]:
    """Return the normalised discounted cumulative gain at ``k`` of every row; NaN without any.

    Each of n items ranks all others. Σ v/log₂(1 + rank) over the first k, divided by the largest
    sum that any order has (Järvelin and Kekäläinen, 2002).

    Examples
    --------
    >>> scores = np.array([[0, 2, 1.0], [0, 0, 1], [0, 1, 0]])
    >>> discounted_gains(scores, np.array([[0, 1, 2.0], [0, 0, 1], [0, 0, 0]])).round(3)
    array([0.86, 1.  ,  nan])
    """
    count = min(k, len(scores) - 1)
    discounts = 1 / np.log2(np.arange(2, count + 2))

    def first(keys: NDArray[np.floating]) -> NDArray[np.intp]:
        others = keys.copy()
        np.fill_diagonal(others, -np.inf)
        some = np.argpartition(-others, count - 1, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(others, some, 1), axis=1, kind="stable")
        return np.take_along_axis(some, order, 1)

    sums, best = (
        np.take_along_axis(values, first(keys), 1) @ discounts for keys in (scores, values)
    )
    shares: NDArray[np.float64] = np.full(len(best), np.nan)
    np.divide(sums, best, out=shares, where=best > 0)
    return shares


def judge_in_blocks(
    score_block: Callable[[NDArray[np.int64]], NDArray[Any]],
    relevant_block: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
    items: int,
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    progress: Progress = silent,
    block_scores: int = BLOCK_SCORES,
) -> Judgement:
    """Rank every item against all others, a few rows at a time.

    Parameters
    ----------
    score_block, relevant_block : callable
        Given row numbers, the scores and the relevance of those rows against all ``items``:
        arrays of shape (rows, items).
    items : int
        The number of items; each is a query once.
    cutoffs : sequence of int
        The k for precision at top k.
    progress : callable
        Called with the number of queries done and the total.
    block_scores : int
        Scores in memory at once.
    """
    if items < 1:
        raise InvalidInput(f"judge_in_blocks: items must be at least 1; got {items}.")
    step = max(1, block_scores // items)
    parts = []
    for start in range(0, items, step):
        rows = np.arange(start, min(start + step, items))
        parts.append(judge(score_block(rows), relevant_block(rows), own=rows, cutoffs=cutoffs))
        progress(int(rows[-1]) + 1, items)
    return Judgement.joined(parts)


def check_cutoffs(cutoffs: Sequence[int]) -> tuple[int, ...]:
    """Return the cutoffs as whole numbers from 1, or raise InvalidInput."""
    given = np.asarray(cutoffs)
    if given.ndim != 1 or (given.size and (given.dtype.kind not in "iu" or given.min() < 1)):
        raise InvalidInput(f"cutoffs must be a list of whole numbers from 1; got {cutoffs!r}.")
    return tuple(int(k) for k in given)


def _own_columns(own: ArrayLike | None, q: int, n: int) -> NDArray[np.int64]:
    if own is None:
        return np.full(q, -1, np.int64)
    columns = np.asarray(own)
    if columns.shape != (q,) or (
        q and (columns.dtype.kind not in "iu" or columns.min() < -1 or columns.max() >= n)
    ):
        raise InvalidInput(
            f"judge: own must be a column from 0 to {n - 1}, or -1, for each of {q} queries."
        )
    return columns.astype(np.int64)

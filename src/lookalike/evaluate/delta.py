"""ΔAP: average precision less what a random order would reach, and the gains of each class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.checks import is_number
from lookalike.core.errors import InvalidInput
from lookalike.core.ranking import judge
from lookalike.supervision import Relevance


def delta_average_precision(
    scores: ArrayLike,
    relevant: NDArray[np.bool_],
    *,
    own: ArrayLike | None = None,
    upper: float = 1.0,
) -> NDArray[np.float64]:
    """Return ΔAP of each query; the mean over queries is ΔMAP.

    ΔAP = AP − R/N: the average precision less the prior, the share of relevant items among those
    ranked, which is what a random order reaches (Yang and Hauptmann, *(Un)reliability of Video
    Concept Detection*, 2008; paper 3, section 6). NaN where nothing is relevant.

    Parameters
    ----------
    scores : array of shape (q, n)
        One row per query, one column per item; larger is more similar. Ties are ranked by column.
    relevant : bool array of shape (q, n)
        Which items are relevant.
    own : int array of shape (q,), optional
        Each query's own column, which is left out of its ranking; -1 for none.
    upper : float
        The upper part of each ranking that counts, above 0 and at most 1: 0.5 is the upper half
        (paper 3, Figure 4 b and d). The mean of the precisions is then over as many relevant items
        as the part can hold, and the prior stays the same.

    Examples
    --------
    >>> relevant = np.array([[True, False, True, False]])
    >>> delta_average_precision([[0.9, 0.8, 0.7, 0.6]], relevant).round(3).tolist()
    [0.333]
    """
    if not is_number(upper) or not 0 < upper <= 1:
        raise InvalidInput(
            f"delta_average_precision: upper must be above 0 and at most 1; got {upper!r:.80}."
        )
    outcome = judge(scores, relevant, own=own, cutoffs=())
    if upper == 1:
        return _less_prior(outcome.average_precision, outcome.prevalence)
    table = np.asarray(scores, np.float64).copy()
    mine = np.full(len(table), -1) if own is None else np.asarray(own)
    itself = np.flatnonzero(mine >= 0)
    table[itself, mine[itself]] = -np.inf
    precisions = np.empty(len(table))
    for row, (values, truth) in enumerate(zip(table, relevant, strict=True)):
        ranked = truth[np.argsort(-values, kind="stable")]
        items = len(ranked) - int(mine[row] >= 0)
        kept = ranked[: max(int(np.ceil(items * upper)), 1)]
        right = np.cumsum(kept)[kept] / (np.flatnonzero(kept) + 1)
        hits = min(int(ranked[:items].sum()), len(kept))
        precisions[row] = right.sum() / hits if hits else np.nan
    return _less_prior(precisions, outcome.prevalence)


@dataclass(frozen=True)
class ClassGain:
    """What the queries of one class gain from one ranking to another.

    Attributes
    ----------
    name : str
    queries : int
        The queries with this label, of those that were judged.
    before, after : float
        Their means.
    error : float
        The standard error of the mean difference; NaN with one query.
    """

    name: str
    queries: int
    before: float
    after: float
    error: float

    @property
    def gain(self) -> float:
        """The mean difference."""
        return self.after - self.before

    def worse(self, errors: float = 2.0) -> bool:
        """Return whether the class lost more than so many standard errors."""
        return self.gain < -errors * self.error


def class_gains(before: ArrayLike, after: ArrayLike, labels: Sequence[Any]) -> list[ClassGain]:
    """Return the gain of each class, of the same queries ranked in two ways (paper 3, Figure 5).

    Parameters
    ----------
    before, after : array of shape (q,)
        A figure of each query, such as ΔAP; NaN where it was not judged.
    labels : sequence of labels or of sets of labels
        Those of each query; it counts for each of them.

    Examples
    --------
    >>> [gain] = class_gains([0.1, 0.2], [0.2, 0.4], ["cat", "cat"])
    >>> gain.name, round(gain.gain, 2)
    ('cat', 0.15)
    """
    first, second = (np.asarray(figures, np.float64) for figures in (before, after))
    if first.ndim != 1 or first.shape != second.shape:
        raise InvalidInput(
            f"class_gains: before and after must have one figure for each query; "
            f"got {first.shape} and {second.shape}."
        )
    relevance = Relevance.of(labels, len(first))
    if relevance.labels_ is None:
        raise InvalidInput("class_gains: labels must be labels; got pairs of pictures.")
    judged = ~np.isnan(first) & ~np.isnan(second)
    of_class = relevance.links.tocsc()
    gains = []
    for number, name in enumerate(relevance.labels_):
        rows = of_class.indices[of_class.indptr[number] : of_class.indptr[number + 1]]
        rows = rows[judged[rows]]
        if not len(rows):
            continue
        change = second[rows] - first[rows]
        error = float(change.std(ddof=1) / np.sqrt(len(rows))) if len(rows) > 1 else np.nan
        means = float(first[rows].mean()), float(second[rows].mean())
        gains.append(ClassGain(name, len(rows), *means, error))
    return gains


def _less_prior(
    precisions: NDArray[np.float64], prevalence: NDArray[np.float64]
) -> NDArray[np.float64]:
    return np.where(prevalence > 0, precisions - prevalence, np.nan)

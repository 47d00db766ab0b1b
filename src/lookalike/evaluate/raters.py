"""What several raters say of two rankings: agreement, and precision at k with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Marks: TypeAlias = Mapping[tuple[int, int], bool]
"""Whether a rater found a picture relevant, by query and picture."""

RESAMPLES = 2000


@dataclass(frozen=True)
class RankingPrecision:
    """The precision of one ranking at each k, as raters judged it.

    Attributes
    ----------
    mean : tuple of float
        At k = 1, 2 and so on: of each query the mean over its raters, and then over queries.
    low, high : tuple of float
        The ends of the 95 % interval, by drawing queries again.
    error : tuple of float
        The standard error over queries, as in Figure 3B of paper 1.
    """

    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    error: tuple[float, ...]


def kappa(first: Marks, second: Marks) -> float | None:
    """Return Cohen's κ of two raters over what both judged; None if chance alone agrees.

    κ = (p − e) / (1 − e), with p the share on which they agree and e the share on which they would
    agree by chance.

    Examples
    --------
    >>> kappa({(1, 2): True, (1, 3): False}, {(1, 2): True, (1, 3): False, (1, 4): True})
    1.0
    """
    both = sorted(set(first) & set(second))
    if not both:
        return None
    table = np.array([[first[one], second[one]] for one in both], dtype=np.float64)
    agreed = float((table[:, 0] == table[:, 1]).mean())
    yes = table.mean(axis=0)
    by_chance = float(yes.prod() + (1 - yes).prod())
    return None if by_chance >= 1 else (agreed - by_chance) / (1 - by_chance)


def mean_kappa(raters: Sequence[Marks]) -> float | None:
    """Return the mean κ over pairs of raters, or None if there is none."""
    each = [value for pair in combinations(raters, 2) if (value := kappa(*pair)) is not None]
    return float(np.mean(each)) if each else None


def ranking_precision(
    queries: Sequence[Sequence[Sequence[bool]]], *, random_state: int = 0
) -> RankingPrecision:
    """Return precision at k of a ranking with its intervals.

    Parameters
    ----------
    queries : sequence
        For each query, by each of its raters, which of the pictures shown are relevant, in order;
        all are as long as the shortest.
    random_state : int
        Draws the intervals.

    Examples
    --------
    >>> ranking_precision([[[True, False]], [[True, True]]]).mean
    (1.0, 0.75)
    """
    k = min(len(marks) for raters in queries for marks in raters)
    places = np.arange(1, k + 1)
    each: NDArray[np.float64] = np.array(
        [
            np.mean([np.cumsum(np.asarray(marks[:k], float)) / places for marks in raters], axis=0)
            for raters in queries
        ]
    )
    rng = np.random.default_rng(random_state)
    drawn = rng.integers(len(each), size=(RESAMPLES, len(each)))
    means = each[drawn].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    error = each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.zeros(k)
    columns = (tuple(map(float, one)) for one in (each.mean(axis=0), low, high, error))
    return RankingPrecision(*columns)

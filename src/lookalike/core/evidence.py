"""Weigh paired differences: how large they are on average, and how far that may be chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp

CERTAIN = 2.5
"""Standard errors above which a gain is not taken for chance, which gives as much once in 160."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of paired differences, and its standard error."""

    mean: float
    error: float

    @property
    def is_gain(self) -> bool:
        """Whether it is better by more than chance."""
        return self.mean > CERTAIN * self.error

    @property
    def is_loss(self) -> bool:
        """Whether it is worse by more than one standard error."""
        return self.mean < -self.error

    def __str__(self) -> str:
        return f"{self.mean:+.3f} ± {self.error:.3f}"


def paired_difference(
    before: ArrayLike,
    after: ArrayLike,
    groups: sp.csr_matrix,
    weights: NDArray[np.float64] | None = None,
) -> Difference:
    """Return how much better queries were answered, with an error that holds for related queries.

    Queries that are to find each other are not independent: what moves two pictures closer is
    counted for both. So the variance of the mean is taken for twice that of independent queries;
    or for what the sums over groups show, e = w·(d − mean) and Σ_g (Σ_{i in g} e_i)²·G/(G − 1)
    for G groups, where that is more (Cameron and Miller, *A Practitioner's Guide to
    Cluster-Robust Inference*, 2015, section II).

    Parameters
    ----------
    before, after : array of shape (n,)
        A figure for each query, as its average precision.
    groups : csr_matrix of shape (n, G)
        Which queries are related; see :attr:`lookalike.supervision.Relevance.groups`.
    weights : array of shape (n,), optional
        They sum to 1; by default all queries count the same.

    Examples
    --------
    >>> groups = sp.csr_matrix([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> print(paired_difference([0.2, 0.3, 0.4, 0.5], [0.4, 0.6, 0.5, 0.7], groups))
    +0.200 ± 0.050
    """
    differences = np.asarray(after, np.float64) - np.asarray(before, np.float64)
    if not differences.size:
        return Difference(0.0, 0.0)
    shares = np.full(len(differences), 1 / len(differences)) if weights is None else weights
    mean = float(shares @ differences)
    errors = shares * (differences - mean)
    sums = np.asarray(groups.T @ errors).ravel()
    count = float(groups.max(axis=0).power(2).sum())
    shared = float(sums @ sums) * count / max(count - 1, 1.0)
    return Difference(mean, float(np.sqrt(max(2 * float(errors @ errors), shared))))

"""Learn a map under which random neighbours are of the same class (NCA)."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from lookalike.core.progress import Progress, silent
from lookalike.similarity.base import check_vectors
from lookalike.similarity.linear_map import (
    LinearMap,
    check_whole,
    class_codes,
    principal_axes,
    unit_spread,
)

PRINCIPAL = 128
"""Principal components kept before learning."""


class NCA(LinearMap):
    """Neighbourhood components analysis after 128 principal components.

    Maximise Σ_i Σ_{j of i's class} p(j|i) over A, with p(j|i) ∝ exp(−|Ax_i − Ax_j|²)
    (Goldberger, Roweis, Hinton and Salakhutdinov, 2004, Eq. 1 and 4), by scikit-learn's
    ``NeighborhoodComponentsAnalysis`` from A = the first principal axes. Not in paper 1.

    Memory O(n² + nd), an iteration O(n²k) with k = ``dimension``.

    Parameters
    ----------
    dimension : int
        Rows of A; fewer where the vectors span less.
    max_iterations : int
        Iterations at most of L-BFGS.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
    n_iter_ : int
        Iterations used.

    Notes
    -----
    Departures: vectors are scaled to a mean squared distance of 1 first; far larger distances
    leave each p(·|i) on one neighbour and the gradient nearly zero.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.1, 5.0], [1.0, 0.0], [1.1, 5.0]]
    >>> learned = NCA().fit(X, ["left", "left", "right", "right"])
    >>> int(learned.scores([[0.0, 5.0]], X[:1] + X[3:]).argmax())
    0
    """

    n_iter_: int

    def __init__(self, *, dimension: int = 64, max_iterations: int = 50) -> None:
        self.dimension = dimension
        self.max_iterations = max_iterations

    def fit(
        self, X: ArrayLike | sp.spmatrix, y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Learn from vectors and one class label for each."""
        dimension = check_whole("NCA", "dimension", self.dimension, 1)
        iterations = check_whole("NCA", "max_iterations", self.max_iterations, 1)
        vectors = check_vectors("NCA", X)
        codes = class_codes("NCA", y, vectors.shape[0])
        mean, axes, rotated = principal_axes("NCA", vectors, PRINCIPAL)
        scale = unit_spread(rotated)
        rows = min(dimension, len(axes))
        analysis = NeighborhoodComponentsAnalysis(
            rows,
            init=np.eye(rows, len(axes)),
            max_iter=iterations,
            callback=lambda _, done: progress(done, iterations),
        ).fit(rotated * scale, codes)
        progress(iterations, iterations)
        self._keep(analysis.components_ @ axes * scale, mean)
        self.n_iter_ = int(analysis.n_iter_)
        return self

"""Learn a map in which random neighbours are of the same class (NCA)."""

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from lookalike.core.checks import check_whole
from lookalike.core.progress import Progress
from lookalike.core.stored import with_settings
from lookalike.core.vectors import Vectors
from lookalike.similarity.linear_map import LearnedMap, LinearMap, Rotated

PRINCIPAL = 128
"""Principal components kept before learning."""


@with_settings
class NCA(LinearMap):
    """Neighbourhood components analysis after 128 principal components.

    Maximise Σ_i Σ_{j of i's class} p(j|i) over A, with p(j|i) ∝ exp(−|Ax_i − Ax_j|²)
    (Goldberger, Roweis, Hinton and Salakhutdinov, 2004, Eq. 1 and 4), by scikit-learn's
    ``NeighborhoodComponentsAnalysis`` from A = the first principal axes. Not in paper 1.

    Memory O(n² + nd), an iteration O(n²k) with k = ``dimension``.

    Parameters
    ----------
    dimension : int
        Rows of A; fewer if the vectors span less.
    max_iterations : int
        Maximum number of L-BFGS iterations.

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
    >>> int(NCA().fit(X, [*"aabb"]).scores([[0.0, 5.0]], X[::3]).argmax())
    0
    """

    name = "nca"
    _numbers: ClassVar[Mapping[str, type]] = {"n_iter_": int}

    dimension: int = 64
    max_iterations: int = 50

    n_iter_: int = field(init=False)

    def _check_parameters(self) -> None:
        check_whole("NCA", "dimension", self.dimension, 1)
        check_whole("NCA", "max_iterations", self.max_iterations, 1)

    def _learn(self, vectors: Vectors, codes: NDArray[np.int64], progress: Progress) -> LearnedMap:
        rotated = Rotated.of("NCA", vectors, PRINCIPAL)
        columns = rotated.Z.shape[1]
        rows, iterations = min(int(self.dimension), columns), int(self.max_iterations)
        analysis = NeighborhoodComponentsAnalysis(
            rows,
            init=np.eye(rows, columns),
            max_iter=iterations,
            callback=lambda _, done: progress(done, iterations),
        ).fit(rotated.Z, codes)
        progress(iterations, iterations)
        return rotated.map(analysis.components_, n_iter_=int(analysis.n_iter_))

"""Least squares onto words: solved exactly for short vectors, by iterating for long ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.lessons import blocks
from lookalike.core import sparse as sp
from lookalike.core.vectors import Vectors

GRID = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""The λ to choose from, for pictures of length 1."""

UNJUDGED = 1.0
"""λ if no pictures are held out to choose it by."""

DIRECT = 2048
"""The most columns for which XᵀX is formed; beyond, solutions are iterated."""

ROUNDS = 40
TOLERANCE = 1e-3
"""Iterating ends after so many rounds, or when what is left is this small a share of the start."""

_ROWS = 8192
SPARE, POWERS = 8, 2
"""Columns beyond the rank, and rounds, of subspace iteration."""

Floats = NDArray[np.float64]
Solver: TypeAlias = Callable[[Floats], Floats]


class Regression:
    """Pictures' vectors X, ready to solve (XᵀX + λI)B = R for any λ and any R.

    Attributes
    ----------
    vectors : dense or CSR matrix of shape (n, d)
    gram : ndarray of shape (d, d) or None
        XᵀX, if d is at most ``DIRECT``.
    tolerance : float
        The share of the start that may be left where solutions are iterated.
    """

    def __init__(self, vectors: Vectors, *, tolerance: float = TOLERANCE) -> None:
        self.vectors = vectors
        self.gram = gram(vectors) if vectors.shape[1] <= DIRECT else None
        self.tolerance = tolerance

    def solver(self, penalty: float) -> Solver:
        """Return the function from R, of shape (d, columns), to B for λ = ``penalty`` above 0.

        Costs O(d³) once and O(d²) per column, or, with more than ``DIRECT`` columns of X, O(nnz)
        per column and round of conjugate gradients.
        """
        if self.gram is not None:
            return direct_solver(self.gram, penalty)
        return partial(_iterated, self.vectors, penalty, self.tolerance)

    def onto(self, targets: sp.csr_matrix | sp.csc_matrix | Floats) -> Floats:
        """Return XᵀT for targets T with one row per picture."""
        product = self.vectors.T @ targets
        return np.asarray(product.toarray() if sp.issparse(product) else product, np.float64)


def gram(vectors: Vectors) -> Floats:
    """Return XᵀX, added up in float64 over blocks of rows."""
    total = np.zeros((vectors.shape[1], vectors.shape[1]))
    for rows in blocks(vectors.shape[0], _ROWS):
        product = vectors[rows].T @ vectors[rows]
        total += product.toarray() if sp.issparse(product) else product
    return total


def direct_solver(matrix: Floats, penalty: float) -> Solver:
    """Return the function from R to (G + λI)⁻¹R for a positive semidefinite G."""
    from scipy.linalg import cho_factor, cho_solve

    shifted = matrix.copy()
    shifted[np.diag_indices_from(shifted)] += penalty
    return partial(cho_solve, cho_factor(shifted, overwrite_a=True))


def low_rank(
    regression: Regression,
    has: sp.csr_matrix,
    penalty: float,
    rank: int,
    rng: np.random.Generator,
    *,
    spare: int = SPARE,
    powers: int = POWERS,
) -> tuple[Floats, Floats]:
    """Return V (d × r) and W (Y × r), r ≤ ``rank``: the ridge solution VWᵀ cut to this rank.

    W spans the leading eigenvectors of TᵀX(XᵀX + λI)⁻¹XᵀT for the words T, the right singular
    vectors of the fit (Izenman, *Reduced-rank regression*, 1975), found by subspace iteration
    (Halko, Martinsson and Tropp, *Finding structure with randomness*, 2011), and V is ridge
    regression onto TW; so no matrix of d × Y is formed. Both have the same share of each singular
    value of VWᵀ.
    """
    solve = regression.solver(penalty)
    Y = has.shape[1]
    W = np.linalg.qr(rng.standard_normal((Y, min(rank + spare, Y))))[0]
    for _ in range(powers if W.shape[1] < Y else 0):
        fitted = regression.vectors @ solve(regression.onto(has @ W))
        W = np.linalg.qr(np.asarray(has.T @ fitted))[0]
    right = regression.onto(has @ W)
    V = solve(right)
    turned = np.linalg.eigh(right.T @ V)[1][:, ::-1][:, :rank]
    left, values, last = np.linalg.svd(V @ turned, full_matrices=False)
    share = np.sqrt(values)
    return left * share, (W @ turned @ last.T) * share


def _iterated(X: Vectors, penalty: float, tolerance: float, right: Floats) -> Floats:
    """Solve by conjugate gradients, each column by its own (Hestenes and Stiefel, 1952)."""
    result = np.zeros_like(right)
    left, direction = right.copy(), right.copy()
    squares = np.einsum("ij,ij->j", left, left)
    goal = tolerance**2 * squares
    for _ in range(ROUNDS):
        going = squares > goal
        if not going.any():
            break
        moved = np.asarray(X.T @ (X @ direction)) + penalty * direction
        curvature = np.einsum("ij,ij->j", direction, moved)
        step = np.where(going, squares / np.where(going, curvature, 1), 0)
        result += step * direction
        left -= step * moved
        before, squares = squares, np.einsum("ij,ij->j", left, left)
        direction = left + np.where(going, squares / np.where(going, before, 1), 0) * direction
    return result

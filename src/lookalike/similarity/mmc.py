"""Learn a metric that spreads pictures of other classes and keeps a class near (Xing et al.)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.core.stored import with_settings
from lookalike.similarity.descent import Descent
from lookalike.similarity.linear_map import Matrix


@with_settings
class MMC(Descent):
    """Global metric learning from similar and dissimilar pairs.

    With d_ij = (x_i − x_j)ᵀ M (x_i − x_j), S the pairs of one class and D those of two, maximise
    over positive semidefinite M

        Σ_D √d_ij   subject to   Σ_S d_ij ≤ 1

    (Xing, Ng, Jordan and Russell, 2003, Eq. 6 to 8), which paper 1, section 5.3.1, found too slow
    for its sets.

    Memory O(n² + nd + d²); an iteration takes O(n²k + nk² + k³), where k ≤ min(n − 1, d) is the
    dimension of what the vectors span.

    Parameters
    ----------
    max_iterations : int
        Maximum number of gradient evaluations. The maximum itself is of low rank and ranks new
        pictures worse than no learning on every set tried; stopped after a few, it gains.
    tolerance : float
        Stop when a step lowers the loss by less than this fraction.

    Notes
    -----
    Departures: the form without a constraint, Σ_S d_ij − log Σ_D √d_ij, which the authors minimise
    for diagonal M, has the same minimum up to the scale of M, since Σ_S d is of degree 1 in M. It
    takes one projection an iteration, where the authors project in turn on both constraints.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.1, 5.0], [1.0, 0.0], [1.1, 5.0]]
    >>> int(MMC().fit(X, [*"aabb"]).scores([[0.0, 5.0]], X[::3]).argmax())
    0
    """

    name = "mmc"

    max_iterations: int = 3
    tolerance: float = 1e-4

    def _loss(self, Z: Matrix, codes: NDArray[np.int64]) -> "Contrast":
        return Contrast.of(Z, codes)


@dataclass(frozen=True)
class Contrast:
    """The loss of MMC over means of pairs, always on all of them."""

    Z: Matrix
    apart: NDArray[np.bool_]
    within: Matrix

    @classmethod
    def of(cls, Z: Matrix, codes: NDArray[np.int64]) -> "Contrast":
        """Return the loss of rows and their classes."""
        apart = codes[:, None] != codes[None, :]
        alike = (~apart).astype(np.float64)
        np.fill_diagonal(alike, 0)
        return cls(Z, apart, weighted_squares(Z, alike / alike.sum()))

    def activate(self, M: Matrix) -> int:
        """Return 0: no pair is ever new."""
        return 0

    def loss(self, M: Matrix) -> tuple[float, Matrix]:
        """Return the loss and its gradient in M."""
        products = (self.Z @ M) @ self.Z.T
        own = np.diag(products)
        squares = own[:, None] + own[None, :] - 2 * products
        # The root has no slope at 0; pictures of two classes may be the same.
        roots = np.sqrt(np.maximum(squares[self.apart], 1e-12))
        total = float(roots.sum())
        weights = np.zeros_like(products)
        weights[self.apart] = 0.5 / (roots * total)
        loss = float(np.vdot(M, self.within)) - np.log(total / len(roots))
        return loss, self.within - weighted_squares(self.Z, weights)


def weighted_squares(Z: Matrix, weights: Matrix) -> Matrix:
    """Return Σ_ij w_ij (z_i − z_j)(z_i − z_j)ᵀ for symmetric weights."""
    squares: Matrix = 2 * ((Z * weights.sum(axis=1)[:, None]).T @ Z - Z.T @ (weights @ Z))
    return squares

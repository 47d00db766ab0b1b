"""Learn a metric that collapses each class to a point (MCML)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.core.stored import with_settings
from lookalike.similarity.descent import Descent
from lookalike.similarity.linear_map import Matrix


@with_settings
class MCML(Descent):
    """Maximally collapsing metric learning: gradient descent on a convex divergence.

    With d_ij = (x_i − x_j)ᵀ M (x_i − x_j) and p(j|i) ∝ exp(−d_ij) for j ≠ i, minimise over
    positive semidefinite M

        Σ_i KL(p₀(·|i) ‖ p(·|i)),   p₀(·|i) uniform on the others of i's class

    (Globerson and Roweis, 2006, Eq. 3 and 4; paper 1, section 5.3.1, item 3), up to a constant
    Σ_i [mean of d_ij over i's class + log Σ_k exp(−d_ik)]. Its gradient is
    Σ_ij (p₀ − p)(j|i) (x_i − x_j)(x_i − x_j)ᵀ, taken as Xᵀ L X with L the Laplacian of p₀ − p.

    Memory O(n² + nd + d²); an iteration takes O(n²k + nk² + k³), where k ≤ min(n − 1, d) is the
    dimension of what the vectors span.

    Parameters
    ----------
    max_iterations : int
        Maximum number of gradient evaluations. On fewer pictures than columns the classes can be
        collapsed entirely and the infimum is not attained, so this stops before overfitting.
    tolerance : float
        Stop when a step lowers the loss by less than this fraction.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.1, 5.0], [1.0, 0.0], [1.1, 5.0]]
    >>> int(MCML().fit(X, [*"aabb"]).scores([[0.0, 5.0]], X[::3]).argmax())
    0
    """

    name = "mcml"

    max_iterations: int = 30
    tolerance: float = 1e-4

    def _loss(self, Z: Matrix, codes: NDArray[np.int64]) -> "Divergence":
        return Divergence(Z, collapsed(codes))


@dataclass(frozen=True)
class Divergence:
    """The loss of MCML, always on all pairs."""

    Z: Matrix
    ideal: Matrix

    def activate(self, M: Matrix) -> int:
        """Return 0: no pair is ever new."""
        return 0

    def loss(self, M: Matrix) -> tuple[float, Matrix]:
        """Return the loss, up to a constant, and its gradient in M."""
        return divergence(M, self.Z, self.ideal)


def collapsed(codes: NDArray[np.int64]) -> Matrix:
    """Return p₀(j|i): uniform on the others of i's class; zero for a class of one."""
    same: Matrix = (codes[:, None] == codes[None, :]).astype(np.float64)
    np.fill_diagonal(same, 0)
    same /= np.maximum(same.sum(axis=1, keepdims=True), 1)
    return same


def divergence(M: Matrix, Z: Matrix, ideal: Matrix) -> tuple[float, Matrix]:
    """Return the loss, up to a constant, and its gradient in M."""
    products = (Z @ M) @ Z.T
    own = np.diag(products).copy()
    logits = products
    logits *= 2
    logits -= own[:, None]
    logits -= own[None, :]
    attracted = ideal.any(axis=1)
    pull = -float(np.vdot(ideal, logits))
    np.fill_diagonal(logits, -np.inf)
    top = logits.max(axis=1, keepdims=True)
    logits -= top
    weights = np.exp(logits, out=logits)
    total = weights.sum(axis=1, keepdims=True)
    loss = pull + float((np.log(total) + top)[attracted].sum())
    weights /= total
    weights[~attracted] = 0
    E = np.subtract(ideal, weights, out=weights)
    E += E.T.copy()
    gradient = (Z * E.sum(axis=1)[:, None]).T @ Z - Z.T @ (E @ Z)
    return loss, gradient

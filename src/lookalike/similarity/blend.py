"""Move between the starting similarity and what was learned.

A learned W often goes too far: it raises the mean average precision of what it was trained on but
loses the nearest neighbours it started with. A path leads from the start (0) to W (1), and the
point on it is chosen on held-out comparisons.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

POINTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
"""The points of a path that are tried."""


class Path(Protocol):
    """A path of similarities from the identity, at 0, to what was learned, at 1."""

    def at(self, point: float) -> NDArray[np.float32]:
        """Return the similarity at a point from 0 to 1."""


class PowerPath:
    """The powers of a positive W = UDUᵀ: U·max(D, 0)^s·Uᵀ at s, the identity at 0.

    Negative eigenvalues are zero from the first point on: projecting onto the
    positive matrices is part of what was learned (paper 1, section 6.2).
    """

    def __init__(self, W: NDArray[np.float32]) -> None:
        values, self._vectors = np.linalg.eigh((W.astype(np.float64) + W.T) / 2)
        self._values = np.maximum(values, 0.0)

    def at(self, point: float) -> NDArray[np.float32]:
        """Return W to the power ``point``."""
        if point == 0.0:
            return np.eye(len(self._values), dtype=np.float32)
        product = (self._vectors * self._values**point) @ self._vectors.T
        return np.ascontiguousarray((product + product.T) / 2, dtype=np.float32)


class StraightPath:
    """The straight line (1−s)·I + s·W, for a W that need not be symmetric or positive."""

    def __init__(self, W: NDArray[np.float32]) -> None:
        self._W = W

    def at(self, point: float) -> NDArray[np.float32]:
        """Return the mixture at ``point``; at 1 this is W itself, not a copy."""
        if point == 1.0:
            return self._W
        mixed = self._W * np.float32(point)
        mixed.reshape(-1)[:: len(mixed) + 1] += np.float32(1.0 - point)
        return mixed


def project_positive(W: NDArray[np.float32]) -> NDArray[np.float32]:
    """Project onto the symmetric positive semi-definite matrices (paper 1, section 6.2)."""
    return PowerPath(W).at(1.0)

"""Whiten what varies within classes (RCA)."""

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from sklearn.covariance import ledoit_wolf_shrinkage

from lookalike.core.checks import check_share, check_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress
from lookalike.core.stored import with_settings
from lookalike.core.vectors import Vectors
from lookalike.similarity.linear_map import LearnedMap, LinearMap, Rotated

MIN_SHRINKAGE = 1e-3
"""The minimum shrinkage: Ledoit and Wolf's can be 0 on a singular covariance."""


@with_settings
class RCA(LinearMap):
    """Relevant component analysis: the metric is the inverse of the covariance within classes.

    C = (1/n) Σ_i (x_i − m)(x_i − m)ᵀ, with m the mean of i's class, and z = C^{−1/2} x
    (Bar-Hillel, Hertz, Shental and Weinshall, 2003, section 2; paper 1, section 5.3.1). Classes
    stand for the chunklets.

    Memory O(nd + k²), time O(nd·min(n, d) + nk² + k³) with k principal components.

    Parameters
    ----------
    dimension : int or None
        Principal components kept before learning; None keeps all that the vectors span.
    shrinkage : float or None
        The weight of the multiple of the identity, from 0, RCA as published, to below 1; None is
        that of Ledoit and Wolf.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        C^{−1/2} after the principal axes.
    shrinkage_ : float
        The weight of the multiple of the identity that was used.

    Notes
    -----
    Departures: by default C is shrunk towards a multiple of the identity (Ledoit and Wolf, 2004),
    without which it has no inverse with fewer pictures than columns; paper 1 only reduced the
    dimension.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.1, 5.0], [1.0, 0.0], [1.1, 5.0]]
    >>> int(RCA().fit(X, [*"aabb"]).scores([[0.0, 5.0]], X[::3]).argmax())
    0
    """

    name = "rca"
    _numbers: ClassVar[Mapping[str, type]] = {"shrinkage_": float}

    dimension: int | None = None
    shrinkage: float | None = None

    shrinkage_: float = field(init=False)

    def _check_parameters(self) -> None:
        if self.dimension is not None:
            check_whole(type(self).__name__, "dimension", self.dimension, 1)
        if self.shrinkage is not None:
            check_share(type(self).__name__, "shrinkage", self.shrinkage)

    def _learn(self, vectors: Vectors, codes: NDArray[np.int64], progress: Progress) -> LearnedMap:
        rotated = Rotated.of(type(self).__name__, vectors, self.dimension)
        progress(1, 2)
        Z = rotated.Z
        sums = np.zeros((int(codes.max()) + 1, Z.shape[1]))
        np.add.at(sums, codes, Z)
        within = Z - (sums / np.bincount(codes)[:, None])[codes]
        variance = float(np.einsum("ij,ij->", within, within)) / within.size
        if not variance > 1e-12 / within.shape[1]:
            raise InvalidInput(
                f"{type(self).__name__}: vectors must vary within classes; those of each class are "
                f"all the same. Give classes whose pictures differ."
            )
        if self.shrinkage is None:
            own = float(ledoit_wolf_shrinkage(within, assume_centered=True))
            shrinkage = max(own, MIN_SHRINKAGE)
        else:
            shrinkage = float(self.shrinkage)
        shrunk = (1 - shrinkage) * (within.T @ within) / len(within)
        shrunk[np.diag_indices(len(shrunk))] += shrinkage * variance
        variances, directions = scipy.linalg.eigh(shrunk)
        if not variances[0] > 1e-10 * variances[-1]:
            raise InvalidInput(
                f"{type(self).__name__}: without shrinkage, pictures must vary within classes "
                f"along every axis; {len(codes)} pictures do not along {len(variances)}. Set "
                f"dimension to fewer, or shrinkage to None."
            )
        progress(2, 2)
        return rotated.map((directions / np.sqrt(variances)).T, shrinkage_=shrinkage)

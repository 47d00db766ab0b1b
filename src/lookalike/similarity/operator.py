"""Learn the operator of one kernel from triplets, and map pictures to what it compares.

A learned operator L (paper 5, Eq. 13) is finite on the span of the *landmarks*, some pictures x_i.
With K = UΛUᵀ their kernel values, φ(x) = Λ^{−½}Uᵀk(x) are coordinates there, where k(x) are the
kernel values of x and the landmarks: κ(x, y) = φ(x)·φ(y) if x or y is in the span, and close to it
otherwise (Nyström). L is then a matrix W, and S(x, y) = φ(x)ᵀWφ(y). With all training pictures as
landmarks, W is exactly what Algorithm 1 learns.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.checks import check_number
from lookalike.core.errors import InvalidInput
from lookalike.core.vectors import Vectors, unit_rows
from lookalike.similarity._fast import kernel as loops
from lookalike.similarity.kernels import Floats, Kernel, Pairs

MAX_EXACT = 4096
"""Pictures up to which all kernel values are kept while learning: thrice 64 MB."""

ROWS = 4096
"""Pictures whose kernel values are in memory at once otherwise."""

MIN_EIGENVALUE = 1e-6
"""Directions with less than this share of the largest eigenvalue are rounding."""

NEGATIVE = 1e-3
"""The share of the largest eigenvalue that negative ones may reach by rounding."""


def dense_rows(vectors: Vectors) -> Floats:
    """Return checked vectors as dense rows: kernels compare whole columns."""
    rows: Any = vectors.toarray() if sp.issparse(vectors) else vectors
    return np.ascontiguousarray(rows, dtype=np.float32)


@dataclass(frozen=True)
class Source:
    """What an operator compares: one kernel of one view, or the mean of several.

    Attributes
    ----------
    name : str
        Its name in weights and parts.
    view : str
    kernels : tuple of (slice, Kernel)
        The columns of each view, and its kernel.
    """

    name: str
    view: str
    kernels: tuple[tuple[slice, Kernel], ...]

    @property
    def is_local(self) -> bool:
        """Whether it compares what is near only: its kernels have a bandwidth."""
        return all(kernel.is_local for _, kernel in self.kernels)

    def fitted(self, who: str, X: Floats) -> "Source":
        """Return it with bandwidths for the training pictures."""
        fitted = tuple((at, kernel.fitted(who, X[:, at])) for at, kernel in self.kernels)
        return replace(self, kernels=fitted)

    def with_bandwidths(self, bandwidths: Sequence[float]) -> "Source":
        """Return it with the bandwidths of an earlier :meth:`fitted`."""
        kernels = tuple(
            (at, replace(kernel, bandwidth=check_number("kernel", "bandwidth", one)))
            for (at, kernel), one in zip(self.kernels, bandwidths, strict=True)
        )
        return replace(self, kernels=kernels)

    def square(self, who: str, X: Floats) -> Floats:
        """Return the kernel values of all pairs of rows, symmetric."""
        total = sum(kernel.square(who, X[:, at]) for at, kernel in self.kernels)
        return np.asarray(total / np.float32(len(self.kernels)), dtype=np.float32)


def views_in(sources: Sequence[Source]) -> list[slice]:
    """Return the columns of each view, once."""
    ends = {(at.start, at.stop) for source in sources for at, _ in source.kernels}
    return [slice(*one) for one in sorted(ends)]


def kernel_values(
    who: str, sources: Sequence[Source], X: Floats, landmarks: Floats
) -> dict[str, Floats]:
    """Return the kernel values of rows and landmarks by source.

    Kernels of the same view share what they are computed from.
    """
    pairs: dict[tuple[int, int], Pairs] = {}
    result = {}
    for source in sources:
        total = None
        for at, kernel in source.kernels:
            key = (at.start, at.stop)
            if key not in pairs:
                pairs[key] = Pairs(
                    np.ascontiguousarray(X[:, at]), np.ascontiguousarray(landmarks[:, at])
                )
            values = kernel.values(who, pairs[key])
            total = values if total is None else total + values
        if total is not None:
            result[source.name] = np.asarray(total / np.float32(len(source.kernels)), np.float32)
    return result


@dataclass(frozen=True)
class Coordinates:
    """The coordinates φ of training pictures, and the map to them.

    Attributes
    ----------
    map : ndarray of shape (landmarks, r)
        UΛ^{−½}: φ(x) = k(x) @ map.
    rows : ndarray of shape (n, r)
        φ of the training pictures.
    K : ndarray of shape (n, n) or None
        Their kernel values, where they fit.
    """

    map: Floats
    rows: Floats
    K: Floats | None

    @classmethod
    def of(cls, who: str, source: Source, X: Floats, chosen: NDArray[np.intp]) -> "Coordinates":
        """Return the coordinates of rows, by the landmarks ``chosen`` among them."""
        K = source.square(who, X) if len(X) <= MAX_EXACT else None
        own = source.square(who, X[chosen]) if K is None else K[np.ix_(chosen, chosen)]
        values, vectors = scipy.linalg.eigh(own.astype(np.float64))
        largest = max(float(values[-1]), 0.0)
        if float(values[0]) < -NEGATIVE * max(largest, float(np.finfo(np.float32).tiny)):
            raise InvalidInput(
                f"{who}: the kernel {source.name} must be positive definite; it has an eigenvalue "
                f"of {values[0]:.3g} beside {largest:.3g}."
            )
        is_kept = values > MIN_EIGENVALUE * largest
        roots = np.sqrt(values[is_kept])
        to = np.asarray(vectors[:, is_kept] / roots, dtype=np.float32)
        if K is not None and len(chosen) == len(X):
            rows = np.asarray(vectors[:, is_kept] * roots, dtype=np.float32)
        elif K is not None:
            rows = K[:, chosen] @ to
        else:
            parts = [
                kernel_values(who, [source], X[start : start + ROWS], X[chosen])[source.name] @ to
                for start in range(0, len(X), ROWS)
            ]
            rows = np.concatenate(parts)
        return cls(to, np.ascontiguousarray(rows), K)


def learn_operator(
    coordinates: Coordinates, triplets: NDArray[np.uint32], aggressiveness: float
) -> tuple[NDArray[np.float64], Floats]:
    """Return W after a step for each triplet, from the identity on, and the margins before each."""
    rows, K = coordinates.rows, coordinates.K
    if K is None:
        moved = np.eye(rows.shape[1], dtype=np.float32)
        margins = step_mapped(rows, moved, triplets, aggressiveness)
        return moved.astype(np.float64), margins
    A, margins = learn_coefficients(K, triplets, aggressiveness)
    phi = rows.astype(np.float64)
    W = np.eye(rows.shape[1]) + phi.T @ (A @ phi)
    return W, margins


def learn_coefficients(
    K: Floats, triplets: NDArray[np.uint32], aggressiveness: float
) -> tuple[Floats, Floats]:
    """Return the coefficients A of Algorithm 1, and the margin of each triplet before its step.

    S(q, p) = κ(q, p) + Σ_ij A_ij κ(q, x_i) κ(x_j, p), Eq. 19 gathered by pictures.
    """
    count = len(K)
    # An odd number of cache lines a row: columns then do not fall on the same few sets.
    width = 16 * (-(-count // 16) | 1)
    wide, A, B = (np.zeros((count, width), dtype=np.float32) for _ in range(3))
    wide[:, :count] = K
    margins = np.empty(len(triplets), dtype=np.float32)
    loops.kernel_steps(
        wide.reshape(-1),
        A.reshape(-1),
        B.reshape(-1),
        np.uint64(width),
        triplets,
        np.float32(aggressiveness),
        margins,
    )
    return np.ascontiguousarray(A[:, :count]), margins


def step_mapped(
    rows: Floats, W: Floats, triplets: NDArray[np.uint32], aggressiveness: float
) -> Floats:
    """Take a step for each triplet on W, in place; return the margins before each."""
    margins = np.empty(len(triplets), dtype=np.float32)
    width = rows.shape[1]
    loops.mapped_steps(
        np.ascontiguousarray(rows).reshape(-1),
        W.reshape(-1),
        np.uint64(width),
        triplets,
        np.float32(aggressiveness),
        margins,
        np.empty(width, dtype=np.float32),
    )
    return margins


def positive_root(W: NDArray[np.float64], blend: float) -> NDArray[np.float64]:
    """Return R with RRᵀ the positive part of W, to the power ``blend``; I at 0.

    The eigenvalues of W are those of K^½(K⁻¹ + A)K^½, so this is the projection onto the positive
    operators in the kernel's space.
    """
    values, vectors = scipy.linalg.eigh((W + W.T) / 2)
    return np.asarray(vectors * np.maximum(values, 0.0) ** (blend / 2))


@dataclass(frozen=True)
class Axes:
    """What is stored of pictures: the map from kernel values, its most important axes first.

    Attributes
    ----------
    map : ndarray of shape (landmarks, k)
        A stored vector is k(x) @ map, at unit length if normalised.
    turn : ndarray of shape (k, k) or None
        A query's vector is the stored one times this; None is the identity.
    spread : ndarray of shape (k,)
        The mean square of the training pictures on each axis.
    """

    map: Floats
    turn: Floats | None
    spread: NDArray[np.float64]

    @property
    def width(self) -> int:
        """The number of axes."""
        return int(self.map.shape[1])

    @classmethod
    def of(
        cls,
        coordinates: Coordinates,
        W: NDArray[np.float64] | None,
        blend: float | None,
        unit: bool,
    ) -> "Axes":
        """Return the axes of an operator: its root for a ``blend``, φ itself and W for None."""
        to, rows = coordinates.map.astype(np.float64), coordinates.rows.astype(np.float64)
        if blend is not None and W is not None:
            root = positive_root(W, blend)
            to, rows = to @ root, rows @ root
        if unit:
            rows = unit_rows(rows).astype(np.float64)
        values, vectors = scipy.linalg.eigh(rows.T @ rows / len(rows))
        values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
        turn = None
        if W is not None and blend is None:
            turn = np.asarray(vectors.T @ W @ vectors, dtype=np.float32)
        return cls(np.asarray(to @ vectors, dtype=np.float32), turn, values)

    def cut(self, count: int) -> "Axes":
        """Return the first axes only."""
        turn = None if self.turn is None else np.ascontiguousarray(self.turn[:count, :count])
        return Axes(np.ascontiguousarray(self.map[:, :count]), turn, self.spread[:count])


def cut_together(axes: Sequence[Axes], weights: NDArray[np.float64], most: int) -> list[Axes]:
    """Keep at most ``most`` axes of all operators together, as many of each as it weighs.

    What an operator with fewer axes leaves goes to the others. Axes without any spread are dropped.
    """
    spreads = [one.spread for one in axes]
    sizes = np.array([np.count_nonzero(it > 1e-9 * it.max(initial=0)) for it in spreads])
    kept = np.where(weights > 0, sizes, 0)
    if kept.sum() > most:
        # Shares rise until all together fill the room: the share of each is bounded by its size.
        low, high = float(most), 1e6 * most
        for _ in range(50):
            middle = (low + high) / 2
            fits = np.minimum(kept, np.floor(middle * weights)).sum() <= most
            low, high = (middle, high) if fits else (low, middle)
        kept = np.minimum(kept, np.floor(low * weights)).astype(int)
    return [one.cut(int(count)) for one, count in zip(axes, kept, strict=True)]


def choose_landmarks(X: Floats, most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the rows of at most ``most`` pictures that stand for all: those nearest to k means.

    Vectors count at unit length.
    """
    if len(X) <= most:
        return np.arange(len(X))
    # It takes long to be imported, and few learn from so many.
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.metrics import pairwise_distances_argmin

    units = unit_rows(X)
    result = MiniBatchKMeans(
        most,
        init="random",
        n_init=1,
        batch_size=max(4 * most, 1024),
        max_iter=5,
        random_state=int(rng.integers(2**31)),
    ).fit(units)
    nearest = np.unique(pairwise_distances_argmin(result.cluster_centers_, units))
    others = np.setdiff1d(np.arange(len(X)), nearest)
    # Several means may have the same nearest picture.
    more = rng.choice(others, most - len(nearest), replace=False)
    return np.sort(np.concatenate([nearest, more]))

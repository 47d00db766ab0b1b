"""Learn the metric nearest to the Euclidean that keeps pairs near and far (ITML)."""

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lookalike.core.checks import check_number, check_whole
from lookalike.core.progress import Progress
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import with_settings
from lookalike.core.vectors import Vectors
from lookalike.similarity._fast.itml import project
from lookalike.similarity.linear_map import LearnedMap, LinearMap, Matrix, Rotated


@with_settings
class ITML(LinearMap):
    """Information-theoretic metric learning: minimise D_ld(A, I) under constraints of pairs.

    With d_ij = (x_i − x_j)ᵀA(x_i − x_j), pairs of one class must have d ≤ u and pairs of two
    classes d ≥ l, with slack weighted by γ (Davis, Kulis, Jain, Sra and Dhillon, 2007, Eq. 6). The
    pairs are projected onto in turn, in closed form (Algorithm 1), so A stays positive definite.
    u and l are the 5th and the 95th percentile of the distances before learning.

    Memory O(nd + d²), time O(k²) per pair and pass, where k is the dimension learned on.

    Parameters
    ----------
    slack : float
        γ: the larger, the harder the constraints.
    pairs : int
        Pairs drawn, half of one class and half of two; the paper 5 makes two of each triplet.
    max_passes : int
        Maximum number of passes over the pairs.
    tolerance : float
        Stop when a pass changes the multipliers by less than this fraction.
    dimension : int or None
        Principal components kept before learning; None keeps all that the vectors span.
    random_state : int, Generator or None
        Makes a run repeatable.

    Attributes
    ----------
    components_ : ndarray of shape (k, d)
        The root of A after the principal axes; with ``dimension=None`` of shape (d, d), where A
        stays the identity outside the span of the training vectors.
    n_iter_ : int
        Passes used.

    Notes
    -----
    Departures: vectors are rotated to their span and scaled to a mean squared distance of 1, so
    that nothing depends on their unit.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.1, 5.0], [1.0, 0.0], [1.1, 5.0]]
    >>> learned = ITML(pairs=100, random_state=0).fit(X, ["left", "left", "right", "right"])
    >>> int(learned.scores([[0.0, 5.0]], X[:1] + X[3:]).argmax())
    0
    """

    name = "itml"
    _numbers: ClassVar[Mapping[str, type]] = {"n_iter_": int}

    slack: float = 1.0
    pairs: int = 20_000
    max_passes: int = 10
    tolerance: float = 1e-3
    dimension: int | None = None
    random_state: RandomState = None

    n_iter_: int = field(init=False)

    def _check_parameters(self) -> None:
        who = type(self).__name__
        check_number(who, "slack", self.slack)
        check_whole(who, "pairs", self.pairs, 2)
        check_whole(who, "max_passes", self.max_passes, 1)
        check_number(who, "tolerance", self.tolerance)
        if self.dimension is not None:
            check_whole(who, "dimension", self.dimension, 1)
        generator(self.random_state)

    def _rank(self, pictures: int) -> int | None:
        """Return how many principal components of so many pictures are kept; None for all."""
        return self.dimension

    def _learn(self, vectors: Vectors, codes: NDArray[np.int64], progress: Progress) -> LearnedMap:
        rng = generator(self.random_state)
        rank = self._rank(len(codes))
        rotated = Rotated.of(type(self).__name__, vectors, rank)
        Z = rotated.Z
        pairs, same = draw_pairs(codes, self.pairs, rng)
        differences = Z[pairs[:, 0]] - Z[pairs[:, 1]]
        distances = np.einsum("ij,ij->i", differences, differences)
        near, far = np.maximum(np.percentile(distances, [5, 95]), 1e-6)
        A, passes = metric(
            Z,
            pairs,
            same,
            near,
            far,
            slack=float(self.slack),
            max_passes=int(self.max_passes),
            tolerance=float(self.tolerance),
            progress=progress,
        )
        if rank is None:
            return rotated.whole(A, n_iter_=passes)
        values, axes = np.linalg.eigh((A + A.T) / 2)
        root = np.sqrt(np.maximum(values, 0))[:, None] * axes.T
        return rotated.map(root, n_iter_=passes)


def metric(
    Z: Matrix,
    pairs: NDArray[np.uint32],
    same: NDArray[np.bool_],
    near: float,
    far: float,
    *,
    slack: float,
    max_passes: int,
    tolerance: float,
    progress: Progress,
) -> tuple[Matrix, int]:
    """Return A after passes over the pairs, and their number."""
    A = np.eye(Z.shape[1])
    signs, bounds = np.where(same, 1.0, -1.0), np.where(same, near, far)
    duals, product = np.zeros(len(pairs)), np.empty(Z.shape[1])
    passes = 0
    for passes in range(1, max_passes + 1):
        changed = project(A, Z, pairs, signs, bounds, duals, slack, product)
        progress(passes, max_passes)
        if changed <= tolerance * max(float(np.abs(duals).sum()), 1e-12):
            progress(max_passes, max_passes)
            break
    return A, passes


def draw_pairs(
    codes: NDArray[np.int64], count: int, rng: np.random.Generator
) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """Draw pairs in turn of one class and of two; return their rows and which are of one class."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    starts = np.cumsum(sizes) - sizes
    places = np.empty(len(codes), dtype=np.int64)
    places[order] = np.arange(len(codes))
    same = np.arange(count) % 2 == 0
    several = np.flatnonzero(sizes[codes] > 1)
    first = np.where(same, rng.choice(several, count), rng.integers(len(codes), size=count))
    begin, size = starts[codes[first]], sizes[codes[first]]
    # Rows lie by class around a circle: the others of a class, or those after the class.
    near = (
        begin
        + (places[first] - begin + 1 + rng.integers(2**31, size=count) % (size - 1 + ~same)) % size
    )
    far = (begin + size + rng.integers(2**31, size=count) % (len(codes) - size)) % len(codes)
    second = order[np.where(same, near, far)]
    return np.stack([first, second], axis=1).astype(np.uint32), same

"""The base class of similarities that are a linear map: z = A (x − mean), then compare."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.stored import Arrays, Learned
from lookalike.core.threads import one_blas_thread
from lookalike.core.vectors import Vectors, dense, unit_rows
from lookalike.similarity.base import Formula, Similarity, stored_array, with_column
from lookalike.similarity.classes import class_codes

Matrix: TypeAlias = NDArray[np.float64]

MAX_VALUE = 1e18
"""The largest value of z whose square, summed over ten thousand columns, fits a float32."""


@dataclass(frozen=True)
class LearnedMap:
    """A learned map, and further learned numbers by attribute name."""

    components: Matrix
    mean: Matrix
    numbers: dict[str, float] = field(default_factory=dict)


class LinearMap(Similarity):
    """Compare z = A (x − mean) by Euclidean distance, or by cosine if ``_cosine`` is set.

    With Euclidean distance the item's vector is [z, −|z|²/2] and the query's [z, 1], whose inner
    product is (|z_q|² − |z_q − z_p|²) / 2: for each query it decreases with the distance, so it
    ranks as the distance does. With cosine both are z at unit length; a zero z stays zero.

    Memory and time of a call: O(nk) and O(ndk) for n pictures of d columns and A of k rows; nothing
    is copied to float64, and a CSR input is not made dense.

    Attributes
    ----------
    components_ : ndarray of shape (k, d), float32
        The map A.
    mean_ : ndarray of shape (d,), float32
        What is subtracted before the map.
    """

    _cosine: ClassVar[bool] = False
    _numbers: ClassVar[Mapping[str, type]] = {}

    components_: NDArray[np.float32]
    mean_: NDArray[np.float32]

    @one_blas_thread()
    def fit(
        self, X: ArrayLike | sp.spmatrix, y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Learn from vectors and one class label for each, as a sequence or a Relevance.

        At least two classes must have at least two pictures.
        """
        who = type(self).__name__
        vectors = self._given(X)
        codes = class_codes(who, y, vectors.shape[0])
        result = self._learn(vectors, codes, progress)
        with np.errstate(over="ignore"):
            components = np.ascontiguousarray(result.components, dtype=np.float32)
            mean = result.mean.astype(np.float32)
        if not np.isfinite(components).all() or not components.any():
            raise InvalidInput(
                f"{who}: vectors must have a scale that float32 can square; these vary too little "
                f"or too much. Multiply all vectors by a constant."
            )
        self._take(components, mean, result.numbers)
        return self

    @abstractmethod
    def _learn(self, vectors: Vectors, codes: NDArray[np.int64], progress: Progress) -> LearnedMap:
        """Return the map learned from vectors and the class number of each."""

    def stored_vectors(self, P: ArrayLike | sp.spmatrix) -> Vectors:
        """Return [z, −|z|²/2], or unit z, for pictures' vectors; dense."""
        z = self._map(P)
        return _unit(z) if self._cosine else distance_items(z)

    def query_vectors(self, Q: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return [z, 1], or unit z, for pictures' vectors."""
        z = self._map(Q)
        return _unit(z) if self._cosine else distance_queries(z)

    def formula(self) -> Formula:
        """Return the map, followed by cosine or Euclidean distance."""
        z = 'x @ f["components"].T - f["mean"] @ f["components"].T'
        arrays = {"components": self.components_, "mean": self.mean_}
        if self._cosine:
            scale = f"np.maximum(dot({z}, {z}), 1e-30) ** -0.5"
            return Formula(arrays, stored=z, scale=scale, query=z, query_scale=scale)
        half = f"-dot({z}, {z})[:, None] / 2"
        stored = f"np.hstack([{z}, {half}])"
        return Formula(arrays, stored=stored, query=f"np.hstack([{z}, np.ones((x.shape[0], 1))])")

    def _map(self, X: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        vectors = self._vectors(X)
        A = self.components_.T
        # A product that overflows float32 is an error below.
        with np.errstate(over="ignore", invalid="ignore"):
            if sp.issparse(vectors):
                z = vectors @ A - self.mean_ @ A
            else:
                z = (vectors - self.mean_) @ A
        mapped = np.ascontiguousarray(z, dtype=np.float32)
        moderate(type(self).__name__, mapped)
        return mapped

    def _take(
        self,
        components: NDArray[np.float32],
        mean: NDArray[np.float32],
        numbers: Mapping[str, float],
    ) -> None:
        self.components_ = components
        self.mean_ = mean
        self.n_features_in_ = int(components.shape[1])
        for name, kind in self._numbers.items():
            setattr(self, name, kind(numbers[name]))

    def _state(self) -> tuple[Arrays, Learned]:
        self._width()
        numbers = {name: getattr(self, name) for name in self._numbers}
        return {"components_": self.components_, "mean_": self.mean_}, numbers

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        components, mean = stored_array(arrays, "components_", 2), stored_array(arrays, "mean_", 1)
        if len(mean) != components.shape[1]:
            raise ValueError(f"mean_ has {len(mean)} columns; expected {components.shape[1]}.")
        self._take(components, mean, learned)


def distance_items(z: Vectors) -> Vectors:
    """Return [z, −|z|²/2], which ranks by distance to [z, 1]; dense or CSR as given."""
    # z was found to be moderate: its squares fit float32, whose sums take half the time.
    squares: Any = z.multiply(z).sum(axis=1) if sp.issparse(z) else np.einsum("ij,ij->i", z, z)
    return with_column(z, np.asarray(-0.5 * squares, dtype=np.float32).ravel())


def distance_queries(z: Vectors) -> NDArray[np.float32]:
    """Return [z, 1], dense."""
    queries = z.toarray() if sp.issparse(z) else z
    return np.hstack([queries, np.ones((len(queries), 1), dtype=np.float32)])


def moderate(who: str, z: Vectors) -> Vectors:
    """Return ``z`` if the squares of its values fit, or raise InvalidInput."""
    values = z.data if sp.issparse(z) else z
    if values.size and not float(np.abs(values).max()) <= MAX_VALUE:
        raise InvalidInput(
            f"{who}: vectors must map to values of at most {MAX_VALUE:g}, whose squares fit; got "
            f"larger. Divide all vectors by a constant."
        )
    return z


def _unit(z: NDArray[np.float32]) -> NDArray[np.float32]:
    units: NDArray[np.float32] = unit_rows(z)
    return units


@dataclass(frozen=True)
class Rotated:
    """Training vectors on their principal axes, scaled to a mean squared distance of 1.

    So a learner's settings do not depend on the vectors' unit, and it works on as many columns as
    the vectors span.
    """

    mean: Matrix
    axes: Matrix
    scale: float
    Z: Matrix

    @classmethod
    def of(cls, who: str, X: Vectors, dimension: int | None = None) -> Self:
        """Rotate vectors; keep all axes that they span, or the first ``dimension``."""
        mean, axes, rotated = principal_axes(who, X, dimension)
        scale = unit_spread(rotated)
        return cls(mean, axes, scale, np.ascontiguousarray(rotated * scale))

    def without_small_axes(self, share: float) -> Self:
        """Return it without the axes that deviate less than a share of the first."""
        lengths = np.linalg.norm(self.Z, axis=0)
        kept = int(np.count_nonzero(lengths >= share * lengths[0]))
        return replace(self, axes=self.axes[:kept], Z=np.ascontiguousarray(self.Z[:, :kept]))

    def map(self, A: Matrix, **numbers: float) -> LearnedMap:
        """Return the map of the original vectors for a map ``A`` of Z."""
        return LearnedMap(A @ self.axes * self.scale, self.mean, numbers)

    def whole(self, M: Matrix, **numbers: float) -> LearnedMap:
        """Return the (d, d) map whose square is M on the axes and the identity elsewhere.

        Gradient steps from the identity never change what the training vectors do not span, so
        there the metric stays the identity.
        """
        import scipy.linalg

        values, vectors = scipy.linalg.eigh((M + M.T) / 2)
        root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        inside = self.axes.T @ ((root - np.eye(len(root))) @ self.axes)
        inside[np.diag_indices(len(inside))] += 1
        return LearnedMap(inside * self.scale, self.mean, numbers)


def principal_axes(
    who: str, X: Vectors, dimension: int | None = None
) -> tuple[Matrix, Matrix, Matrix]:
    """Rotate vectors to their principal axes: all that they span, or the first ``dimension``.

    Memory O(nd), time O(nd·min(n, d)). Exact and repeatable; unlike scikit-learn's PCA it never
    chooses a randomised solver, and it drops axes without variance.

    Returns
    -------
    mean : ndarray of shape (d,)
    axes : ndarray of shape (k, d)
        Orthonormal rows, from the largest variance down.
    Z : ndarray of shape (n, k)
        ``(X − mean) @ axes.T``.
    """
    import scipy.linalg

    rows = dense(X)
    mean = rows.mean(axis=0)
    centred = rows - mean
    n, d = centred.shape
    if n <= d:
        _, deviations, axes = scipy.linalg.svd(centred, full_matrices=False)
    else:
        variances, vectors = scipy.linalg.eigh(centred.T @ centred)
        deviations, axes = np.sqrt(np.maximum(variances[::-1], 0)), vectors[:, ::-1].T
    # Variance below the rounding error of float32 input, before centring, counts as none.
    level = max(float(deviations[0]), float(np.linalg.norm(mean)) * n**0.5)
    noise = float(np.finfo(np.float32).eps) * level
    kept = int(np.count_nonzero(deviations > noise))
    if kept == 0:
        raise InvalidInput(f"{who}: vectors must differ; all {n} rows are the same.")
    chosen = np.ascontiguousarray(axes[: kept if dimension is None else min(dimension, kept)])
    return mean, chosen, centred @ chosen.T


def unit_spread(Z: Matrix) -> float:
    """Return the factor that scales centred rows to a mean squared distance of 1."""
    return float(1 / np.sqrt(2 * np.einsum("ij,ij->", Z, Z) / len(Z)))

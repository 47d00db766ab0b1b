"""What similarities that are a linear map have in common: z = A (x − mean), then compare."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.core.errors import InvalidInput
from lookalike.similarity.base import Similarity, Vectors

Matrix: TypeAlias = NDArray[np.float64]

LARGEST = 1e18
"""The largest value of z whose square, summed over ten thousand columns, fits a float32."""


class LinearMap(Similarity):
    """Compare z = A (x − mean) by Euclidean distance, or by cosine where ``_cosine`` says so.

    With Euclidean distance the item's vector is [z, −|z|²/2] and the query's [z, 1], whose inner
    product is (|z_q|² − |z_q − z_p|²) / 2: for each query it falls as the distance grows, so it
    ranks as the distance does. With cosine both are z at unit length; a zero z stays zero.

    Memory and time of a call: O(nk) and O(ndk) for n pictures of d columns, A of k rows; nothing
    is copied to float64, and a CSR input is not made dense.

    Attributes
    ----------
    components_ : ndarray of shape (k, d), float32
        The map A.
    mean_ : ndarray of shape (d,), float32
        What is taken off before the map.
    """

    _cosine: ClassVar[bool] = False

    components_: NDArray[np.float32]
    mean_: NDArray[np.float32]

    def item_vectors(self, P: ArrayLike | sp.spmatrix) -> Vectors:
        """Map pictures' vectors to what an index stores: [z, −|z|²/2], or unit z."""
        z = self._map(P)
        return _unit(z) if self._cosine else _beside(z, -0.5 * _squares(z))

    def query_vectors(self, Q: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Map pictures' vectors to what an index is asked with: [z, 1], or unit z."""
        z = self._map(Q)
        vectors = _unit(z) if self._cosine else _beside(z, np.ones(z.shape[0]))
        return vectors.toarray() if sp.issparse(vectors) else vectors

    def _map(self, X: ArrayLike | sp.spmatrix) -> Vectors:
        vectors = self._vectors(X)
        A = self.components_.T
        # A product that overflows float32 is refused below, by name.
        with np.errstate(over="ignore", invalid="ignore"):
            if sp.issparse(vectors):
                z = vectors @ A - self.mean_ @ A
            else:
                z = (vectors - self.mean_) @ A
        return self._moderate(np.ascontiguousarray(z, dtype=np.float32))

    def _moderate(self, z: Vectors) -> Vectors:
        values = z.data if sp.issparse(z) else z
        if values.size and not float(np.abs(values).max()) <= LARGEST:
            raise InvalidInput(
                f"{type(self).__name__}: vectors must map to values of at most {LARGEST:g}, whose "
                f"squares fit; got larger. Divide all vectors by a constant."
            )
        return z

    def _keep(self, components: Matrix, mean: Matrix) -> None:
        """Take a learned map, or refuse one that float32 cannot hold."""
        with np.errstate(over="ignore"):
            components32, mean32 = components.astype(np.float32), mean.astype(np.float32)
        if not np.isfinite(components32).all() or not components32.any():
            raise InvalidInput(
                f"{type(self).__name__}: vectors must be of a size float32 can square; these vary "
                f"too little or too much. Multiply all vectors by a constant."
            )
        self.components_ = np.ascontiguousarray(components32)
        self.mean_ = mean32
        self.n_features_in_ = int(components.shape[1])


def class_codes(who: str, y: Any, rows: int) -> NDArray[np.int64]:
    """Return one class number a row, from 0, or say what is wrong with the labels.

    At least two classes must have two rows or more.
    """
    if y is None or sp.issparse(y):
        came = "none" if y is None else "a sparse matrix"
        raise InvalidInput(f"{who}: y must be one class label for each row; got {came}.")
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise InvalidInput(f"{who}: y must be one class label for each row; {error}.") from error
    plain = labels.dtype.kind in "biufUS" or all(
        isinstance(label, str | bytes | int | np.integer) for label in labels.flat
    )
    if (
        labels.ndim != 1
        or not plain
        or (labels.dtype.kind == "f" and not np.isfinite(labels).all())
    ):
        raise InvalidInput(
            f"{who}: y must be one class label (text or a number) for each row; got {labels.dtype} "
            f"of shape {labels.shape}. It learns from classes only: for label sets, relevance or "
            f"triplets use OASIS."
        )
    if len(labels) != rows:
        raise InvalidInput(
            f"{who}: y must have a label for each of {rows} rows; got {len(labels)}."
        )
    try:
        _, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError as error:
        raise InvalidInput(f"{who}: y must not mix text and numbers; {error}.") from error
    if np.count_nonzero(counts > 1) < 2:
        raise InvalidInput(
            f"{who}: y must have two classes or more of two rows or more; got {len(counts)} "
            f"classes, the largest of {counts.max(initial=0)} rows. Label more pictures."
        )
    return codes.astype(np.int64)


def check_whole(who: str, name: str, value: Any, least: int) -> int:
    """Return ``value`` as a whole number from ``least``, or say what is wrong with it."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise InvalidInput(f"{who}: {name} must be a whole number from {least}; got {value!r}.")
    return int(value)


def check_number(who: str, name: str, value: Any, below: float = np.inf) -> float:
    """Return ``value`` as a number above 0 and below ``below``, or say what is wrong with it."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0 < value < below:
        limit = "" if below == np.inf else f" and below {below:g}"
        raise InvalidInput(f"{who}: {name} must be above 0{limit} and finite; got {value!r}.")
    return float(value)


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
    dense = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
    mean = dense.mean(axis=0)
    centred = dense - mean
    n, d = centred.shape
    if n <= d:
        _, deviations, axes = scipy.linalg.svd(centred, full_matrices=False)
    else:
        variances, vectors = scipy.linalg.eigh(centred.T @ centred)
        deviations, axes = np.sqrt(np.maximum(variances[::-1], 0)), vectors[:, ::-1].T
    # What is below the rounding of float32 input, before centring, is no variance.
    level = max(float(deviations[0]), float(np.linalg.norm(mean)) * n**0.5)
    noise = float(np.finfo(np.float32).eps) * level
    kept = int(np.count_nonzero(deviations > noise))
    if kept == 0:
        raise InvalidInput(f"{who}: vectors must differ; all {n} rows are the same.")
    chosen = np.ascontiguousarray(axes[: kept if dimension is None else min(dimension, kept)])
    return mean, chosen, centred @ chosen.T


def unit_spread(Z: Matrix) -> float:
    """Return the number that brings centred rows to a mean squared distance of 1 between pairs."""
    return float(1 / np.sqrt(2 * np.einsum("ij,ij->", Z, Z) / len(Z)))


MEMORY = 5
"""How many losses back a step of :func:`descend` may rise to."""

Objective: TypeAlias = Callable[[Matrix], tuple[float, Matrix]]


def descend(
    objective: Objective, M: Matrix, *, step: float, iterations: int, tolerance: float
) -> tuple[Matrix, float, int, bool]:
    """Minimise a convex function over positive semidefinite matrices by projected gradient.

    M ← Π(M − step · G), where Π sets negative eigenvalues to zero. The step is Barzilai and
    Borwein's, <S, S> / <S, Y> of the last change S of M and Y of G, and is quartered while the
    loss would rise above the largest of the last few (Birgin, Martínez and Raydan, 2000). Each
    iteration is one evaluation and one eigendecomposition, O(k³).

    Returns
    -------
    M : ndarray
        The best found: its loss is never above that of the start.
    step : float
        Where to go on from.
    used : int
        Evaluations after the first.
    converged : bool
        Whether the last few steps together lowered the loss by less than ``tolerance`` of it.
    """
    here, pace = M, step
    loss, G = objective(here)
    best, least = here, loss
    recent, lows = [loss] * MEMORY, [loss] * MEMORY
    for used in range(1, iterations + 1):
        candidate = positive_part(here - pace * G)
        new_loss, new_G = objective(candidate)
        if new_loss <= max(recent[-MEMORY:]):
            S, Y = candidate - here, new_G - G
            curvature = float(np.vdot(S, Y))
            pace = float(np.vdot(S, S)) / curvature if curvature > 0 else 2 * pace
            here, G = candidate, new_G
            recent.append(new_loss)
            if new_loss < least:
                best, least = candidate, new_loss
        else:
            pace /= 4
        lows.append(least)
        if used >= MEMORY and lows[-1 - MEMORY] - least <= tolerance * abs(least):
            return best, pace, used, True
    return best, pace, iterations, False


def positive_part(M: Matrix) -> Matrix:
    """Project a symmetric matrix to the positive semidefinite ones."""
    values, vectors = scipy.linalg.eigh((M + M.T) / 2)
    # The smaller side is rebuilt, which is often a few columns.
    positive = values > 0
    if np.count_nonzero(positive) * 2 > len(values):
        return (M + M.T) / 2 - (vectors[:, ~positive] * values[~positive]) @ vectors[:, ~positive].T
    return (vectors[:, positive] * values[positive]) @ vectors[:, positive].T


def whole_map(M: Matrix, axes: Matrix) -> Matrix:
    """Return the (d, d) map whose square is M on ``axes`` and the identity on what they leave out.

    Gradient steps from the identity never reach what the training vectors do not span, so there
    the metric stays as it began.
    """
    values, vectors = scipy.linalg.eigh((M + M.T) / 2)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    inside = axes.T @ ((root - np.eye(len(root))) @ axes)
    inside[np.diag_indices(len(inside))] += 1
    return inside


def _squares(z: Vectors) -> Matrix:
    squared = z.multiply(z).sum(axis=1) if sp.issparse(z) else np.einsum("ij,ij->i", z, z)
    return np.asarray(squared, dtype=np.float64).ravel()


def _beside(z: Vectors, column: Matrix) -> Vectors:
    last = column.astype(np.float32)[:, None]
    if sp.issparse(z):
        return sp.csr_matrix(sp.hstack([sp.csr_matrix(z), sp.csr_matrix(last)], format="csr"))
    return np.hstack([z, last])


def _unit(z: Vectors) -> Vectors:
    lengths = np.sqrt(_squares(z))
    shrink = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if sp.issparse(z):
        return sp.csr_matrix(sp.diags(shrink.astype(np.float32)) @ z)
    return z * shrink.astype(np.float32)[:, None]

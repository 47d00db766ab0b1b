"""The base classes of encoders: vectors to packed bits, whatever the batch."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.core.codes import check_bits, code_bytes
from lookalike.core.errors import InvalidInput, NotFitted
from lookalike.core.estimator import Estimator
from lookalike.core.fingerprint import fingerprint
from lookalike.core.progress import Progress, silent
from lookalike.core.stored import Arrays, Learned, Stored
from lookalike.core.threads import one_blas_thread
from lookalike.core.vectors import Vectors, check_vectors
from lookalike.supervision import Relevance

Matrix = NDArray[np.float64]

_ROWS, _NUMBERS = 4096, 1 << 22
"""Rows that are encoded at once, and the numbers they have at most: sparse ones are wide."""

# Rounding, which depends on the block a row stands in and on the processor, moves a value by less
# than the first part of its summands in float32, and the second in float64.
_UNSURE, _ZERO = 2e-5, 1e-12

LEARNED = 100_000
"""Rows that linear maps are learned from at most."""


class Encoder(Stored, Estimator):
    """Turn vectors into binary codes: a bit is 1 where its value is above 0.

    A subclass learns in ``_learn`` and implements ``_values``.

    Attributes
    ----------
    name : str
        The encoder's name in the registry and in files.
    needs_labels : bool
        Whether ``fit`` needs to know which pictures are similar.
    bits : int
        The length of a code.
    n_features_in_ : int
        The width of the vectors.
    """

    needs_labels: ClassVar[bool] = False

    bits: int
    n_features_in_: int

    @one_blas_thread()
    def fit(
        self, X: ArrayLike | sp.spmatrix, y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Learn from vectors and, where ``needs_labels``, from labels.

        Parameters
        ----------
        y : labels, sets of labels or Relevance
            The labels of each picture; ignored where they are not needed.
        X, progress
            As for :meth:`lookalike.similarity.base.Similarity.fit`.
        """
        who = type(self).__name__
        check_bits(who, self.bits)
        self._check_parameters()
        vectors = check_vectors(who, X)
        if vectors.shape[0] < 2:
            raise InvalidInput(f"{who}: X must have at least 2 rows; got {vectors.shape[0]}.")
        has = self._labels(y, int(vectors.shape[0])) if self.needs_labels else None
        self._learn(vectors, has, progress)
        self.n_features_in_ = int(vectors.shape[1])
        return self

    def encode(self, X: ArrayLike | sp.spmatrix) -> NDArray[np.uint8]:
        """Return packed codes, of shape (n, bytes); a row's code does not depend on the others.

        Bits are packed as by ``numpy.packbits``: they are the signs of :meth:`values`.
        """
        if not hasattr(self, "n_features_in_"):
            raise NotFitted(f"{type(self).__name__} is not fitted; call fit first.")
        vectors = check_vectors(type(self).__name__, X, width=self.n_features_in_, alone=True)
        codes = np.empty((int(vectors.shape[0]), code_bytes(self.bits)), np.uint8)
        for some in self._blocks(len(codes)):
            codes[some] = np.packbits(self._certain_values(vectors[some]) > 0, axis=1)
        return codes

    def values(self, X: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the value of each bit, of shape (n, bits), up to rounding: above 0 it is 1.

        Its sign does not depend on the other rows, nor on the processor.
        """
        if not hasattr(self, "n_features_in_"):
            raise NotFitted(f"{type(self).__name__} is not fitted; call fit first.")
        vectors = check_vectors(type(self).__name__, X, width=self.n_features_in_, alone=True)
        values = np.empty((int(vectors.shape[0]), self.bits), np.float32)
        for some in self._blocks(len(values)):
            values[some] = self._certain_values(vectors[some])
        return values

    def _blocks(self, rows: int) -> list[slice]:
        step = min(_ROWS, max(1, _NUMBERS // self.n_features_in_))
        return [slice(first, first + step) for first in range(0, rows, step)]

    def _certain_values(self, some: Vectors) -> NDArray[np.float32]:
        """Return values whose signs can be relied on: those near 0 are computed in float64.

        What is still as near to 0 as rounding comes is 0.
        """
        rows = some if isinstance(some, np.ndarray) else some.toarray()
        values, sums = self._values(rows)
        unsure = (np.abs(values) <= _UNSURE * sums).any(axis=1)
        exact, sums = self._values(rows[unsure].astype(np.float64))
        values[unsure] = np.where(np.abs(exact) <= _ZERO * sums, 0.0, exact)
        return values

    @property
    def fingerprint(self) -> str:
        """A hash of the fitted encoder: codes of two encoders are never to be compared."""
        arrays, learned = self._state()
        return fingerprint({"kind": self.file_kind, "bits": int(self.bits), **learned}, arrays)

    @abstractmethod
    def _learn(self, vectors: Vectors, has: Any, progress: Progress) -> None:
        """Learn from checked vectors and, where needed, a matrix of ones: pictures × labels."""

    @abstractmethod
    def _values(self, block: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return a value for each bit of the vectors of a block, of shape (rows, bits).

        They are computed in the block's precision, float32 or float64. The second array says what
        the summands of each value come to at most without their signs, for rounding grows with it.
        """

    def _labels(self, y: Any, rows: int) -> sp.csr_matrix:
        who = type(self).__name__
        if y is None:
            raise InvalidInput(f"{who}: y must be the labels of each row; got none.")
        return label_matrix(who, y, rows)


def label_matrix(who: str, y: Any, rows: int) -> sp.csr_matrix:
    """Return ones where a picture has a label, or raise InvalidInput; two labels at least."""
    relevance = Relevance.of(y, rows)
    if relevance.labels_ is None:
        raise InvalidInput(f"{who}: y must be labels; got pairs of pictures.")
    links = relevance.links
    has = sp.csr_matrix((np.ones(links.nnz), links.indices, links.indptr), shape=links.shape)
    if np.count_nonzero(has.getnnz(axis=0)) < 2:
        raise InvalidInput(f"{who}: y must have at least two labels. Label more pictures.")
    return has


class LinearEncoder(Encoder):
    """An encoder whose values are linear: A (x − mean).

    Attributes
    ----------
    components_ : float32 array of shape (bits, d)
        The rows of A.
    mean_ : float32 array of shape (d,)
    """

    components_: NDArray[np.float32]
    mean_: NDArray[np.float32]

    def _values(self, block: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        centred = block - self.mean_
        return centred @ self.components_.T, lengths_product(centred, self.components_)

    def _set(self, directions: Matrix, mean: Matrix) -> None:
        """Set the map x ↦ directions · (x − mean)."""
        self.components_ = np.ascontiguousarray(directions, np.float32)
        self.mean_ = mean.astype(np.float32)

    def _state(self) -> tuple[Arrays, Learned]:
        if not hasattr(self, "components_"):
            raise NotFitted(f"{type(self).__name__} is not fitted; call fit first.")
        return {"components": self.components_, "mean": self.mean_}, {}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        check_bits(type(self).__name__, self.bits)
        self.components_ = stored_array(arrays, "components", (self.bits, None))
        self.n_features_in_ = int(self.components_.shape[1])
        self.mean_ = stored_array(arrays, "mean", (self.n_features_in_,))


def lengths_product(rows: NDArray[Any], directions: NDArray[Any]) -> NDArray[Any]:
    """Return the product of the lengths of each row and each direction: |x · a| is no more."""
    product: NDArray[Any] = np.outer(
        np.linalg.norm(rows, axis=1), np.linalg.norm(directions, axis=1)
    )
    return product


def stored_array(arrays: Arrays, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float32]:
    """Return an array of a file, or raise ValueError if it is not as it has to be."""
    array = arrays[name]
    fits = array.ndim == len(shape) and all(
        wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.float32 or not fits or not array.size or not np.isfinite(array).all():
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}")
    return array


def centred(vectors: Vectors, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Return vectors less their mean, and the mean; of very many, 100,000 drawn at random."""
    some = vectors
    if vectors.shape[0] > LEARNED:
        some = vectors[np.sort(rng.choice(vectors.shape[0], LEARNED, replace=False))]
    rows = np.asarray(some if isinstance(some, np.ndarray) else some.toarray(), np.float64)
    mean = rows.mean(axis=0)
    return rows - mean, mean


def ridge_map(rows: Matrix, products: Matrix, regularisation: float) -> Matrix:
    """Return the A that minimises Σ |A x − t|² + λ |A|² over centred rows X, with XᵀT given.

    λ is relative to the mean squared length of the rows.
    """
    gram = rows.T @ rows
    gram[np.diag_indices_from(gram)] += regularisation * np.trace(gram) / len(rows)
    return np.asarray(np.linalg.lstsq(gram, products, rcond=None)[0].T, np.float64)


def principal(rows: Matrix, most: int) -> Matrix:
    """Return the principal directions of centred rows as columns, at most this many."""
    values, directions = np.linalg.eigh(rows.T @ rows)
    is_kept = values > max(values[-1], 0.0) * 1e-10
    directions = directions[:, is_kept][:, ::-1][:, :most]
    if not directions.shape[1]:
        raise InvalidInput("codes cannot be learned from vectors that are all the same.")
    # The sign of an eigenvector is arbitrary; a fixed one makes runs repeatable.
    largest = np.abs(directions).argmax(axis=0)
    signed: Matrix = directions * np.sign(directions[largest, np.arange(directions.shape[1])])
    return signed

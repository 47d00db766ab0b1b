"""The base class of similarities, and the checks of their input."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput, NotFitted
from lookalike.core.estimator import Estimator
from lookalike.core.progress import Progress, silent
from lookalike.core.stored import Arrays, Stored
from lookalike.core.vectors import Vectors, check_vectors
from lookalike.similarity.registry import learning_from


@dataclass(frozen=True)
class Formula:
    """A similarity as arrays and NumPy expressions, for use without lookalike.

    Each text is an expression of ``x``, vectors in rows (an array or a CSR matrix), the arrays
    ``f`` and ``dot(x, y)``, the inner products of rows.

    Attributes
    ----------
    arrays : dict of str to ndarray
    stored, scale : str
        The stored vectors of items, one row each, and the factor of each item's scores.
    asked, asked_scale : str
        The same for queries.
    """

    arrays: dict[str, NDArray[np.float32]]
    stored: str = "x"
    scale: str = "np.ones(x.shape[0])"
    query: str = "x"
    query_scale: str = "np.ones(x.shape[0])"


class Similarity(Stored, Estimator):
    """Score a query against items by an inner product; learning changes the query's side.

    A subclass learns in :meth:`fit` and transforms queries in :meth:`query_vectors`. An index
    stores :meth:`stored_vectors`, which change only when a model is published, and multiplies
    scores by :meth:`item_scales`, one number per item, which changes with learning. Larger scores
    mean more similar.

    Attributes
    ----------
    name : str
        The similarity's name in the registry, on the command line and in files.
    learns_from : tuple of str
        What it learns from, among "classes" (one label per picture), "labels" (several per
        picture), "relevance" (weighted pairs, as from clicks) and "triplets".
    index_kind : str or None
        The index for its stored vectors, by its name in the registry; None for any.
    n_features_in_ : int
        The width of the vectors it was fitted on.
    """

    learns_from: ClassVar[tuple[str, ...]] = ("classes",)
    index_kind: ClassVar[str | None] = None

    n_features_in_: int

    @abstractmethod
    def fit(
        self, X: ArrayLike | sp.spmatrix, y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Learn from vectors and which of them are similar.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            One row per picture.
        y : labels, sets of labels, sparse relevance matrix or Relevance
            Which pictures are similar; ``learns_from`` lists what is accepted.
        progress : callable
            Called with the work done and the total.
        """

    def fit_as(
        self, other: Self, X: ArrayLike | sp.spmatrix, y: Any, *, progress: Progress = silent
    ) -> Self:
        """Learn with what another chose on pictures held out from it; by default, choose anew."""
        return self.fit(X, y, progress=progress)

    def fit_triplets(
        self, X: ArrayLike | sp.spmatrix, triplets: ArrayLike, *, progress: Progress = silent
    ) -> Self:
        """Learn from explicit triplets, rows of (image, more similar, less similar).

        Raises
        ------
        InvalidInput
            If it does not learn from triplets; the message names those that do.
        """
        raise self._no_triplets()

    def partial_fit(self, X: ArrayLike | sp.spmatrix, triplets: ArrayLike) -> Self:
        """Continue from the current similarity, one step for each triplet, in order.

        Raises
        ------
        InvalidInput
            If it does not learn from triplets; the message names those that do.
        """
        raise self._no_triplets()

    def stored_vectors(self, P: ArrayLike | sp.spmatrix) -> Vectors:
        """Return the vectors that an index stores for pictures; by default ``P`` itself.

        They change only when a model is published. They may have another width, and be dense
        where ``P`` is sparse.
        """
        return self._vectors(P)

    def item_scales(self, P: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the factor of each item's scores, which changes with learning; by default 1.

        ``P`` are the pictures' own vectors, not the stored ones.
        """
        return np.ones(self._vectors(P).shape[0], dtype=np.float32)

    @abstractmethod
    def query_vectors(self, Q: ArrayLike | sp.spmatrix) -> Vectors:
        """Return the vectors with which an index is searched for pictures."""

    def item_vectors(self, P: ArrayLike | sp.spmatrix) -> Vectors:
        """Return the stored vectors, each multiplied by its item's scale."""
        stored = self.stored_vectors(P)
        if type(self).item_scales is Similarity.item_scales:
            return stored
        scales = self.item_scales(P)
        return stored if (scales == 1).all() else scaled_rows(stored, scales)

    def scores(self, Q: ArrayLike | sp.spmatrix, P: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the score of each row of ``Q`` with each row of ``P``; larger is more similar."""
        query_vectors, items = self.query_vectors(Q), self.item_vectors(P)
        queries = query_vectors.toarray() if sp.issparse(query_vectors) else query_vectors
        products = (items @ queries.T).T if sp.issparse(items) else queries @ items.T
        return np.ascontiguousarray(products, dtype=np.float32)

    def parts(
        self, q: ArrayLike | sp.spmatrix, p: ArrayLike | sp.spmatrix
    ) -> dict[str, NDArray[np.float32]]:
        """Return the parts of the scores by name, each of shape (rows of q, rows of p).

        They sum to :meth:`scores`. By default there is one, under the similarity's own name.
        """
        return {self.name: self.scores(q, p)}

    def view_parts(
        self, q: ArrayLike | sp.spmatrix, p: ArrayLike | sp.spmatrix
    ) -> dict[str, NDArray[np.float32]]:
        """Return the parts of the scores by view, as :meth:`parts`; by default there are none."""
        return {}

    @property
    def view_weights_(self) -> dict[str, float]:
        """The share of each view in the scores; by default there are none."""
        return {}

    def reach(self, Q: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the share of what was learned that each query uses: 1, or 0 if nothing was."""
        return np.full(self._vectors(Q).shape[0], float(self.learned), dtype=np.float32)

    def formula(self) -> Formula:
        """Return the similarity as a formula, or raise InvalidInput if it has none."""
        raise InvalidInput(f"{type(self).__name__} cannot be written as a formula of arrays.")

    @property
    def learned(self) -> bool:
        """Whether it may rank unit vectors differently from their cosine."""
        self._width()
        return True

    def _width(self) -> int | None:
        """Return the width set by ``fit``, or None if any is accepted; raise NotFitted before."""
        if not hasattr(self, "n_features_in_"):
            raise NotFitted(f"{type(self).__name__} is not fitted; call fit first.")
        return self.n_features_in_

    def _given(self, X: ArrayLike | sp.spmatrix) -> Vectors:
        """Return vectors to learn from, or raise InvalidInput; also if a parameter is not valid."""
        self._check_parameters()
        return check_vectors(type(self).__name__, X)

    def _vectors(self, X: ArrayLike | sp.spmatrix) -> Vectors:
        """Return checked vectors of the width set by ``fit``."""
        return check_vectors(type(self).__name__, X, width=self._width())

    def _no_triplets(self) -> InvalidInput:
        source = f"from {' and '.join(self.learns_from)} only" if self.learns_from else "nothing"
        return InvalidInput(
            f"{type(self).__name__} learns {source} and does not accept triplets. "
            f"Choose one that learns from triplets: {', '.join(learning_from('triplets'))}."
        )


def scaled_rows(vectors: Vectors, scales: NDArray[np.floating]) -> Vectors:
    """Return each row multiplied by a number, dense or CSR as given."""
    if sp.issparse(vectors):
        products = vectors.data * np.repeat(scales, np.diff(vectors.indptr))
        values = products.astype(np.float32, copy=False)
        return sp.csr_matrix((values, vectors.indices, vectors.indptr), shape=vectors.shape)
    return np.ascontiguousarray(vectors * scales[:, None], dtype=np.float32)


def with_column(vectors: Vectors, column: NDArray[np.float32]) -> Vectors:
    """Return vectors with one more column, dense or CSR as given."""
    last = column[:, None]
    if sp.issparse(vectors):
        return sp.csr_matrix(sp.hstack([vectors, sp.csr_matrix(last)]), dtype=np.float32)
    return np.hstack([vectors, last])


def stored_array(arrays: Arrays, name: str, dimensions: int) -> NDArray[np.float32]:
    """Return an array from a file, or raise ValueError if it is not valid."""
    array = arrays[name]
    if array.dtype != np.float32 or array.ndim != dimensions or not array.size:
        raise ValueError(f"{name} is {array.dtype} of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} is not finite.")
    return array


def check_triplets(who: str, triplets: ArrayLike, rows: int) -> NDArray[np.uint32]:
    """Return triplets as (m, 3) row numbers below ``rows``, or raise InvalidInput."""
    array = np.asarray(triplets)
    if array.ndim != 2 or array.shape[1] != 3 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidInput(
            f"{who}: triplets must be whole numbers of shape (m, 3): image, more similar, less "
            f"similar; got {array.dtype} of shape {array.shape}."
        )
    if array.size and (array.min() < 0 or array.max() >= rows):
        raise InvalidInput(
            f"{who}: triplets must be rows from 0 to {rows - 1}; "
            f"got {array.min()} to {array.max()}."
        )
    return np.ascontiguousarray(array, dtype=np.uint32)

"""What every similarity offers, and how it checks what it is given."""

from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from lookalike.core.errors import InvalidInput, NotFitted

Vectors: TypeAlias = NDArray[np.float32] | sp.csr_matrix
"""Checked vectors, a row a picture: C-contiguous float32, or CSR with sorted float32 rows."""


class Similarity(BaseEstimator):
    """Score a query against items by an inner product, learning on the query's side.

    A subclass learns in ``fit`` and offers ``item_vectors`` and ``query_vectors``;
    ``scores(Q, P)`` is their inner products. Larger is more alike.
    """

    n_features_in_: int

    def fit(self, X: ArrayLike | sp.spmatrix, y: Any = None) -> Self:
        """Learn from vectors and what is alike among them."""
        raise NotImplementedError

    def item_vectors(self, P: ArrayLike | sp.spmatrix) -> Vectors:
        """Turn pictures' vectors into what an index stores."""
        raise NotImplementedError

    def query_vectors(self, Q: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Turn pictures' vectors into what an index is asked with."""
        raise NotImplementedError

    def scores(self, Q: ArrayLike | sp.spmatrix, P: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Score each row of ``Q`` against each row of ``P``; larger is more alike."""
        queries = self.query_vectors(Q)
        items = self.item_vectors(P)
        products = (items @ queries.T).T if sp.issparse(items) else queries @ items.T
        return np.ascontiguousarray(products, dtype=np.float32)

    def _vectors(self, X: ArrayLike | sp.spmatrix) -> Vectors:
        """Check vectors against the width learned by ``fit``."""
        who = type(self).__name__
        if not hasattr(self, "n_features_in_"):
            raise NotFitted(f"{who} has not learned yet; call fit first.")
        return check_vectors(who, X, width=self.n_features_in_)


def check_vectors(who: str, X: ArrayLike | sp.spmatrix, *, width: int | None = None) -> Vectors:
    """Return ``X`` as finite float32 rows, dense or CSR, or say what is wrong with it."""
    given: Any = X
    is_sparse: bool = sp.issparse(given)
    if is_sparse:
        matrix = sp.csr_matrix(given, dtype=np.float32)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        values: NDArray[np.float32] = matrix.data
        checked: Vectors = matrix
    else:
        try:
            dense = np.ascontiguousarray(given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{who}: vectors must be numbers in rows; {error}.") from error
        values, checked = dense, dense
    if checked.ndim != 2 or checked.shape[1] == 0:
        raise InvalidInput(
            f"{who}: vectors must be a matrix with a row a picture; got the shape {checked.shape}."
        )
    if width is not None and checked.shape[1] != width:
        raise InvalidInput(
            f"{who}: vectors must have the {width} columns it learned with; got {checked.shape[1]}."
        )
    if not np.isfinite(values).all():
        raise InvalidInput(
            f"{who}: vectors must be finite; got NaN or infinity. Remove those rows first."
        )
    return checked


def check_triplets(who: str, triplets: ArrayLike, rows: int) -> NDArray[np.uint32]:
    """Return triplets as (m, 3) row numbers below ``rows``, or say what is wrong with them."""
    array = np.asarray(triplets)
    if array.ndim != 2 or array.shape[1] != 3 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidInput(
            f"{who}: triplets must be whole numbers of shape (m, 3): image, more alike, less "
            f"alike; got {array.dtype} of shape {array.shape}."
        )
    if array.size and (array.min() < 0 or array.max() >= rows):
        raise InvalidInput(
            f"{who}: triplets must name rows from 0 to {rows - 1}; "
            f"got {array.min()} to {array.max()}."
        )
    return np.ascontiguousarray(array, dtype=np.uint32)

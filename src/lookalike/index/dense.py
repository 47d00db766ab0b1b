"""Exact search among dense vectors: one scan of memory a query."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.core.errors import InvalidInput
from lookalike.index._fast.dense import offer_block
from lookalike.index.base import Index, Matrix, State, checked_dense
from lookalike.index.growing import GrowingArray

# A product uses all cores and is bound by memory: eight at once got a quarter of the searches
# done that one after the other did.
_PRODUCT = Lock()

_QUERIES = 256
_PRODUCTS = 1 << 20

# Half a megabyte: what is gathered stays in the cache of a core until it has been multiplied.
_GATHERED = 1 << 17


@dataclass(frozen=True)
class DenseRows:
    """Vectors and their lengths."""

    vectors: GrowingArray[np.float32]
    lengths: GrowingArray[np.float64]

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> Self:
        """Start with checked vectors."""
        return cls(GrowingArray(vectors), GrowingArray(_lengths(vectors)))

    def __len__(self) -> int:
        return len(self.vectors)

    def extended(self, new: NDArray[np.float32]) -> Self:
        """Append checked vectors."""
        return type(self)(self.vectors.extended(new), self.lengths.extended(_lengths(new)))

    def kept(self, mask: NDArray[np.bool_]) -> Self:
        """Keep those where ``mask`` holds."""
        return type(self)(self.vectors.kept(mask), self.lengths.kept(mask))


class DenseIndex(Index[DenseRows]):
    """Exact top-k by inner product over dense vectors.

    A matrix product gives rough scores, block by block; what its rounding error might hide is
    summed again in float64 (a few hundred of 100,000 pictures). So the answer is exact, equal
    pictures tie and go by id, and memory beyond the vectors stays at a few megabytes.

    A search among up to half of the pictures gathers their rows, a small block at a time, and
    costs about their share of a search among all; among more, it scans all and passes some over.

    Parameters
    ----------
    dimension : int
        The length of every vector.
    fingerprint : str
        The fingerprint of the feature the vectors come from.

    Examples
    --------
    >>> index = DenseIndex(2)
    >>> index.add([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    array([0, 1, 2])
    >>> index.search([1.0, 0.1], k=2).ids
    array([[0, 2]])
    """

    kind = "dense_index/1"

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors in the order of ``ids``; read-only."""
        return self._state.rows.vectors.rows

    def vector(self, number: int) -> NDArray[np.float32]:
        """Return the vector with an id; read-only."""
        state = self._state
        found: NDArray[np.float32] = state.rows.vectors.rows[self._row_of(state, number)]
        return found

    def _checked(self, vectors: Matrix) -> NDArray[np.float32]:
        if isinstance(vectors, sp.spmatrix | sp.sparray):
            raise InvalidInput(
                "DenseIndex: vectors must be dense; got a sparse matrix. Use a SparseIndex."
            )
        return checked_dense("DenseIndex", vectors, self.dimension)

    def _checked_queries(self, queries: Matrix) -> NDArray[np.float32]:
        return self._checked(queries)

    def _rows(self, checked: NDArray[np.float32]) -> DenseRows:
        return DenseRows.of(checked)

    def _offer(
        self,
        state: State[DenseRows],
        chosen: NDArray[np.intp] | None,
        queries: NDArray[np.float32],
        excluded: NDArray[np.int64],
        scores: NDArray[np.float32],
        ids: NDArray[np.int64],
    ) -> None:
        names, gathered = state.ids.rows, chosen
        if chosen is not None and 2 * len(chosen) > len(names):
            # Passing over the others is quicker then than gathering so many.
            names, gathered = np.full(len(names), -1), None
            names[chosen] = state.ids.rows[chosen]
        for first in range(0, len(queries), _QUERIES):
            some = slice(first, first + _QUERIES)
            step = _PRODUCTS // len(queries[some])
            if gathered is not None:
                step = min(step, max(_GATHERED // self.dimension, 1))
            for start in range(0, len(names if gathered is None else gathered), step):
                within = slice(start, start + step)
                block = within if gathered is None else gathered[within]
                vectors = state.rows.vectors.rows[block]
                ignored = np.errstate(over="ignore", invalid="ignore", under="ignore")
                with _PRODUCT, ignored:
                    products = queries[some] @ vectors.T
                offer_block(
                    products,
                    queries[some],
                    vectors,
                    state.rows.lengths.rows[block],
                    names[block],
                    state.scales.rows[block],
                    excluded[some],
                    scores[some],
                    ids[some],
                )

    def _arrays(self, rows: DenseRows) -> dict[str, NDArray[Any]]:
        return {"vectors": rows.vectors.rows}

    @classmethod
    def _from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], count: int, dimension: int
    ) -> NDArray[Any]:
        vectors = arrays["vectors"]
        if vectors.dtype != np.float32 or vectors.shape != (count, dimension):
            raise InvalidInput(f"vectors are {vectors.dtype} of shape {vectors.shape}")
        return vectors


def _lengths(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    lengths: NDArray[np.float64] = np.sqrt(squares)
    return lengths

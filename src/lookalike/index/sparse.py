"""Exact search among sparse vectors: inverted lists, touching only what shares a column."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.core.errors import InvalidInput
from lookalike.index._fast.sparse import add_lists, offer_rows, set_rows
from lookalike.index.base import Index, Matrix, State, check_finite, check_width, checked_dense
from lookalike.index.growing import GrowingArray

_TAIL = 4096


@dataclass(frozen=True)
class InvertedLists:
    """For each column, the rows that have it and their values; over the first rows only."""

    starts: NDArray[np.int64]
    rows: NDArray[np.uint32]
    values: NDArray[np.float32]
    covered: int

    @classmethod
    def of(cls, matrix: sp.csr_matrix) -> Self:
        """Turn the rows over."""
        columns = matrix.tocsc()
        return cls(
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.uint32),
            columns.data,
            matrix.shape[0],
        )


@dataclass(frozen=True)
class SparseRows:
    """Rows as CSR, and inverted lists that cover all but a short tail of them."""

    ends: GrowingArray[np.int64]
    columns: GrowingArray[np.int32]
    values: GrowingArray[np.float32]
    dimension: int
    lists: InvertedLists

    @classmethod
    def of(cls, matrix: sp.csr_matrix) -> Self:
        """Start with a checked matrix."""
        return cls(
            GrowingArray(matrix.indptr.astype(np.int64)),
            GrowingArray(matrix.indices.astype(np.int32)),
            GrowingArray(matrix.data),
            matrix.shape[1],
            InvertedLists.of(matrix),
        )

    def __len__(self) -> int:
        return len(self.ends) - 1

    def extended(self, new: sp.csr_matrix) -> Self:
        """Append a checked matrix; the lists are made anew when the tail has grown long."""
        longer = type(self)(
            self.ends.extended(new.indptr[1:] + self.ends.rows[-1]),
            self.columns.extended(new.indices),
            self.values.extended(new.data),
            self.dimension,
            self.lists,
        )
        if len(longer) - self.lists.covered <= max(_TAIL, self.lists.covered // 4):
            return longer
        return type(self).of(longer.matrix())

    def kept(self, mask: NDArray[np.bool_]) -> Self:
        """Keep those where ``mask`` holds."""
        return type(self).of(self.matrix()[np.flatnonzero(mask)])

    def matrix(self) -> sp.csr_matrix:
        """Return all rows as one CSR matrix over the same memory."""
        return sp.csr_matrix(
            (self.values.rows, self.columns.rows, self.ends.rows),
            shape=(len(self), self.dimension),
        )


class SparseIndex(Index[SparseRows]):
    """Exact top-k by inner product over sparse vectors.

    A sparse query walks the inverted lists of its own columns; a dense one (a learned Wᵀq) is
    multiplied with every row. Both sum in float64 in the same order and agree to the last bit,
    so a sparse query among few pictures goes by their rows where those are shorter than the lists.

    Parameters
    ----------
    dimension : int
        The length of every vector.
    fingerprint : str
        The fingerprint of the feature the vectors come from.

    Examples
    --------
    >>> index = SparseIndex(3)
    >>> index.add(sp.csr_matrix([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    array([0, 1])
    >>> index.search(sp.csr_matrix([[0.0, 1.0, 1.0]]), k=3).scores
    array([[  3.,   2., -inf]], dtype=float32)
    """

    kind = "sparse_index/1"

    @property
    def vectors(self) -> sp.csr_matrix:
        """The vectors in the order of ``ids``; read-only."""
        return self._state.rows.matrix()

    def vector(self, number: int) -> sp.csr_matrix:
        """Return the vector with an id, as a matrix of one row."""
        state = self._state
        return state.rows.matrix()[self._row_of(state, number)]

    def _checked(self, vectors: Matrix) -> sp.csr_matrix:
        if not isinstance(vectors, sp.spmatrix | sp.sparray):
            return sp.csr_matrix(checked_dense("SparseIndex", vectors, self.dimension))
        given: Any = vectors
        check_width("SparseIndex", given.shape, self.dimension)
        try:
            with np.errstate(over="ignore"):
                matrix: sp.csr_matrix = sp.csr_matrix(given, dtype=np.float32, copy=True)
            matrix.sum_duplicates()
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"SparseIndex: vectors must be numbers; {error}.") from error
        check_finite("SparseIndex", matrix.data)
        return matrix

    def _checked_queries(self, queries: Matrix) -> sp.csr_matrix | NDArray[np.float32]:
        if isinstance(queries, sp.spmatrix | sp.sparray):
            return self._checked(queries)
        return checked_dense("SparseIndex", queries, self.dimension)

    def _rows(self, checked: sp.csr_matrix) -> SparseRows:
        return SparseRows.of(checked)

    def _offer(
        self,
        state: State[SparseRows],
        chosen: NDArray[np.intp] | None,
        queries: sp.csr_matrix | NDArray[np.float32],
        excluded: NDArray[np.int64],
        scores: NDArray[np.float32],
        ids: NDArray[np.int64],
    ) -> None:
        lists = state.rows.lists
        ends = state.rows.ends.rows
        columns = state.rows.columns.rows.view(np.uint32)
        values = state.rows.values.rows
        if chosen is None:
            rows, entries = np.arange(len(state.ids), dtype=np.uint64), int(ends[-1])
        else:
            rows, entries = chosen.astype(np.uint64), int(np.diff(ends)[chosen].sum())
        unlisted = rows[np.searchsorted(rows, np.uint64(lists.covered)) :]
        totals = np.empty(len(state.ids))
        for row in range(int(queries.shape[0])):
            query = queries[row]
            left = rows
            if not isinstance(query, np.ndarray):
                own = query.indices.astype(np.uint32)
                if int((lists.starts[1:][own] - lists.starts[:-1][own]).sum()) <= entries:
                    totals[:] = 0.0
                    add_lists(totals, own, query.data, lists.starts, lists.rows, lists.values)
                    left = unlisted
            if left.size:
                dense = query if isinstance(query, np.ndarray) else query.toarray()[0]
                set_rows(totals, left, dense, ends, columns, values)
            offer_rows(
                totals,
                rows,
                state.ids.rows,
                state.scales.rows,
                excluded[row],
                scores[row],
                ids[row],
            )

    def _arrays(self, rows: SparseRows) -> dict[str, NDArray[Any]]:
        return {
            "ends": rows.ends.rows,
            "columns": rows.columns.rows,
            "values": rows.values.rows,
        }

    @classmethod
    def _from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], count: int, dimension: int
    ) -> sp.csr_matrix:
        ends, columns, values = arrays["ends"], arrays["columns"], arrays["values"]
        if not (
            ends.dtype == np.int64
            and columns.dtype == np.int32
            and values.dtype == np.float32
            and ends.shape == (count + 1,)
            and columns.shape == values.shape == (int(ends[-1]),)
            and ends[0] == 0
            and (np.diff(ends) >= 0).all()
            and (columns.size == 0 or (columns.min() >= 0 and columns.max() < dimension))
        ):
            raise InvalidInput("its rows do not fit together")
        return sp.csr_matrix((values, columns, ends), shape=(count, dimension))

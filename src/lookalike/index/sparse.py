"""Exact search among sparse vectors: inverted lists, which visit only shared columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput
from lookalike.core.vectors import Vectors, check_vectors
from lookalike.index._fast.sparse import add_lists, offer_rows, set_rows
from lookalike.index.base import Matrix
from lookalike.index.exact import Best, ExactIndex, Items, Rows
from lookalike.index.growing import GrowingArray

_TAIL = 1 << 18
"""Numbers in rows that have no lists yet, at least, before the lists are made anew."""


@dataclass(frozen=True)
class InvertedLists:
    """For each column, the rows that have it and their values; for the first rows only."""

    starts: NDArray[np.int64]
    rows: NDArray[np.uint32]
    values: NDArray[np.float32]
    covered: int

    @classmethod
    def of(cls, matrix: sp.csr_matrix) -> Self:
        """Return the lists of a matrix."""
        columns = matrix.tocsc()
        return cls(
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.uint32),
            columns.data,
            matrix.shape[0],
        )


@dataclass(frozen=True)
class SparseRows(Rows):
    """Rows as CSR, and inverted lists of all but a short tail of them."""

    ends: GrowingArray[np.int64]
    columns: GrowingArray[np.int32]
    values: GrowingArray[np.float32]
    dimension: int
    lists: InvertedLists

    @classmethod
    def checked(cls, who: str, vectors: Matrix, dimension: int) -> sp.csr_matrix:
        """Return vectors as they are stored, or raise InvalidInput."""
        return sp.csr_matrix(cls.checked_queries(who, vectors, dimension))

    @classmethod
    def checked_queries(cls, who: str, queries: Matrix, dimension: int) -> Vectors:
        """Return queries, sparse or dense as they are, or raise InvalidInput."""
        return check_vectors(who, queries, width=dimension, alone=True)

    @classmethod
    def of(cls, vectors: sp.csr_matrix) -> Self:
        """Return rows of a checked matrix."""
        return cls(
            GrowingArray(vectors.indptr.astype(np.int64)),
            GrowingArray(vectors.indices.astype(np.int32)),
            GrowingArray(vectors.data),
            vectors.shape[1],
            InvertedLists.of(vectors),
        )

    def extended(self, new: sp.csr_matrix) -> Self:
        """Return rows with a matrix appended; the lists are rebuilt when the tail is long."""
        longer = type(self)(
            self.ends.extended(new.indptr[1:] + self.ends.rows[-1]),
            self.columns.extended(new.indices),
            self.values.extended(new.data),
            self.dimension,
            self.lists,
        )
        listed = self.lists.values.size
        if longer.values.rows.size - listed <= max(_TAIL, listed // 4):
            return longer
        return type(self).of(longer.vectors)

    def select(self, mask: NDArray[np.bool_]) -> Self:
        """Return the rows where ``mask`` is true."""
        return type(self).of(self.vectors[np.flatnonzero(mask)])

    @property
    def vectors(self) -> sp.csr_matrix:
        """All rows as one CSR matrix over the same memory."""
        return sp.csr_matrix(
            (self.values.rows, self.columns.rows, self.ends.rows),
            shape=(len(self.ends) - 1, self.dimension),
        )

    def products(
        self, queries: sp.csr_matrix | NDArray[np.float32], places: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the inner products of queries with some rows, summed in float64."""
        rows = places.astype(np.uint64)
        totals = np.empty(len(self.ends) - 1)
        products = np.empty((queries.shape[0], len(places)))
        for number in range(len(products)):
            set_rows(totals, rows, _dense_row(queries[number]), *self._lists_by_row())
            products[number] = totals[places]
        return products

    def offer(
        self,
        queries: sp.csr_matrix | NDArray[np.float32],
        chosen: NDArray[np.intp] | None,
        items: Items,
        best: Best,
    ) -> None:
        """Merge the pictures in the rows ``chosen``, or all, into each query's best."""
        names, scales = items
        scores, ids, excluded = best
        lists, ends, columns, values = self.lists, *self._lists_by_row()
        if chosen is None:
            rows, entries = np.arange(len(names), dtype=np.uint64), int(ends[-1])
        else:
            rows, entries = chosen.astype(np.uint64), int(np.diff(ends)[chosen].sum())
        unlisted = rows[np.searchsorted(rows, np.uint64(lists.covered)) :]
        totals = np.empty(len(names))
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
                set_rows(totals, left, _dense_row(query), ends, columns, values)
            offer_rows(totals, rows, names, scales, excluded[row], scores[row], ids[row])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""
        return {"ends": self.ends.rows, "columns": self.columns.rows, "values": self.values.rows}

    @classmethod
    def stored(
        cls, arrays: Mapping[str, NDArray[Any]], count: int, dimension: int
    ) -> sp.csr_matrix:
        """Return the vectors that were saved."""
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
            raise InvalidInput("its rows are inconsistent")
        return sp.csr_matrix((values, columns, ends), shape=(count, dimension))

    def _lists_by_row(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32]]:
        return self.ends.rows, self.columns.rows.view(np.uint32), self.values.rows


class SparseIndex(ExactIndex):
    """Exact top-k by inner product over sparse vectors.

    A sparse query scans the inverted lists of its own columns; a dense one (a learned Wᵀq) is
    multiplied with every row. Both sum in float64 in the same order and agree to the last bit, so
    a sparse query among few pictures uses their rows where those are shorter than the lists.

    Examples
    --------
    >>> index = SparseIndex(3)
    >>> index.add(sp.csr_matrix([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    array([0, 1])
    >>> index.search(sp.csr_matrix([[0.0, 1.0, 1.0]]), k=3).scores
    array([[  3.,   2., -inf]], dtype=float32)
    """

    name = "sparse"
    rows = SparseRows


def _dense_row(query: Any) -> NDArray[np.float32]:
    row: NDArray[np.float32] = query if isinstance(query, np.ndarray) else query.toarray()[0]
    return row

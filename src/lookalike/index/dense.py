"""Exact search among dense vectors: one scan of memory per query."""

import mmap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lookalike.core.arrays import load_arrays, map_arrays, map_file
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.core.vectors import squared_lengths
from lookalike.index._fast.dense import exact_products, offer_block
from lookalike.index._fast.short import offer_short
from lookalike.index.checked_rows import (
    CheckedRows,
    Mend,
    checked_lengths,
    refuse,
    row_sums,
    seal,
)
from lookalike.index.exact import Best, ExactIndex, Items, Rows
from lookalike.index.growing import GrowingArray, MappedArray
from lookalike.index.short_rows import LazyShortRows

# A product uses all cores and is bound by memory: eight at once completed only a quarter as many
# searches as one after the other.
_PRODUCT = Lock()

_QUERIES = 256
_PRODUCTS = 1 << 20

# Up to here NumPy is as quick, or a few milliseconds slower than it takes to load the loops.
_SMALL = 1 << 22

# To gather one vector in so many takes as long as to look at the short form of all.
_GATHER = 16

_MAX_LENGTH = 1e37
"""Of a query times a vector and its scale, beyond which sums in float32 may overflow."""

# Half a megabyte: gathered rows stay in a core's cache until they have been multiplied.
_GATHERED = 1 << 17


@dataclass(frozen=True)
class DenseRows(Rows):
    """Vectors and their lengths; those of vectors in a file are computed when they are needed."""

    vector_rows: GrowingArray[np.float32]
    lengths: GrowingArray[np.float64] | None
    short: LazyShortRows = field(default_factory=LazyShortRows, compare=False, repr=False)

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> Self:
        """Return rows of checked vectors."""
        return cls(GrowingArray(vectors), GrowingArray(_lengths(vectors)))

    @property
    def vectors(self) -> NDArray[np.float32]:
        """All vectors, read-only."""
        return self.vector_rows.rows

    def extended(self, new: NDArray[np.float32]) -> Self:
        """Return rows with checked vectors at the end."""
        lengths = None if self.lengths is None else self.lengths.extended(_lengths(new))
        return type(self)(self.vector_rows.extended(new), lengths, self.short.extended(new))

    def select(self, mask: NDArray[np.bool_]) -> Self:
        """Return the rows where ``mask`` is true."""
        lengths = None if self.lengths is None else self.lengths.select(mask)
        return type(self)(self.vector_rows.select(mask), lengths, self.short.select(mask))

    def take(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return some of the vectors."""
        return self.vector_rows.take(places)

    def products(
        self, queries: NDArray[np.float32], places: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the inner products of queries with some rows, summed in float64."""
        if queries.size * len(self.vector_rows) <= _SMALL:
            return _products(queries, self.take(places))
        products = np.empty((len(queries), len(places)))
        if self.lengths is not None:
            exact_products(queries, self.vectors, places.astype(np.uint64), products)
            return products
        step = max(_GATHERED // queries.shape[1], 1)
        for first in range(0, len(places), step):
            vectors = self.take(places[first : first + step])
            rows = np.arange(len(vectors), dtype=np.uint64)
            exact_products(queries, vectors, rows, products[:, first : first + step])
        return products

    def offer(
        self,
        queries: NDArray[np.float32],
        chosen: NDArray[np.intp] | None,
        items: Items,
        best: Best,
    ) -> None:
        """Merge the pictures in the rows ``chosen``, or all, into each query's best."""
        names, scales = items
        if queries.size * len(names) <= _SMALL:
            self._offer_few(queries, slice(None) if chosen is None else chosen, items, best)
            return
        if len(queries) == 1 and self._offer_short(queries[0], chosen, items, best):
            return
        scores, ids, excluded = best
        called, gathered = names, chosen
        if chosen is not None and 2 * len(chosen) > len(names):
            # Scanning all and skipping some is then faster than gathering so many.
            called, gathered = np.full(len(names), -1), None
            called[chosen] = names[chosen]
        for first in range(0, len(queries), _QUERIES):
            some = slice(first, first + _QUERIES)
            step = _PRODUCTS // len(queries[some])
            if gathered is not None or self.lengths is None:
                step = min(step, max(_GATHERED // queries.shape[1], 1))
            for start in range(0, len(called if gathered is None else gathered), step):
                within = slice(start, start + step)
                block = within if gathered is None else gathered[within]
                vectors = self.vector_rows.take(block)
                known = self.lengths
                lengths = _lengths(vectors) if known is None else known.rows[block]
                ignored = np.errstate(over="ignore", invalid="ignore", under="ignore")
                with _PRODUCT, ignored:
                    products = np.matmul(queries[some], vectors.T)
                offer_block(
                    products,
                    queries[some],
                    vectors,
                    lengths,
                    called[block],
                    scales[block],
                    excluded[some],
                    scores[some],
                    ids[some],
                )

    def _offer_short(
        self,
        query: NDArray[np.float32],
        chosen: NDArray[np.intp] | None,
        items: Items,
        best: Best,
    ) -> bool:
        """Do what :meth:`offer` does by the short form; false if that is no use or not there."""
        names, scales = items
        if self.lengths is None or (chosen is not None and _GATHER * len(chosen) < len(names)):
            return False
        farthest = float(self.lengths.rows.max()) * max(float(np.abs(scales).max()), 1.0)
        length = float(np.linalg.norm(query.astype(np.float64)))
        short = self.short.of(self.vectors) if length * farthest < _MAX_LENGTH else None
        if short is None:
            return False
        called = names
        if chosen is not None:
            called = np.full(len(names), -1)
            called[chosen] = names[chosen]
        offer_short(
            *(short.heads.rows, short.tails.rows, short.bounds.rows),
            *short.query(query),
            *(query, self.vectors, called, scales),
            *(best.excluded[0], best.scores[0], best.ids[0]),
        )
        return True

    def _offer_few(
        self, queries: NDArray[np.float32], rows: NDArray[np.intp] | slice, items: Items, best: Best
    ) -> None:
        """Do what :meth:`offer` does, into empty places, without compiled loops."""
        names, scales = items.names[rows], items.scales[rows].astype(np.float64)
        with np.errstate(over="ignore", under="ignore"):
            result = _products(queries, self.vector_rows.take(rows)) * scales
            rounded = result.astype(np.float32)
        for row, some in enumerate(rounded):
            allowed = np.flatnonzero(~np.isin(names, best.excluded[row]))
            first = allowed[np.lexsort((names[allowed], -some[allowed]))][: best.ids.shape[1]]
            best.scores[row, : len(first)] = some[first]
            best.ids[row, : len(first)] = names[first]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""
        vectors = self.vectors
        return {"vectors": vectors, "sums": row_sums(vectors)}

    @classmethod
    def stored(
        cls, arrays: Mapping[str, NDArray[Any]], count: int, dimension: int
    ) -> NDArray[np.float32]:
        """Return the vectors that were saved."""
        vectors = arrays["vectors"]
        if vectors.dtype != np.float32 or vectors.shape != (count, dimension):
            raise InvalidInput(f"vectors are {vectors.dtype} of shape {vectors.shape}")
        sums = arrays.get("sums")
        if sums is not None and (sums.dtype != np.uint64 or sums.shape != (count,)):
            raise InvalidInput(f"the sums of vectors are {sums.dtype} of shape {sums.shape}")
        return vectors


class DenseIndex(ExactIndex):
    """Exact top-k by inner product over dense vectors.

    A matrix product gives approximate scores, block by block; pictures that may be among the best
    within its rounding error are summed again in float64 (a few hundred of 100,000 pictures). So
    the result is exact, equal pictures tie and are ordered by id, and memory beyond the vectors
    stays at a few megabytes.

    A search among up to half of the pictures gathers their rows, a small block at a time, and
    costs about their share of a search among all; among more, it scans all and skips the others.

    Examples
    --------
    >>> index = DenseIndex(2)
    >>> index.add([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    array([0, 1, 2])
    >>> index.search([1.0, 0.1], k=2).ids
    array([[0, 2]])
    """

    name = "dense"
    rows = DenseRows

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Open an index that :meth:`save` wrote, or raise DamagedFile.

        The vectors of a large one are checked by their sums, while their lengths are computed.
        """
        arrays, manifest = load_arrays(
            Path(path), kind=cls.file_kind, sums="sums", beyond=4 * _SMALL
        )

        def rows(count: int, dimension: int) -> Rows:
            vectors = cls.rows.stored(arrays, count, dimension)
            if not arrays.checked:
                lengths = checked_lengths(path, vectors, arrays["sums"])
                # Else a number is not finite, or too large for its square to be.
                if np.isfinite(lengths).all():
                    return DenseRows(GrowingArray(vectors), GrowingArray(lengths))
            return cls.rows.of(cls.rows.checked(cls.__name__, vectors, dimension))

        return cls._opened(path, arrays, manifest, rows)

    @classmethod
    def _manifest(
        cls, arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        return {**manifest, "seal": seal(arrays, manifest)}

    @classmethod
    def _check_file(
        cls, path: Path | str, arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any]
    ) -> None:
        lacking = not {"ids", "scales", "sums"} <= arrays.keys()
        if lacking or manifest.get("seal") != seal(arrays, manifest):
            raise DamagedFile(
                f"{path} is damaged: it is not as it was written (its checksum differs)."
            )


class MappedIndex(DenseIndex):
    """A dense index whose vectors stay in their file, and are read as they are needed.

    It reads what :meth:`DenseIndex.save` wrote. A search among all reads all; it is for searches
    among a few, such as those that codes found. Vectors added later are in memory. Each vector is
    checked whenever it is read.

    Examples
    --------
    >>> MappedIndex(2).add([[1.0, 0.0]])
    array([0])
    """

    name = "mapped"
    file_kind = DenseIndex.file_kind

    @property
    def damaged(self) -> bool:
        """Whether what was read from its file since it was opened is not as it was written."""
        rows = self._state.rows
        vectors = rows.vector_rows if isinstance(rows, DenseRows) else None
        return isinstance(vectors, MappedArray) and vectors.file.damaged

    @classmethod
    def open(cls, path: Path | str, mend: Mend = refuse) -> Self:
        """Open an index that :meth:`save` wrote, without reading its vectors.

        Parameters
        ----------
        path : Path or str
        mend : callable
            What gives the vectors with some ids where those of the file are damaged, or raises the
            error that it is given, as it does by default.
        """
        mapping = map_file(Path(path))
        arrays, manifest = map_arrays(Path(path), kind=cls.file_kind, mapping=mapping, sums="sums")

        def mended(places: NDArray[np.int64], error: DamagedFile) -> NDArray[np.float32]:
            return mend(names[places], error)

        def rows(count: int, dimension: int) -> Rows:
            vectors = cls.rows.stored(arrays, count, dimension)
            file = CheckedRows(Path(path), mapping, vectors, arrays["sums"], mended)
            return DenseRows(MappedArray(file), None)

        index = cls._opened(path, arrays, manifest, rows)
        names = index.ids
        if hasattr(mmap, "MADV_DONTNEED"):
            mapping.madvise(mmap.MADV_DONTNEED)
        return index


def _lengths(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    lengths: NDArray[np.float64] = np.sqrt(squared_lengths(vectors))
    return lengths


def _products(queries: NDArray[np.float32], vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return inner products summed in float64, in the same order for every row."""
    products: NDArray[np.float64] = np.einsum("qd,nd->qn", queries, vectors, dtype=np.float64)
    return products

"""Binary codes in blocks of 32, sorted into cells once there are many."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lookalike.core.codes import Codes, code_bytes, pack
from lookalike.core.errors import InvalidInput
from lookalike.core.vectors import check_vectors
from lookalike.index._fast.best import FREE
from lookalike.index._fast.bit_cells import collect_near, offer_near
from lookalike.index._fast.bits import (
    CAP,
    BitQuery,
    Layout,
    collect,
    cost_limit,
    fill_blocks,
    offer_all,
    query_of,
    read_blocks,
    score_places,
    set_limit,
    set_tables,
)
from lookalike.index._fast.row_order import GROUP
from lookalike.index._fast.shuffle import LANES
from lookalike.index.base import Matrix
from lookalike.index.bit_cells import SortedCodes
from lookalike.index.exact import Best, Rows

_QUERIES = 64


class BitRows(Rows):
    """Packed codes, transposed in blocks of 32: 8 bytes for 64 bits.

    From ``sorted_from`` on they lie in cells around centres, so that a search visits few of them;
    to know the row of each takes 2.5 bytes, and the cells one bit. Codes added later are scanned
    until they are a quarter.

    Attributes
    ----------
    sorted_from : int
        Fewer codes are scanned: the tables rule out half a million in a fraction of a millisecond.
    cell : int
        Codes of a cell, on average.
    share : int
        A search visits one code in so many at most; else all are scanned, faster for each.
    """

    sorted_from = 1 << 19
    cell = 512
    share = 12

    def __init__(
        self, bits: int, blocks: NDArray[np.uint8], count: int, used: list[int], near: SortedCodes
    ) -> None:
        self.bits = bits
        self.count = count
        self.near = near
        self._buffer = blocks
        # The places used by the longest rows that share the buffer.
        self._used = used

    @property
    def blocks(self) -> NDArray[np.uint8]:
        """The blocks, of shape (blocks, bytes of a code, 32); read-only."""
        return _read_only(self._buffer[: -(-self.count // LANES)])

    @property
    def memory(self) -> int:
        """The bytes of codes and tree."""
        return int(self._buffer.nbytes) + self.near.memory

    @classmethod
    def checked(cls, who: str, vectors: Matrix, dimension: int) -> Codes:
        """Return vectors of 0 and 1 as packed codes, or raise InvalidInput."""
        given: Any = vectors
        if isinstance(given, Codes):
            return given
        return pack(who, np.asarray(super().checked(who, given, dimension)))

    @classmethod
    def checked_queries(cls, who: str, queries: Matrix, dimension: int) -> NDArray[np.float64]:
        """Return what a bit adds to the score when it is 0 and 1, of shape (q, 2, bits)."""
        vectors = check_vectors(who, queries, width=dimension, alone=True)
        dense = vectors if isinstance(vectors, np.ndarray) else vectors.toarray()
        adds = np.zeros((len(dense), 2, 8 * code_bytes(dimension)))
        adds[:, 1, :dimension] = dense
        return adds

    @classmethod
    def of(cls, vectors: Codes) -> Self:
        """Return rows of checked codes."""
        blocks = np.zeros((0, code_bytes(vectors.bits), LANES), np.uint8)
        return cls(
            vectors.bits, blocks, 0, [0], SortedCodes.none(code_bytes(vectors.bits))
        ).extended(vectors)

    @property
    def vectors(self) -> NDArray[np.float32]:
        """All codes, one column per bit, of 0 and 1."""
        bits = self.codes(np.arange(self.count)).unpacked().astype(np.float32)
        bits.flags.writeable = False
        return bits

    def take(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return some of the codes, one column per bit, of 0 and 1."""
        return self.codes(places).unpacked().astype(np.float32)

    def codes(self, rows: NDArray[np.intp]) -> Codes:
        """Return the packed codes of some rows."""
        packed = np.empty((len(rows), code_bytes(self.bits)), np.uint8)
        read_blocks(self.blocks, self._places(rows), packed)
        return Codes(packed, self.bits)

    def extended(self, new: Codes) -> Self:
        """Return rows with codes at the end; all are sorted anew when the unsorted are many."""
        count = self.count + len(new.packed)
        buffer, used = self._buffer, self._used
        needed = -(-count // LANES)
        if needed > len(buffer) or used[0] != self.count or not buffer.flags.writeable:
            room = max(needed, len(buffer) if needed <= len(buffer) else 2 * len(buffer))
            buffer = np.zeros((room, *buffer.shape[1:]), np.uint8)
            buffer[: len(self.blocks)] = self.blocks
            used = [count]
        used[0] = count
        fill_blocks(new.packed, self.count, buffer)
        covered = self.near.covered
        if count < self.sorted_from or count - covered <= covered // 4:
            return type(self)(self.bits, buffer, count, used, self.near)
        codes = type(self)(self.bits, buffer, count, used, self.near).codes(np.arange(count))
        return self._laid_out(codes, SortedCodes.of(codes, self.cell))

    def select(self, mask: NDArray[np.bool_]) -> Self:
        """Return the rows where ``mask`` is true."""
        codes = self.codes(np.flatnonzero(mask))
        if len(codes.packed) < max(self.sorted_from, self.near.covered // 2):
            return type(self).of(codes)
        return self._laid_out(codes, self.near.select(mask[: self.near.covered]))

    def products(
        self, queries: NDArray[np.float64], places: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the scores of some rows, summed in float64."""
        made = _bit_query(queries)
        scores = np.empty((len(queries), len(places)))
        where = self._places(places)
        for query in range(len(queries)):
            score_places(self.blocks, where, made.values[query], scores[query])
        return scores

    def offer_codes(
        self, queries: NDArray[np.float64], names: NDArray[np.int64], result: Best
    ) -> None:
        """Merge all codes into each query's best; ``names`` are ids, or the first of a run."""
        scores, ids, excluded = result
        layout = Layout(self.blocks, self.near.covered, self.near.rows, names)
        for first in range(0, len(queries), _QUERIES):
            some = slice(first, first + _QUERIES)
            made = _bit_query(queries[some])
            left = self._offer_near(
                layout, queries[some], made, excluded[some], scores[some], ids[some]
            )
            if left.any():
                # The scan starts anew, so that nothing is found twice, but from the limit reached.
                rest = _bit_query(queries[some][left])
                rest.state[:, CAP] = made.state[left, CAP]
                best = np.full((len(rest.state), scores.shape[1]), -np.inf, np.float32)
                named = np.full(best.shape, FREE)
                offer_all(layout, 0, self.count, excluded[some][left], rest, best, named)
                scores[some][left], ids[some][left] = best, named

    def within(
        self, query: NDArray[np.float64], names: NDArray[np.int64], least: np.float32
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the ids and scores of all codes with a score of at least ``least``."""
        layout = Layout(self.blocks, self.near.covered, self.near.rows, names)
        bit_query = query_of(_bit_query(query[None]), 0)
        limit = cost_limit(bit_query.state, least)
        set_limit(limit, bit_query.halves, bit_query.tables, bit_query.state)
        room = 1024
        while True:
            ids, scores = np.empty(room, np.int64), np.empty(room, np.float32)
            result = 0
            if self.near.covered:
                cells = self.near.cells
                result = collect_near(layout, cells, query, bit_query, least, scores, ids)
            result = collect(
                layout, self.near.covered, self.count, bit_query, least, result, scores, ids
            )
            if result <= room:
                return ids[:result], scores[:result]
            room = result

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""
        blocks: dict[str, NDArray[Any]] = {"blocks": self.blocks}
        return blocks | self.near.arrays() if self.near.covered else blocks

    @classmethod
    def mapped(cls, arrays: Mapping[str, NDArray[Any]], count: int, bits: int) -> Self:
        """Return rows over arrays that were saved, or raise InvalidInput."""
        blocks = arrays["blocks"]
        shape = (-(-count // LANES), code_bytes(bits), LANES)
        if blocks.dtype != np.uint8 or blocks.shape != shape:
            raise InvalidInput(f"blocks are {blocks.dtype} of shape {blocks.shape}")
        unused = 8 * shape[1] - bits
        if unused and (blocks[:, -1] & ((1 << unused) - 1)).any():
            raise InvalidInput(f"codes have more than {bits} bits")
        near = SortedCodes.none(shape[1])
        if "rows" in arrays:
            near = SortedCodes.loaded(arrays, count, bits)
        return cls(bits, blocks, count, [count], near)

    @classmethod
    def stored(cls, arrays: Mapping[str, NDArray[Any]], count: int, dimension: int) -> Codes:
        """Return the codes that were saved."""
        return cls.mapped(arrays, count, dimension).codes(np.arange(count))

    @classmethod
    def _laid_out(cls, codes: Codes, near: SortedCodes) -> Self:
        """Return rows of codes that lie in the order of ``near``, and behind it in their own."""
        count, covered = len(codes.packed), near.covered
        blocks = np.zeros((-(-count // LANES), code_bytes(codes.bits), LANES), np.uint8)
        fill_blocks(codes.packed[near.order()], 0, blocks)
        fill_blocks(codes.packed[covered:], covered, blocks)
        return cls(codes.bits, blocks, count, [count], near)

    def _places(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return where the codes of some rows lie."""
        covered = self.near.covered
        if not covered:
            return rows.astype(np.int64)
        places = np.arange(self.count)
        places[self.near.order()] = places[:covered].copy()
        return places[rows]

    def _offer_near(
        self,
        layout: Layout,
        queries: NDArray[np.float64],
        made: BitQuery,
        excluded: NDArray[np.int64],
        scores: NDArray[np.float32],
        ids: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Search by cells, and return for which queries a scan is needed instead."""
        left = np.ones(len(queries), np.bool_)
        covered = self.near.covered
        if covered:
            first = 4 + scores.shape[1] * len(self.near.cells.rings) * 2 // covered
            most = covered // self.share + GROUP
            offer_near(
                *(layout, self.near.cells, queries, excluded, made, scores, ids),
                *(first, most, left),
            )
            # What is left is scanned whole.
            offer_all(layout, covered, self.count, excluded, made, scores, ids)
        return left


def _bit_query(adds: NDArray[np.float64]) -> BitQuery:
    """Return what scans need to know of a batch of queries; see ``_fast/bits.py``."""
    count, columns = len(adds), adds.shape[2] // 8
    made = BitQuery(
        np.empty((count, columns, 256)),
        np.empty((count, 2 * columns, 16)),
        np.empty((count, 2 * columns, LANES), np.uint8),
        np.zeros((count, 5)),
    )
    for query in range(len(adds)):
        set_tables(adds[query], made.values[query], made.halves[query], made.state[query])
    return made


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view

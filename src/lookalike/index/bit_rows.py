"""Binary codes in blocks of 32, listed by some of their bits once there are many."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lookalike.core.codes import Codes, code_bytes, pack
from lookalike.core.errors import InvalidInput
from lookalike.core.vectors import check_vectors
from lookalike.index._fast.best import FREE
from lookalike.index._fast.bits import (
    CAP,
    collect,
    cost_limit,
    fill_blocks,
    key_weights,
    offer_all,
    offer_by_keys,
    read_blocks,
    score_places,
    set_keys,
    set_limit,
    set_tables,
    sort_by_key,
)
from lookalike.index._fast.shuffle import LANES
from lookalike.index.base import Matrix
from lookalike.index.exact import Rows

LISTED_FROM = 1 << 21
"""Fewer codes are scanned: the tables rule out a million in less than a millisecond."""

LISTS = 2

_SAMPLE = 20_000
_QUERIES = 64

# A code that is listed costs a few hundred times as much as one in a scan: it is not in a cache.
_SHARE = 400

# To merge more from two lists, each is looked up among them.
_MOST_LISTED = 1000


@dataclass(frozen=True)
class Lists:
    """The rows in the order of their keys, for keys of some bits each: multi-index hashing.

    Attributes
    ----------
    key_bits : int64 array of shape (lists, b)
        The bits of each key; no bit is in two of them.
    orders : uint32 array of shape (lists, n)
        The first n rows.
    starts : uint32 array of shape (lists, 2^b + 1)
        Where the rows of each key start.
    """

    key_bits: NDArray[np.int64]
    orders: NDArray[np.uint32]
    starts: NDArray[np.uint32]

    @property
    def covered(self) -> int:
        """The number of rows listed."""
        return int(self.orders.shape[1])


@dataclass(frozen=True)
class Tables:
    """What scans need to know of a batch of queries; see ``_fast/bits.py``."""

    adds: NDArray[np.float64]
    values: NDArray[np.float64]
    halves: NDArray[np.float64]
    tables: NDArray[np.uint8]
    states: NDArray[np.float64]

    @classmethod
    def of(cls, adds: NDArray[np.float64]) -> Self:
        """Return the tables of queries, given what each bit adds to their scores."""
        count, columns = len(adds), adds.shape[2] // 8
        made = cls(
            adds,
            np.empty((count, columns, 256)),
            np.empty((count, 2 * columns, 16)),
            np.empty((count, 2 * columns, LANES), np.uint8),
            np.zeros((count, 5)),
        )
        for query in range(count):
            set_tables(adds[query], made.values[query], made.halves[query], made.states[query])
        return made


class BitRows(Rows):
    """Packed codes, transposed in blocks of 32: 8 bytes for 64 bits.

    From ``LISTED_FROM`` on, two lists of the rows by some bits, chosen to be balanced and unlike
    each other, let a search visit only codes that are near in one of them; each takes 4 bytes a
    code, and its starts about one. Codes added later are scanned until they are a quarter.
    """

    def __init__(
        self, bits: int, blocks: NDArray[np.uint8], count: int, used: list[int], lists: Lists
    ) -> None:
        self.bits = bits
        self.count = count
        self.lists = lists
        self._buffer = blocks
        # The places used by the longest rows that share the buffer.
        self._used = used

    @property
    def blocks(self) -> NDArray[np.uint8]:
        """The blocks, of shape (blocks, bytes of a code, 32); read-only."""
        return _read_only(self._buffer[: -(-self.count // LANES)])

    @property
    def memory(self) -> int:
        """The bytes of codes and lists."""
        lists = self.lists
        return int(self._buffer.nbytes + lists.orders.nbytes + lists.starts.nbytes)

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
        return cls(vectors.bits, blocks, 0, [0], UNLISTED).extended(vectors)

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
        read_blocks(self.blocks, rows.astype(np.int64), packed)
        return Codes(packed, self.bits)

    def extended(self, new: Codes) -> Self:
        """Return rows with codes at the end; all are listed anew when the unlisted are many."""
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
        lists = self.lists
        longer = type(self)(self.bits, buffer, count, used, lists)
        if count < LISTED_FROM or count - lists.covered <= lists.covered // 4:
            return longer
        return type(self)(self.bits, buffer, count, used, _listed(longer))

    def kept(self, mask: NDArray[np.bool_]) -> Self:
        """Return the rows where ``mask`` is true."""
        return type(self).of(self.codes(np.flatnonzero(mask)))

    def products(
        self, queries: NDArray[np.float64], places: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the scores of some rows, summed in float64."""
        made = Tables.of(queries)
        scores = np.empty((len(queries), len(places)))
        rows = places.astype(np.int64)
        for query in range(len(queries)):
            score_places(self.blocks, rows, made.values[query], scores[query])
        return scores

    def offer_codes(
        self,
        queries: NDArray[np.float64],
        names: NDArray[np.int64],
        excluded: NDArray[np.int64],
        scores: NDArray[np.float32],
        ids: NDArray[np.int64],
    ) -> None:
        """Merge all codes into each query's best; ``names`` are ids, or the first of a run."""
        for first in range(0, len(queries), _QUERIES):
            some = slice(first, first + _QUERIES)
            made = Tables.of(queries[some])
            left = self._offer_by_keys(made, names, excluded[some], scores[some], ids[some])
            if left.all():
                self._offer_all(made, names, excluded[some], scores[some], ids[some])
            elif left.any():
                rest = Tables.of(queries[some][left])
                rest.states[:, CAP] = made.states[left, CAP]
                best, named = scores[some][left], ids[some][left]
                self._offer_all(rest, names, excluded[some][left], best, named)
                scores[some][left], ids[some][left] = best, named

    def within(
        self, query: NDArray[np.float64], names: NDArray[np.int64], least: np.float32
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the ids and scores of all codes with a score of at least ``least``."""
        made = Tables.of(query[None])
        values, tables, state = made.values[0], made.tables[0], made.states[0]
        limit = cost_limit(state, least)
        set_limit(limit, made.halves[0], tables, state)
        room = 1024
        while True:
            ids, scores = np.empty(room, np.int64), np.empty(room, np.float32)
            found = collect(
                *(self.blocks, 0, self.count, names, values, tables, state, least, 0),
                *(scores, ids),
            )
            if found <= room:
                return ids[:found], scores[:found]
            room = found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""
        blocks = {"blocks": self.blocks}
        lists = self.lists
        if not lists.covered:
            return blocks
        return blocks | {
            "key_bits": lists.key_bits,
            "orders": lists.orders,
            "starts": lists.starts,
        }

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
        lists = UNLISTED
        if "orders" in arrays:
            lists = Lists(arrays["key_bits"], arrays["orders"], arrays["starts"])
            _check_lists(lists, count, bits)
        return cls(bits, blocks, count, [count], lists)

    @classmethod
    def stored(cls, arrays: Mapping[str, NDArray[Any]], count: int, dimension: int) -> Codes:
        """Return the codes that were saved."""
        return cls.mapped(arrays, count, dimension).codes(np.arange(count))

    def _offer_all(
        self,
        made: Tables,
        names: NDArray[np.int64],
        excluded: NDArray[np.int64],
        scores: NDArray[np.float32],
        ids: NDArray[np.int64],
        begin: int = 0,
    ) -> None:
        offer_all(
            *(self.blocks, begin, self.count, names, excluded),
            *(made.values, made.halves, made.tables, made.states, scores, ids),
        )

    def _offer_by_keys(
        self,
        made: Tables,
        names: NDArray[np.int64],
        excluded: NDArray[np.int64],
        scores: NDArray[np.float32],
        ids: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Search by key, and return for which queries a scan is needed instead."""
        left = np.ones(len(made.states), np.bool_)
        lists = self.lists
        if not lists.covered or scores.shape[1] > _MOST_LISTED:
            return left
        self._offer_all(made, names, excluded, scores, ids, lists.covered)
        weights = np.empty(lists.key_bits.shape)
        masks = np.empty(weights.shape, np.uint32)
        own = np.empty(len(weights), np.uint32)
        buffers = np.empty((2, max(lists.covered // _SHARE, 1)), np.uint32)
        for query in range(len(left)):
            for which, key_bits in enumerate(lists.key_bits):
                own[which] = key_weights(made.adds[query], key_bits, weights[which], masks[which])
            left[query] = not offer_by_keys(
                *(self.blocks, lists.starts, lists.orders, names, excluded[query]),
                *(made.values[query], made.states[query], scores[query], ids[query]),
                *(weights, masks, own, buffers),
            )
            if left[query]:
                # The scan starts anew, so that nothing is found twice, but from this limit.
                made.states[query, CAP] = cost_limit(made.states[query], scores[query, 0])
                scores[query], ids[query] = -np.inf, FREE
        return left


def _listed(rows: BitRows) -> Lists:
    """Return the lists of all rows."""
    count = rows.count
    width = min(max(int(np.log2(count)) - 2, 1), rows.bits // LISTS, 24)
    if not width:
        return UNLISTED
    sample = np.linspace(0, count - 1, min(count, _SAMPLE)).astype(np.intp)
    told = _telling_bits(rows.codes(sample).unpacked(), LISTS * width)
    lists = Lists(
        np.ascontiguousarray(told.reshape(width, LISTS).T),
        np.empty((LISTS, count), np.uint32),
        np.empty((LISTS, (1 << width) + 1), np.uint32),
    )
    keys = np.empty(count, np.uint32)
    for which in range(LISTS):
        set_keys(rows.blocks, lists.key_bits[which], keys)
        sort_by_key(keys, lists.starts[which], lists.orders[which])
    return Lists(_read_only(lists.key_bits), _read_only(lists.orders), _read_only(lists.starts))


def _telling_bits(sample: NDArray[np.uint8], count: int) -> NDArray[np.int64]:
    """Return bits that are balanced and unlike those before: a pivoted Cholesky factorisation."""
    centred = sample - sample.mean(axis=0)
    covariance = centred.T @ centred / len(sample)
    left = np.diag(covariance).copy()
    factor = np.zeros((len(left), count))
    chosen = np.empty(count, np.int64)
    for step in range(count):
        best = int(left.argmax())
        chosen[step] = best
        if left[best] > 1e-12:
            column = covariance[:, best] - factor[:, :step] @ factor[best, :step]
            factor[:, step] = column / np.sqrt(left[best])
            left = left - factor[:, step] ** 2
        left[chosen[: step + 1]] = -np.inf
    return chosen


def _check_lists(lists: Lists, count: int, bits: int) -> None:
    key_bits, orders, starts = lists.key_bits, lists.orders, lists.starts
    if not (
        orders.dtype == starts.dtype == np.uint32
        and key_bits.dtype == np.int64
        and key_bits.ndim == orders.ndim == starts.ndim == 2
        and len(key_bits) == len(orders) == len(starts) == LISTS
        and 1 <= key_bits.shape[1] <= 24
        and starts.shape[1] == (1 << key_bits.shape[1]) + 1
        and 0 < lists.covered <= count
        and int(orders.max()) < lists.covered
        and (starts[:, 1:] >= starts[:, :-1]).all()
        and (starts[:, 0] == 0).all()
        and (starts[:, -1] == lists.covered).all()
        and key_bits.min() >= 0
        and key_bits.max() < bits
        and len(np.unique(key_bits)) == key_bits.size
    ):
        raise InvalidInput("its lists are inconsistent")


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


UNLISTED = Lists(
    _read_only(np.zeros((LISTS, 0), np.int64)),
    _read_only(np.zeros((LISTS, 0), np.uint32)),
    _read_only(np.zeros((LISTS, 1), np.uint32)),
)
"""The lists of rows that are only scanned."""

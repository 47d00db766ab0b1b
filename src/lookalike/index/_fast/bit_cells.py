"""Which codes may be near: cells of codes around centres, each sorted by distance from its centre.

A code that differs from its centre in d bits costs a query at least the cost of the centre less the
d heaviest bits. So of each cell only codes from some distance on are visited, mostly none.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lookalike.core._fast import F32, F64, I32, I64, LOOP, U8, U32, U64
from lookalike.index._fast.best import FREE
from lookalike.index._fast.bits import (
    CAP,
    MAX_CODE,
    TOP,
    TOTAL,
    BitQuery,
    Layout,
    collect,
    cost_limit,
    exact_score,
    lanes_within,
    offer_places,
    query_of,
    set_limit,
)
from lookalike.index._fast.row_order import GROUP, ones
from lookalike.index._fast.shuffle import LANES, near_lanes

LISTED = 32
"""Centres at most that a code is compared with for each of its parts."""


class Cells(NamedTuple):
    """Centres in blocks as codes, and where the codes of each cell lie by distance from its centre.

    The codes of a cell that differ from its centre in d bits or more are at the places from
    ``rings[cell, d]`` to below ``rings[cell, -1]``, or in the same groups as those. From ``loose``
    on lie codes that are near no centre.
    """

    centres: U8
    rings: U32
    loose: int


@njit(**LOOP)
def heaviest(adds: F64, most: int) -> F64:
    """Return what the 0, 1, 2 … heaviest bits cost together."""
    costs = np.sort(np.abs(adds[1] - adds[0]))[::-1]
    sums = np.zeros(most + 1)
    for number in range(most):
        sums[number + 1] = sums[number] + costs[number]
    return sums


@njit(**LOOP)
def near_ranges(
    cells: Cells, covered: int, adds: F64, query: BitQuery, limit: float, ranges: I64
) -> int:
    """List where codes lie whose cost may be within a limit, by the first place and the one after.

    Return how many ranges there are; the last has the codes of no cell.
    """
    count, farthest = cells.rings.shape[0], cells.rings.shape[1] - 2
    sums = heaviest(adds, farthest)
    reach = limit + query.state[TOTAL] * 2.0**-40
    tables = np.empty_like(query.tables)
    state = np.zeros_like(query.state)
    state[TOTAL] = query.state[TOTAL]
    set_limit(reach + sums[farthest], query.halves, tables, state)
    result = 0
    after = 0
    for block in range(cells.centres.shape[0]):
        near = near_lanes(
            cells.centres, block, tables, query.values.shape[0], np.uint8(state[MAX_CODE])
        )
        near &= lanes_within(block, 0, count)
        cell = block * LANES
        while near:
            if near & np.uint32(1):
                cost = query.state[TOP] - exact_score(cells.centres, cell, query.values)
                ring = 0
                while ring <= farthest and cost - sums[ring] > reach:
                    ring += 1
                begin = int(cells.rings[cell, ring])
                end = int(cells.rings[cell, farthest + 1])
                if begin < end:
                    # A group may have codes of two cells.
                    ranges[result, 0] = max(begin // GROUP * GROUP, after)
                    after = max(min((end + GROUP - 1) // GROUP * GROUP, covered), after)
                    ranges[result, 1] = after
                    result += 1
            near >>= np.uint32(1)
            cell += 1
    ranges[result, 0] = max(cells.loose // GROUP * GROUP, after)
    ranges[result, 1] = max(covered, after)
    return result + 1


@njit(**LOOP)
def offer_near(
    layout: Layout,
    cells: Cells,
    adds: F64,
    excluded: I64,
    batch: BitQuery,
    scores: F32,
    ids: I64,
    first: int,
    most: int,
    left: NDArray[np.bool_],
) -> None:
    """Merge the codes in cells into each query's best.

    The ``first`` nearest cells give a limit, and with it all are visited anew. If that were more
    than ``most`` codes, or the limit not even found, ``left`` stays true.
    """
    count = cells.rings.shape[0]
    ranges = np.empty((count + 1, 2), np.int64)
    nearest = np.empty(first, np.float32)
    which = np.empty(first, np.int64)
    centres = Layout(cells.centres, 0, layout.rows[:0], np.zeros(1, np.int64))
    none = np.empty(0, np.int64)
    for query in range(left.size):
        bit_query = query_of(batch, query)
        nearest[:] = -np.inf
        which[:] = FREE
        set_limit(np.inf, bit_query.halves, bit_query.tables, bit_query.state)
        offer_places(centres, 0, count, none, bit_query, nearest, which)
        set_limit(np.inf, bit_query.halves, bit_query.tables, bit_query.state)
        after = 0
        for cell in np.sort(which):
            if cell == FREE:
                break
            begin = max(int(cells.rings[cell, 0]), after)
            after = max(int(cells.rings[cell, -1]), after)
            offer_places(
                layout, begin, after, excluded[query], bit_query, scores[query], ids[query]
            )
        limit = cost_limit(bit_query.state, scores[query, 0])
        bit_query.state[CAP] = limit
        scores[query] = -np.inf
        ids[query] = FREE
        if limit == np.inf:
            continue
        result = near_ranges(cells, layout.covered, adds[query], bit_query, limit, ranges)
        if (ranges[:result, 1] - ranges[:result, 0]).sum() > most:
            continue
        set_limit(limit, bit_query.halves, bit_query.tables, bit_query.state)
        for begin, end in ranges[:result]:
            offer_places(layout, begin, end, excluded[query], bit_query, scores[query], ids[query])
        left[query] = False


@njit(**LOOP)
def collect_near(
    layout: Layout,
    cells: Cells,
    adds: F64,
    query: BitQuery,
    least: np.float32,
    scores: F32,
    ids: I64,
) -> int:
    """Write the codes in cells whose score is at least ``least``; return how many there are."""
    ranges = np.empty((cells.rings.shape[0] + 1, 2), np.int64)
    limit = cost_limit(query.state, least)
    near = near_ranges(cells, layout.covered, adds, query, limit, ranges)
    result = 0
    for begin, end in ranges[:near]:
        result = collect(layout, begin, end, query, least, result, scores, ids)
    return result


@njit(**LOOP)
def assign(
    codes: U64, centres: U64, parts: I64, width: int, far: int, cells: I64, distances: I64
) -> None:
    """Write a near centre of each code: the nearest of those that agree in some part of it.

    ``parts`` are a word and a shift each, ``width`` their bits. If those are farther than ``far``,
    centres that differ in one bit of a part are tried as well.
    """
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    starts = np.zeros((parts.shape[0], (1 << width) + 1), np.int64)
    lists = np.empty((parts.shape[0], centres.shape[0]), np.int64)
    for part in range(parts.shape[0]):
        keys = (centres[:, parts[part, 0]] >> np.uint64(parts[part, 1])) & mask
        lists[part] = np.argsort(keys)
        for key in keys:
            starts[part, key + np.uint64(1)] += 1
        for key in range(1 << width):
            starts[part, key + 1] += starts[part, key]
    for row in range(codes.shape[0]):
        best = 0
        least = differing(codes, row, centres, 0)
        for flips in range(width + 1):
            if flips == 1 and least <= far:
                break
            flipped = (np.uint64(1) << np.uint64(flips)) >> np.uint64(1)
            for part in range(parts.shape[0]):
                key = (codes[row, parts[part, 0]] >> np.uint64(parts[part, 1])) & mask ^ flipped
                begin = starts[part, key]
                end = min(starts[part, key + np.uint64(1)], begin + LISTED)
                for place in range(begin, end):
                    centre = lists[part, place]
                    distance = differing(codes, row, centres, centre)
                    if distance < least:
                        least = distance
                        best = centre
        cells[row] = best
        distances[row] = least


@njit(**LOOP)
def differing(codes: U64, row: int, others: U64, other: int) -> int:
    """Return in how many bits a code differs from another."""
    distance = 0
    for word in range(codes.shape[1]):
        distance += int(ones(codes[row, word] ^ others[other, word]))
    return distance


@njit(**LOOP)
def count_ones(codes: U64, cells: I64, counts: I32) -> None:
    """Add to the row of each code's cell its bits, from the lowest of the first word."""
    for row in range(codes.shape[0]):
        cell = cells[row]
        for bit in range(counts.shape[1]):
            word = codes[row, bit >> 6]
            counts[cell, bit] += np.int32((word >> np.uint64(bit & 63)) & np.uint64(1))

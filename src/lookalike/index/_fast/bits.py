"""Exact search among binary codes: byte tables rule codes out, sums in float64 score the rest.

A score is Σⱼ of what bit j adds when it is 0 or 1. The cost of a code is how far its score is below
the best possible one. Costs of half bytes, divided by a step and rounded down, add up to a lower
bound of the cost, so a code whose bound is above the limit is not among the best; all others are
scored exactly. Codes lie in blocks of 32, one row for each of their bytes.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from lookalike.core._fast import F32, F64, I64, LOOP, U8, U64
from lookalike.index._fast.best import is_among, offer
from lookalike.index._fast.row_order import row_of
from lookalike.index._fast.shuffle import LANES, near_lanes

TILE = 64
"""Blocks that stay in a core's cache while a batch of queries visits them."""

TOP, TOTAL, STEP, MAX_CODE, CAP = 0, 1, 2, 3, 4
"""Of a query: its best score, its sum of weights, the tables' step, the largest sum and cost."""

_MAX_SCORE = float(np.finfo(np.float32).max)


class Layout(NamedTuple):
    """Where codes lie: their blocks, the number of sorted ones, the rows of those, and all ids.

    ``names`` are the ids by row, or the first of consecutive ones.
    """

    blocks: U8
    covered: int
    rows: U64
    names: I64


class BitQuery(NamedTuple):
    """A query: the score of each byte, the cost of each half byte, its table entry, the state."""

    values: F64
    halves: F64
    tables: U8
    state: F64


@njit(**LOOP)
def query_of(batch: BitQuery, query: int) -> BitQuery:
    """Return one query of a batch."""
    return BitQuery(
        batch.values[query], batch.halves[query], batch.tables[query], batch.state[query]
    )


@njit(**LOOP)
def set_tables(adds: F64, values: F64, halves: F64, state: F64) -> None:
    """Write a query's score of each byte, the cost of each half byte, and the state of a scan.

    ``adds[v, j]`` is what bit j adds to the score when it is v; bits are packed as by
    ``numpy.packbits``.
    """
    top = 0.0
    total = 0.0
    scores = np.empty((2, 16))
    for column in range(values.shape[0]):
        # The lower half of a byte has the later bits.
        for part in range(2):
            first = 8 * column + 4 * (1 - part)
            for half in range(16):
                score = 0.0
                cost = 0.0
                for j in range(4):
                    bit = (half >> (3 - j)) & 1
                    score += adds[bit, first + j]
                    cost += max(adds[1 - bit, first + j] - adds[bit, first + j], 0.0)
                scores[part, half] = score
                halves[2 * column + part, half] = cost
        for byte in range(256):
            values[column, byte] = scores[1, byte >> 4] + scores[0, byte & 15]
    for j in range(adds.shape[1]):
        top += max(adds[0, j], adds[1, j])
        total += abs(adds[0, j]) + abs(adds[1, j])
    state[TOP] = top
    state[TOTAL] = total
    state[CAP] = np.inf


@njit(**LOOP)
def cost_limit(state: F64, worst: np.float32) -> float:
    """Return a cost above which no score, rounded to float32, is as high as ``worst``.

    The margins cover half a unit in the last place of float32 and the rounding of float64 sums.
    """
    if worst == -np.inf:
        return state[CAP]
    score = min(np.float64(worst), _MAX_SCORE)
    margin = abs(score) * 2.0**-23 + 1.5e-45 + state[TOTAL] * 2.0**-40
    return min(state[TOP] - score + margin, state[CAP])


@njit(**LOOP)
def set_limit(limit: float, halves: F64, tables: U8, state: F64) -> None:
    """Set the largest sum of table entries that may be within a cost; refine the tables if coarse.

    Entries are rounded down, so a code's sum times the step is never above its cost.
    """
    if limit == np.inf:
        state[MAX_CODE] = 255.0
        state[STEP] = 0.0
        return
    if state[STEP] > 0.0 and limit >= 100.0 * state[STEP]:
        state[MAX_CODE] = min(np.floor(limit / state[STEP]), 255.0)
        return
    step = max(limit, state[TOTAL] * 2.0**-40, 1e-300) / 254.0
    for row in range(halves.shape[0]):
        for half in range(16):
            entry = np.uint8(min(np.floor(halves[row, half] / step), 255.0))
            tables[row, half] = entry
            tables[row, half + 16] = entry
    state[STEP] = step
    state[MAX_CODE] = min(np.floor(limit / step), 255.0)


@njit(**LOOP)
def exact_score(blocks: U8, place: int, values: F64) -> float:
    """Return the score of the code at a place, summed in a fixed order."""
    score = 0.0
    for column in range(values.shape[0]):
        score += values[column, blocks[place // LANES, column, place % LANES]]
    return score


@njit(**LOOP)
def lanes_within(block: int, begin: int, end: int) -> np.uint32:
    """Return a bit for each place of a block that is from ``begin`` to below ``end``."""
    lanes = np.uint32(0xFFFFFFFF)
    if block * LANES < begin:
        lanes &= np.uint32(0xFFFFFFFF) << np.uint32(begin - block * LANES)
    if (block + 1) * LANES > end:
        lanes &= np.uint32(0xFFFFFFFF) >> np.uint32((block + 1) * LANES - end)
    return lanes


@njit(**LOOP)
def name_at(place: int, layout: Layout) -> np.int64:
    """Return the id of the code at a place."""
    row = row_of(place, layout.rows) if place < layout.covered else np.int64(place)
    return layout.names[0] + row if layout.names.size == 1 else layout.names[row]


@njit(**LOOP)
def offer_places(
    layout: Layout, begin: int, end: int, excluded: I64, query: BitQuery, scores: F32, ids: I64
) -> None:
    """Merge the codes from one place to below another into a query's best."""
    state = query.state
    columns = query.values.shape[0]
    most = np.uint8(state[MAX_CODE])
    for number in range(begin // LANES, (end + LANES - 1) // LANES):
        near = near_lanes(layout.blocks, number, query.tables, columns, most)
        if near == 0:
            continue
        near &= lanes_within(number, begin, end)
        place = number * LANES
        while near:
            if near & np.uint32(1):
                score = np.float32(exact_score(layout.blocks, place, query.values))
                if score >= scores[0]:
                    name = name_at(place, layout)
                    better = score > scores[0] or name < ids[0]
                    if better and not is_among(name, excluded):
                        offer(scores, ids, score, name)
                        set_limit(cost_limit(state, scores[0]), query.halves, query.tables, state)
                        most = np.uint8(state[MAX_CODE])
            near >>= np.uint32(1)
            place += 1


@njit(**LOOP)
def offer_all(
    layout: Layout, begin: int, end: int, excluded: I64, batch: BitQuery, scores: F32, ids: I64
) -> None:
    """Merge the codes from one place to below another into the best of each query of a batch."""
    for query in range(batch.state.shape[0]):
        limit = cost_limit(batch.state[query], scores[query, 0])
        set_limit(limit, batch.halves[query], batch.tables[query], batch.state[query])
    step = TILE * LANES
    for first in range(begin // step * step, end, step):
        for query in range(batch.state.shape[0]):
            offer_places(
                layout,
                max(first, begin),
                min(first + step, end),
                excluded[query],
                query_of(batch, query),
                scores[query],
                ids[query],
            )


@njit(**LOOP)
def collect(
    layout: Layout,
    begin: int,
    end: int,
    query: BitQuery,
    least: np.float32,
    result: int,
    scores: F32,
    ids: I64,
) -> int:
    """Append the codes whose score is at least ``least``; return how many there are by now.

    Those for which there is no room are counted only.
    """
    columns = query.values.shape[0]
    most = np.uint8(query.state[MAX_CODE])
    for number in range(begin // LANES, (end + LANES - 1) // LANES):
        near = near_lanes(layout.blocks, number, query.tables, columns, most)
        if near == 0:
            continue
        near &= lanes_within(number, begin, end)
        place = number * LANES
        while near:
            if near & np.uint32(1):
                score = np.float32(exact_score(layout.blocks, place, query.values))
                if score >= least:
                    if result < ids.size:
                        scores[result] = score
                        ids[result] = name_at(place, layout)
                    result += 1
            near >>= np.uint32(1)
            place += 1
    return result


@njit(**LOOP)
def score_places(blocks: U8, places: I64, values: F64, scores: F64) -> None:
    """Write the exact scores of the codes at some places."""
    for number in range(places.size):
        place = places[number]
        scores[number] = exact_score(blocks, place, values)


@njit(**LOOP)
def fill_blocks(codes: U8, first: int, blocks: U8) -> None:
    """Write packed codes to the places from ``first``."""
    for row in range(codes.shape[0]):
        place = first + row
        for column in range(codes.shape[1]):
            blocks[place // LANES, column, place % LANES] = codes[row, column]


@njit(**LOOP)
def read_blocks(blocks: U8, places: I64, codes: U8) -> None:
    """Write the packed codes at some places."""
    for number in range(places.size):
        place = places[number]
        for column in range(codes.shape[1]):
            codes[number, column] = blocks[place // LANES, column, place % LANES]

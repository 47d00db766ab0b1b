"""Exact search among binary codes: byte tables rule codes out, sums in float64 score the rest.

A score is Σⱼ of what bit j adds when it is 0 or 1. The cost of a code is how far its score is below
the best possible one. Costs of half bytes, divided by a step and rounded down, add up to a lower
bound of the cost, so a code whose bound is above the limit is not among the best; all others are
scored exactly. Codes lie in blocks of 32, one row for each of their bytes.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lookalike.core._fast import LOOP
from lookalike.index._fast.best import is_among, offer
from lookalike.index._fast.shuffle import LANES, near_lanes

TILE = 64
"""Blocks that stay in a core's cache while a batch of queries visits them."""

TOP, TOTAL, STEP, MOST, CAP = 0, 1, 2, 3, 4
"""Of a query: its best score, its sum of weights, the tables' step, the largest sum and cost."""

_LARGEST = float(np.finfo(np.float32).max)


@njit(**LOOP)
def set_tables(
    adds: NDArray[np.float64],
    values: NDArray[np.float64],
    halves: NDArray[np.float64],
    state: NDArray[np.float64],
) -> None:
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
def cost_limit(state: NDArray[np.float64], worst: np.float32) -> float:
    """Return a cost above which no score, rounded to float32, is as high as ``worst``.

    The margins cover half a unit in the last place of float32 and the rounding of float64 sums.
    """
    if worst == -np.inf:
        return state[CAP]
    score = min(np.float64(worst), _LARGEST)
    margin = abs(score) * 2.0**-23 + 1.5e-45 + state[TOTAL] * 2.0**-40
    return min(state[TOP] - score + margin, state[CAP])


@njit(**LOOP)
def set_limit(
    limit: float,
    halves: NDArray[np.float64],
    tables: NDArray[np.uint8],
    state: NDArray[np.float64],
) -> None:
    """Set the largest sum of table entries that may be within a cost; refine the tables if coarse.

    Entries are rounded down, so a code's sum times the step is never above its cost.
    """
    if limit == np.inf:
        state[MOST] = 255.0
        state[STEP] = 0.0
        return
    if state[STEP] > 0.0 and limit >= 100.0 * state[STEP]:
        state[MOST] = min(np.floor(limit / state[STEP]), 255.0)
        return
    step = max(limit, state[TOTAL] * 2.0**-40, 1e-300) / 254.0
    for row in range(halves.shape[0]):
        for half in range(16):
            entry = np.uint8(min(np.floor(halves[row, half] / step), 255.0))
            tables[row, half] = entry
            tables[row, half + 16] = entry
    state[STEP] = step
    state[MOST] = min(np.floor(limit / step), 255.0)


@njit(**LOOP)
def exact_score(blocks: NDArray[np.uint8], place: int, values: NDArray[np.float64]) -> float:
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
def name_of(row: int, names: NDArray[np.int64]) -> np.int64:
    """Return the id of a row; ``names`` are the ids, or the first of consecutive ones."""
    return names[0] + row if names.size == 1 else names[row]


@njit(**LOOP)
def offer_places(
    blocks: NDArray[np.uint8],
    begin: int,
    end: int,
    names: NDArray[np.int64],
    excluded: NDArray[np.int64],
    values: NDArray[np.float64],
    halves: NDArray[np.float64],
    tables: NDArray[np.uint8],
    state: NDArray[np.float64],
    scores: NDArray[np.float32],
    ids: NDArray[np.int64],
) -> None:
    """Merge the codes from one place to below another into a query's best."""
    columns = values.shape[0]
    most = np.uint8(state[MOST])
    for number in range(begin // LANES, (end + LANES - 1) // LANES):
        near = near_lanes(blocks, number, tables, columns, most)
        if near == 0:
            continue
        near &= lanes_within(number, begin, end)
        place = number * LANES
        while near:
            if near & np.uint32(1):
                score = np.float32(exact_score(blocks, place, values))
                if score >= scores[0]:
                    name = name_of(place, names)
                    better = score > scores[0] or name < ids[0]
                    if better and not is_among(name, excluded):
                        offer(scores, ids, score, name)
                        set_limit(cost_limit(state, scores[0]), halves, tables, state)
                        most = np.uint8(state[MOST])
            near >>= np.uint32(1)
            place += 1


@njit(**LOOP)
def offer_all(
    blocks: NDArray[np.uint8],
    begin: int,
    end: int,
    names: NDArray[np.int64],
    excluded: NDArray[np.int64],
    values: NDArray[np.float64],
    halves: NDArray[np.float64],
    tables: NDArray[np.uint8],
    states: NDArray[np.float64],
    scores: NDArray[np.float32],
    ids: NDArray[np.int64],
) -> None:
    """Merge the codes from one place to below another into the best of each query of a batch."""
    for query in range(states.shape[0]):
        set_limit(
            cost_limit(states[query], scores[query, 0]),
            halves[query],
            tables[query],
            states[query],
        )
    step = TILE * LANES
    for first in range(begin // step * step, end, step):
        for query in range(states.shape[0]):
            offer_places(
                blocks,
                max(first, begin),
                min(first + step, end),
                names,
                excluded[query],
                values[query],
                halves[query],
                tables[query],
                states[query],
                scores[query],
                ids[query],
            )


@njit(**LOOP)
def list_keys(
    weights: NDArray[np.float64],
    masks: NDArray[np.uint32],
    key: np.uint32,
    above: float,
    most: float,
    keys: NDArray[np.uint32],
    beyond: NDArray[np.float64],
) -> int:
    """List the keys whose distance from ``key`` is above one number and at most another.

    ``weights`` ascend, ``masks`` are their bits. Sets of flipped bits are extended by heavier bits
    only, so every set is met once and none beyond ``most``. Write the least distance of the others
    to ``beyond``, and return the number of keys, or -1 if they do not fit into ``keys``.
    """
    bits = weights.size
    costs = np.zeros(bits + 1)
    flipped = np.zeros(bits + 1, np.uint32)
    following = np.zeros(bits + 1, np.int64)
    flipped[0] = key
    depth = 0
    count = 0
    least = np.inf
    if above < 0.0 <= most:
        keys[0] = key
        count = 1
    while depth >= 0:
        bit = following[depth]
        if bit < bits and costs[depth] + weights[bit] <= most:
            following[depth] = bit + 1
            cost = costs[depth] + weights[bit]
            changed = flipped[depth] ^ masks[bit]
            depth += 1
            costs[depth] = cost
            flipped[depth] = changed
            following[depth] = bit + 1
            if cost > above:
                if count == keys.size:
                    return -1
                keys[count] = changed
                count += 1
        else:
            if bit < bits:
                least = min(least, costs[depth] + weights[bit])
            depth -= 1
    beyond[0] = least
    return count


@njit(**LOOP)
def key_weights(
    adds: NDArray[np.float64],
    key_bits: NDArray[np.int64],
    weights: NDArray[np.float64],
    masks: NDArray[np.uint32],
) -> np.uint32:
    """Write the cost of flipping each bit of a query's key, ascending; return the best key."""
    key = np.uint32(0)
    costs = np.empty(key_bits.size)
    for place in range(key_bits.size):
        bit = key_bits[place]
        costs[place] = abs(adds[1, bit] - adds[0, bit])
        if adds[1, bit] > adds[0, bit]:
            key |= np.uint32(1) << np.uint32(place)
    order = np.argsort(costs)
    for place in range(order.size):
        weights[place] = costs[order[place]]
        masks[place] = np.uint32(1) << np.uint32(order[place])
    return key


@njit(**LOOP)
def offer_by_keys(
    blocks: NDArray[np.uint8],
    starts: NDArray[np.uint32],
    orders: NDArray[np.uint32],
    names: NDArray[np.int64],
    excluded: NDArray[np.int64],
    values: NDArray[np.float64],
    state: NDArray[np.float64],
    scores: NDArray[np.float32],
    ids: NDArray[np.int64],
    weights: NDArray[np.float64],
    masks: NDArray[np.uint32],
    own: NDArray[np.uint32],
    buffers: NDArray[np.uint32],
) -> bool:
    """Merge the listed codes into a query's best, those with a near key first.

    A code has a key in each list. For each list, keys are visited in layers of growing distance.
    A code that is in no visited layer costs at least the sum of the distances of the next keys,
    since keys have no bit in common; so the search ends once that sum is above the limit. Return
    False, unfinished, if the buffers, for keys and for codes, would not do; now and then it counts
    ahead, so that little is visited in vain.
    """
    lists = weights.shape[0]
    done = np.full(lists, -1.0)
    following = np.zeros(lists)
    beyond = np.zeros(1)
    listed = np.zeros(lists, np.int64)
    work = 0
    ahead = buffers.shape[1] // 8
    slack = state[TOTAL] * 2.0**-40
    while True:
        limit = cost_limit(state, scores[0]) + slack
        reached = following.sum()
        if reached > limit or reached == np.inf:
            return True
        which = listed.argmin()
        if work > ahead:
            ahead = 2 * work
            rest = following[which] + (limit - reached) / lists
            count = list_keys(
                weights[which], masks[which], own[which], -1.0, rest, buffers[0], beyond
            )
            if count < 0:
                return False
        most = min(done[which] + weights[which].mean(), following[which] + limit - reached)
        most = max(most, following[which] * (1.0 + 2.0**-40))
        count = list_keys(
            weights[which], masks[which], own[which], done[which], most, buffers[0], beyond
        )
        if count < 0:
            return False
        found = 0
        for number in range(count):
            key = buffers[0, number]
            begin = starts[which, key]
            end = starts[which, key + np.uint32(1)]
            for place in range(begin, end):
                if found == buffers.shape[1]:
                    return False
                buffers[1, found] = orders[which, place]
                found += 1
        for number in range(found):
            row = np.int64(buffers[1, number])
            score = np.float32(exact_score(blocks, row, values))
            if score >= scores[0]:
                name = name_of(row, names)
                better = score > scores[0] or name < ids[0]
                # A code may be met once in each list.
                if better and not is_among(name, excluded) and not is_among(name, ids):
                    offer(scores, ids, score, name)
        work += count + found
        if work > buffers.shape[1]:
            return False
        listed[which] += count
        done[which] = most
        following[which] = beyond[0]


@njit(**LOOP)
def collect(
    blocks: NDArray[np.uint8],
    begin: int,
    end: int,
    names: NDArray[np.int64],
    values: NDArray[np.float64],
    tables: NDArray[np.uint8],
    state: NDArray[np.float64],
    least: np.float32,
    found: int,
    scores: NDArray[np.float32],
    ids: NDArray[np.int64],
) -> int:
    """Append the codes whose score is at least ``least``; return how many there are by now.

    Those for which there is no room are counted only.
    """
    columns = values.shape[0]
    for number in range(begin // LANES, (end + LANES - 1) // LANES):
        near = near_lanes(blocks, number, tables, columns, np.uint8(state[MOST]))
        if near == 0:
            continue
        near &= lanes_within(number, begin, end)
        place = number * LANES
        while near:
            if near & np.uint32(1):
                score = np.float32(exact_score(blocks, place, values))
                if score >= least:
                    if found < ids.size:
                        scores[found] = score
                        ids[found] = name_of(place, names)
                    found += 1
            near >>= np.uint32(1)
            place += 1
    return found


@njit(**LOOP)
def score_places(
    blocks: NDArray[np.uint8],
    places: NDArray[np.int64],
    values: NDArray[np.float64],
    scores: NDArray[np.float64],
) -> None:
    """Write the exact scores of the codes at some places."""
    for number in range(places.size):
        place = places[number]
        scores[number] = exact_score(blocks, place, values)


@njit(**LOOP)
def fill_blocks(codes: NDArray[np.uint8], first: int, blocks: NDArray[np.uint8]) -> None:
    """Write packed codes to the places from ``first``."""
    for row in range(codes.shape[0]):
        place = first + row
        for column in range(codes.shape[1]):
            blocks[place // LANES, column, place % LANES] = codes[row, column]


@njit(**LOOP)
def read_blocks(
    blocks: NDArray[np.uint8], places: NDArray[np.int64], codes: NDArray[np.uint8]
) -> None:
    """Write the packed codes at some places."""
    for number in range(places.size):
        place = places[number]
        for column in range(codes.shape[1]):
            codes[number, column] = blocks[place // LANES, column, place % LANES]


@njit(**LOOP)
def set_keys(
    blocks: NDArray[np.uint8], key_bits: NDArray[np.int64], keys: NDArray[np.uint32]
) -> None:
    """Write the key of each code: the bits at ``key_bits``, the first as the lowest."""
    for place in range(keys.size):
        key = np.uint32(0)
        for number in range(key_bits.size):
            bit = key_bits[number]
            byte = blocks[place // LANES, bit // 8, place % LANES]
            key |= np.uint32((byte >> (7 - bit % 8)) & 1) << np.uint32(number)
        keys[place] = key


@njit(**LOOP)
def sort_by_key(
    keys: NDArray[np.uint32], starts: NDArray[np.uint32], order: NDArray[np.uint32]
) -> None:
    """Write the rows in the order of their keys, and where each key starts."""
    starts[:] = 0
    for row in range(keys.size):
        starts[keys[row] + np.uint32(1)] += np.uint32(1)
    for key in range(1, starts.size):
        starts[key] += starts[key - 1]
    following = starts[:-1].copy()
    for row in range(keys.size):
        key = keys[row]
        order[following[key]] = np.uint32(row)
        following[key] += np.uint32(1)

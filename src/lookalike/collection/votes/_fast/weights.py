"""Sum up, over all votes, how much of each of their pictures turns a query."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.core._fast import F32, F64, I32, I64, LOOP, njit


class Votes(NamedTuple):
    """The pictures of all votes; those of a vote stand together and end at its ``stops``.

    ``widths`` and ``powers`` are of the kernels by which votes fade, and ``reaches`` the cosines
    with an anchor up to which they are not faint.
    """

    anchors: I32
    sides: NDArray[np.int8]
    steps: F64
    stops: I64
    widths: F64
    powers: NDArray[np.int8]
    reaches: F64


@njit(**LOOP)
def near_votes(cosines: F32, votes: Votes, near: I64) -> int:
    """Write the votes of which an anchor is as near as they reach; return how many there are.

    ``cosines`` are those of the anchors with a query, or the largest with several.
    """
    start, found = np.uint64(0), np.uint64(0)
    for vote in range(np.uint64(votes.stops.size)):
        stop = np.uint64(votes.stops[vote])
        is_near = False
        for place in range(start, stop):
            cosine = cosines[np.uint64(votes.anchors[place])]
            is_near = is_near or cosine > votes.reaches[vote]
        if is_near:
            near[found] = vote
            found += np.uint64(1)
        start = stop
    return int(found)


@njit(**LOOP)
def vote_weights(
    cosines: F32, votes: Votes, trust: F64, near: I64, faint: float, places: I64, weights: F64
) -> int:
    """Write the pictures of the votes ``near``, how much of each turns a query; return how many.

    A vote whose steps all turn the query by less than ``faint`` is passed over.
    """
    found = np.uint64(0)
    for number in range(np.uint64(near.size)):
        vote = np.uint64(near[number])
        start = np.uint64(votes.stops[vote - np.uint64(1)]) if vote else np.uint64(0)
        is_near = False
        up, down = 0.0, 0.0
        picked, rejected = 0, 0
        first = found
        for place in range(start, np.uint64(votes.stops[vote])):
            apart = votes.widths[vote] * (1.0 - min(cosines[np.uint64(votes.anchors[place])], 1.0))
            if votes.powers[vote] == 2:
                apart *= apart
            turn = trust[vote] * votes.steps[place] * math.exp(-apart)
            is_near = is_near or abs(turn) > faint
            places[found] = place
            weights[found] = turn
            found += np.uint64(1)
            if votes.sides[place] > 0:
                up += turn
                picked += 1
            elif votes.sides[place] < 0:
                down += turn
                rejected += 1
        if not is_near:
            found = first
            continue
        for own in range(first, found):
            turn, side = weights[own], votes.sides[np.uint64(places[own])]
            if side == 0:
                continue
            if (picked < 2 and rejected == 0) or picked == 0:
                # What it compared was deleted.
                weights[own] = 0.0
            elif rejected == 0:
                weights[own] = (up - turn) / (picked - 1)
            elif side < 0:
                weights[own] = turn - up / rejected
            elif picked == 1:
                weights[own] = turn - down
            else:
                weights[own] = (up - turn) / (picked - 1) - down / picked
    return int(found)


@njit(**LOOP)
def vote_sums(
    cosines: F32, votes: Votes, trusts: F64, which: I64, near: I64, faint: float, items: I32
) -> tuple[I64, F32]:
    """Return the items that turn queries, and how much of each turns each query, a row each.

    ``cosines`` has a row for each query, and ``which`` the row of ``trusts`` that it goes by.
    """
    column = np.full(items.max() + 1, -1)
    most, columns = 0, 0
    for number in range(np.uint64(near.size)):
        vote = np.uint64(near[number])
        start = np.uint64(votes.stops[vote - np.uint64(1)]) if vote else np.uint64(0)
        for place in range(start, np.uint64(votes.stops[vote])):
            most += 1
            if column[np.uint64(items[place])] < 0:
                column[np.uint64(items[place])] = columns
                columns += 1
    places, weights = np.empty(most, np.int64), np.empty(most)
    sums = np.zeros((which.size, columns))
    for row in range(np.uint64(which.size)):
        trust = trusts[np.uint64(which[row])]
        found = vote_weights(cosines[row], votes, trust, near, faint, places, weights)
        for place in range(np.uint64(found)):
            item = np.uint64(items[np.uint64(places[place])])
            sums[row, np.uint64(column[item])] += weights[place]
    used = np.empty(columns, np.int64)
    for number in range(np.uint64(column.size)):
        if column[number] >= 0:
            used[np.uint64(column[number])] = number
    return used, sums.astype(np.float32)

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


_SUMS_MAY_BE_REORDERED = {"reassoc", "contract", "nsz"}


@njit(**LOOP, fastmath=_SUMS_MAY_BE_REORDERED, forceinline=True)
def _four_products(q: F32, r: F32, s: F32, t: F32, row: F32) -> tuple[np.float32, ...]:
    """Return the inner products of four vectors with a row, which is read once for all."""
    a = b = c = d = row.dtype.type(0)
    for j in range(row.size):
        a += q[j] * row[j]
        b += r[j] * row[j]
        c += s[j] * row[j]
        d += t[j] * row[j]
    return a, b, c, d


@njit(**LOOP)
def _products(few: F32, many: F32) -> F32:
    products = np.empty((few.shape[0], many.shape[0]), few.dtype)
    whole = few.shape[0] - few.shape[0] % 4
    last = np.zeros((4, few.shape[1]), few.dtype)
    last[: few.shape[0] - whole] = few[whole:]
    for i in range(many.shape[0]):
        row = many[i]
        for k in range(0, whole, 4):
            a, b, c, d = _four_products(few[k], few[k + 1], few[k + 2], few[k + 3], row)
            products[k, i], products[k + 1, i], products[k + 2, i], products[k + 3, i] = a, b, c, d
        if whole < few.shape[0]:
            rest = _four_products(last[0], last[1], last[2], last[3], row)
            for k in range(whole, few.shape[0]):
                products[k, i] = rest[k - whole]
    return products


@njit(**LOOP)
def row_products(queries: F32, rows: F32) -> F32:
    """Return the inner products of queries with rows, a row for each query.

    Each is summed up in the same order however many there are of either.
    """
    if queries.shape[0] == 1:
        return _products(rows, queries).reshape((1, rows.shape[0]))
    return _products(queries, rows)


@njit(**LOOP)
def near_votes(cosines: F32, votes: Votes, among: I64, near: I64) -> int:
    """Write those votes of which an anchor is as near as they reach; return how many there are.

    ``cosines`` are those of the anchors with a query, or the largest with several.
    """
    found = np.uint64(0)
    for number in range(np.uint64(among.size)):
        vote = np.uint64(among[number])
        start = np.uint64(votes.stops[vote - np.uint64(1)]) if vote else np.uint64(0)
        is_near = False
        for place in range(start, np.uint64(votes.stops[vote])):
            cosine = cosines[np.uint64(votes.anchors[place])]
            is_near = is_near or cosine > votes.reaches[vote]
        if is_near:
            near[found] = vote
            found += np.uint64(1)
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
    cosines: F32,
    votes: Votes,
    trusts: F64,
    which: I64,
    near: I64,
    faint: float,
    items: I32,
    most: int,
) -> tuple[I64, F32]:
    """Return the items that turn queries, in order, and how much of each turns each query.

    ``cosines`` has a row for each query, ``which`` the row of ``trusts`` that it goes by, and there
    are ``most`` items.
    """
    column, pictures = np.full(most, -1), 0
    for number in range(np.uint64(near.size)):
        vote = np.uint64(near[number])
        start = np.uint64(votes.stops[vote - np.uint64(1)]) if vote else np.uint64(0)
        pictures += int(np.uint64(votes.stops[vote]) - start)
        for place in range(start, np.uint64(votes.stops[vote])):
            column[np.uint64(items[place])] = 0
    used = np.flatnonzero(column == 0)
    for number in range(np.uint64(used.size)):
        column[np.uint64(used[number])] = number
    places, weights, own = np.empty(pictures, np.int64), np.empty(pictures), np.empty_like(near)
    sums = np.zeros((which.size, used.size))
    for row in range(np.uint64(which.size)):
        reached = near_votes(cosines[row], votes, near, own)
        trust = trusts[np.uint64(which[row])]
        found = vote_weights(cosines[row], votes, trust, own[:reached], faint, places, weights)
        for place in range(np.uint64(found)):
            item = np.uint64(items[np.uint64(places[place])])
            sums[row, np.uint64(column[item])] += weights[place]
    return used, sums.astype(np.float32)


@njit(**LOOP, fastmath={"contract"})
def weighted_rows(weights: F32, rows: F32, used: I64) -> F32:
    """Return the sums of the rows ``used`` by their weights, for each row of weights.

    Each is summed up in the same order however many there are. The rows are read where they are:
    to put them together first would take as long again.
    """
    totals = np.zeros((weights.shape[0], rows.shape[1]), np.float32)
    whole = used.size - used.size % 4
    for k in range(0, whole, 4):
        a, b = rows[used[k]], rows[used[k + 1]]
        c, d = rows[used[k + 2]], rows[used[k + 3]]
        for i in range(weights.shape[0]):
            own, total = weights[i, k : k + 4], totals[i]
            if own[0] or own[1] or own[2] or own[3]:
                for j in range(total.size):
                    total[j] += own[0] * a[j] + own[1] * b[j] + own[2] * c[j] + own[3] * d[j]
    for k in range(whole, used.size):
        for i in range(weights.shape[0]):
            for j in range(rows.shape[1]):
                totals[i, j] += weights[i, k] * rows[used[k], j]
    return totals

"""Sum up, over all votes, how much of each of their pictures turns a query."""

from typing import NamedTuple

import numpy as np

from lookalike.core._fast import F32, F64, I32, I64, LOOP, njit


class Votes(NamedTuple):
    """The pictures of all votes; those of a vote stand together and end at its ``stops``.

    ``picked`` of them stand before the rejected ones. ``widths`` are of the kernels by which votes
    fade, and ``reaches`` the cosines with a picture up to which they are not faint.
    """

    items: I32
    steps: F64
    stops: I64
    picked: I64
    widths: F64
    reaches: F64


_FARTHEST = 40.0
"""Where exp(−x) is as good as 0."""

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
    for k in range(whole, few.shape[0]):
        for j in range(few.shape[1]):
            last[k - whole, j] = few[k, j]
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
def near_votes(cosines: F32, votes: Votes, near: I64) -> int:
    """Write those votes of which a picture is as near as they reach; return how many there are.

    ``cosines`` are those of the pictures with a query, or the largest with several.
    """
    count = start = np.uint64(0)
    for vote in range(np.uint64(votes.stops.size)):
        stop = np.uint64(votes.stops[vote])
        is_near = False
        for place in range(start, stop):
            is_near = is_near or cosines[np.uint64(votes.items[place])] > votes.reaches[vote]
        start = stop
        if is_near:
            near[count] = vote
            count += np.uint64(1)
    return int(count)


@njit(**LOOP, forceinline=True)
def _fading(apart: float) -> float:
    """Return exp(−x), to 13 digits, by a series that LLVM can vectorise: exp(−x/256) squared."""
    x = min(apart, _FARTHEST) / 256
    part = 1.0 - x / 9
    part = 1.0 - x / 8 * part
    part = 1.0 - x / 7 * part
    part = 1.0 - x / 6 * part
    part = 1.0 - x / 5 * part
    part = 1.0 - x / 4 * part
    part = 1.0 - x / 3 * part
    part = 1.0 - x / 2 * part
    part = 1.0 - x * part
    for _ in range(8):
        part *= part
    return part


@njit(**LOOP, forceinline=True)
def _kernel(cosine: np.float32, width: float) -> float:
    """Return exp(−(γ(1 − cos))²)."""
    apart = width * (1.0 - min(np.float64(cosine), 1.0))
    return _fading(apart * apart)


@njit(**LOOP)
def _kernels(cosines: F32, width: float) -> F64:
    kernels = np.empty(cosines.size)
    for item in range(np.uint64(cosines.size)):
        kernels[item] = _kernel(cosines[item], width)
    return kernels


@njit(**LOOP)
def vote_weights(
    cosines: F32, votes: Votes, trust: F64, near: I64, faint: float, places: I64, weights: F64
) -> int:
    """Write the pictures of the votes ``near``, how much of each turns a query; return how many.

    A vote whose steps all turn the query by less than ``faint`` is passed over. The kernel that the
    last vote has, as most do, is computed once for each picture: votes share many.
    """
    count = np.uint64(0)
    if near.size == 0:
        return int(count)
    width = votes.widths[near[-1]]
    kernels = _kernels(cosines, width)
    for number in range(np.uint64(near.size)):
        vote = np.uint64(near[number])
        start = np.uint64(votes.stops[vote - np.uint64(1)]) if vote else np.uint64(0)
        stop = np.uint64(votes.stops[vote])
        picked = votes.picked[vote]
        rejected = np.int64(stop - start) - picked
        middle = start + np.uint64(picked)
        is_common = votes.widths[vote] == width
        is_near = False
        up, down = 0.0, 0.0
        first = count
        for place in range(start, stop):
            item = np.uint64(votes.items[place])
            kernel = kernels[item] if is_common else _kernel(cosines[item], votes.widths[vote])
            turn = trust[vote] * votes.steps[place] * kernel
            is_near = is_near or abs(turn) > faint
            places[count] = place
            weights[count] = turn
            count += np.uint64(1)
            if place < middle:
                up += turn
            else:
                down += turn
        if not is_near:
            count = first
            continue
        for own in range(first, count):
            turn = weights[own]
            if (picked < 2 and rejected == 0) or picked == 0:
                # What it compared was deleted.
                weights[own] = 0.0
            elif rejected == 0:
                weights[own] = (up - turn) / (picked - 1)
            elif np.uint64(places[own]) >= middle:
                weights[own] = turn - up / rejected
            elif picked == 1:
                weights[own] = turn - down
            else:
                weights[own] = (up - turn) / (picked - 1) - down / picked
    return int(count)


@njit(**LOOP)
def vote_sums(
    cosines: F32, votes: Votes, trusts: F64, which: I64, near: I64, faint: float, rows: int
) -> tuple[I64, F32]:
    """Return the items that turn queries, in order, and how much of each turns each query.

    ``cosines`` has a row for each query, ``which`` the row of ``trusts`` that it goes by, and there
    are so many ``rows`` of items.
    """
    column, pictures = np.full(rows, -1), 0
    for number in range(np.uint64(near.size)):
        vote = np.uint64(near[number])
        start = np.uint64(votes.stops[vote - np.uint64(1)]) if vote else np.uint64(0)
        pictures += int(np.uint64(votes.stops[vote]) - start)
        for place in range(start, np.uint64(votes.stops[vote])):
            column[np.uint64(votes.items[place])] = 0
    used = np.flatnonzero(column == 0)
    for number in range(np.uint64(used.size)):
        column[np.uint64(used[number])] = number
    places, weights = np.empty(pictures, np.int64), np.empty(pictures)
    sums = np.zeros((which.size, used.size))
    for row in range(np.uint64(which.size)):
        trust = trusts[np.uint64(which[row])]
        count = vote_weights(cosines[row], votes, trust, near, faint, places, weights)
        for place in range(np.uint64(count)):
            item = np.uint64(votes.items[np.uint64(places[place])])
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

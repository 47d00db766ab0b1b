"""Sparse similarity: products of pairs of pictures by unknown, the hinge loss and its gradient.

The unknowns of a matrix are its diagonal, one for each word, then one for each pair of words that
may be similar. ``starts``, ``others`` and ``unknowns`` list for each word those other words, and
the unknown of each pair.
"""

import numpy as np

from lookalike.core._fast import F32, F64, I32, I64, LOOP, U8, njit

TINY = 1e-12


@njit(**LOOP)
def touch(
    i: int,
    ends: I64,
    words: I32,
    values: F32,
    starts: I64,
    others: I32,
    own: F32,
    near: U8,
    is_on: bool,
) -> None:
    """Write a picture's values to ``own``, and mark its words and theirs; or clear both."""
    for at in range(ends[i], ends[i + 1]):
        word = np.uint64(words[at])
        own[word] = values[at] if is_on else np.float32(0)
        near[word] = 1 if is_on else 0
        for place in range(starts[word], starts[word + np.uint64(1)]):
            near[np.uint64(others[place])] = 1 if is_on else 0


@njit(**LOOP)
def pair_products(
    j: int,
    ends: I64,
    words: I32,
    values: F32,
    starts: I64,
    others: I32,
    unknowns: I32,
    own: F32,
    near: U8,
    result: I32,
    products: F32,
    first: int,
) -> int:
    """Write ∂S_ij/∂M of the touched picture i with j, and return how many entries it has.

    An unknown off the diagonal may occur twice. Entries past the length of ``result`` are counted,
    not written.
    """
    count = 0
    for at in range(np.uint64(ends[j]), np.uint64(ends[j + 1])):
        word = np.uint64(words[at])
        if near[word] == 0:
            continue
        value = values[at]
        if own[word] != 0:
            if first + count < result.size:
                result[first + count] = np.int32(word)
                products[first + count] = own[word] * value
            count += 1
        for place in range(np.uint64(starts[word]), np.uint64(starts[word + np.uint64(1)])):
            other = own[np.uint64(others[place])]
            if other != 0:
                if first + count < result.size:
                    result[first + count] = unknowns[place]
                    products[first + count] = other * value
                count += 1
    return count


@njit(**LOOP)
def all_products(
    pairs: I32,
    begin: int,
    end: int,
    ends: I64,
    words: I32,
    values: F32,
    starts: I64,
    others: I32,
    unknowns: I32,
    pair_ends: I64,
    result: I32,
    products: F32,
    is_counting: bool,
) -> None:
    """Write ∂S/∂M of the pairs from ``begin`` on, sorted by their first picture; or their sizes."""
    own = np.zeros(starts.size - 1, np.float32)
    near = np.zeros(starts.size - 1, np.uint8)
    before = np.int64(-1)
    for p in range(begin, end):
        i = np.int64(pairs[p, 0])
        if i != before:
            if before >= 0:
                touch(before, ends, words, values, starts, others, own, near, False)
            touch(i, ends, words, values, starts, others, own, near, True)
            before = i
        first = result.size if is_counting else pair_ends[p]
        count = pair_products(
            np.int64(pairs[p, 1]),
            ends,
            words,
            values,
            starts,
            others,
            unknowns,
            own,
            near,
            result,
            products,
            first,
        )
        if is_counting:
            pair_ends[p + 1] = count


@njit(**LOOP, fastmath=True)
def pair_scores(
    rows: I64, begin: int, end: int, pair_ends: I64, result: I32, products: F32, M: F64, scores: F64
) -> None:
    """Write S of the pairs ``rows[begin:end]``: the products times the unknowns."""
    for r in range(begin, end):
        p = rows[r]
        total = 0.0
        for at in range(np.uint64(pair_ends[p]), np.uint64(pair_ends[p + 1])):
            total += np.float64(products[at]) * M[np.uint64(result[at])]
        scores[p] = total


@njit(**LOOP)
def hinge(
    triplets: I32, weights: F64, margin: float, normal: F64, losses: F64, slopes: F64
) -> float:
    """Return Σ w·[Ŝ_il − Ŝ_ij + γ]₊ (Eq. 4), and add its derivatives by Ŝ to ``slopes``.

    A triplet is two pairs, (i, j) and (i, l); ``losses`` gets what is within the brackets.
    """
    total = 0.0
    for t in range(triplets.shape[0]):
        more, less = np.uint64(triplets[t, 0]), np.uint64(triplets[t, 1])
        loss = normal[less] - normal[more] + margin
        losses[t] = loss
        if loss > 0:
            total += weights[t] * loss
            slopes[more] -= weights[t]
            slopes[less] += weights[t]
    return total


@njit(**LOOP)
def add_gradient(
    rows: I64,
    begin: int,
    end: int,
    pair_ends: I64,
    result: I32,
    products: F32,
    slopes: F64,
    gradient: F64,
) -> None:
    """Add each pair's ∂S/∂M times the slope of the loss by S."""
    for r in range(begin, end):
        p = rows[r]
        slope = slopes[p]
        if slope == 0:
            continue
        for at in range(np.uint64(pair_ends[p]), np.uint64(pair_ends[p + 1])):
            gradient[np.uint64(result[at])] += slope * np.float64(products[at])


@njit(**LOOP)
def self_scores(
    ends: I64, words: I32, values: F32, starts: I64, others: I32, unknowns: I32, M: F64, result: F64
) -> None:
    """Write S_pp = pᵀMp of each picture."""
    own = np.zeros(starts.size - 1, np.float32)
    for i in range(ends.size - 1):
        for at in range(ends[i], ends[i + 1]):
            own[np.uint64(words[at])] = values[at]
        total = 0.0
        for at in range(np.uint64(ends[i]), np.uint64(ends[i + 1])):
            word = np.uint64(words[at])
            value = np.float64(values[at])
            total += value * value * M[word]
            for place in range(np.uint64(starts[word]), np.uint64(starts[word + np.uint64(1)])):
                other = own[np.uint64(others[place])]
                if other != 0:
                    total += value * np.float64(other) * M[np.uint64(unknowns[place])]
        result[i] = total
        for at in range(ends[i], ends[i + 1]):
            own[np.uint64(words[at])] = 0


@njit(**LOOP)
def online_steps(
    triplets: I32,
    ends: I64,
    words: I32,
    values: F32,
    starts: I64,
    others: I32,
    unknowns: I32,
    margin: float,
    aggressiveness: float,
    M: F64,
) -> int:
    """Take one step for each triplet whose loss is above 0, and return how many those are.

    M ← [M − τ·g]₊ with g the gradient of the loss of Eq. 4 and τ = min(C, loss / |g|²).
    """
    size = starts.size - 1
    own, near = np.zeros(size, np.float32), np.zeros(size, np.uint8)
    gradient = np.zeros(M.size, np.float64)
    room = 1024
    result, products = np.empty(room, np.int32), np.empty(room, np.float32)
    changed, changes = np.empty(room, np.int32), np.empty(room, np.float64)
    firsts, counts, scores = np.zeros(6, np.int64), np.zeros(5, np.int64), np.zeros(5, np.float64)
    steps = 0
    for t in range(triplets.shape[0]):
        i, j, l = triplets[t, 0], triplets[t, 1], triplets[t, 2]  # noqa: E741
        # The pairs (i, j), (i, l), (i, i), (j, j) and (l, l), one after the other.
        for attempt in range(2):
            at = 0
            for kind in range(5):
                a = i if kind < 3 else (j if kind == 3 else l)
                b = j if kind in (0, 3) else (l if kind in (1, 4) else i)
                touch(a, ends, words, values, starts, others, own, near, True)
                firsts[kind] = at
                counts[kind] = pair_products(
                    b,
                    ends,
                    words,
                    values,
                    starts,
                    others,
                    unknowns,
                    own,
                    near,
                    result,
                    products,
                    at,
                )
                touch(a, ends, words, values, starts, others, own, near, False)
                at += counts[kind]
            if at <= result.size or attempt == 1:
                break
            result, products = np.empty(2 * at, np.int32), np.empty(2 * at, np.float32)
            changed, changes = np.empty(2 * at, np.int32), np.empty(2 * at, np.float64)
        for kind in range(5):
            total = 0.0
            for at in range(firsts[kind], firsts[kind] + counts[kind]):
                total += np.float64(products[at]) * M[result[at]]
            scores[kind] = total
        own_i, own_j, own_l = scores[2], scores[3], scores[4]
        if own_i <= TINY or own_j <= TINY or own_l <= TINY:
            continue
        more = scores[0] * scores[0] / (own_i * own_j)
        less = scores[1] * scores[1] / (own_i * own_l)
        loss = less - more + margin
        if loss <= 0:
            continue
        for kind in range(5):
            if kind == 0:
                slope = -2 * scores[0] / (own_i * own_j)
            elif kind == 1:
                slope = 2 * scores[1] / (own_i * own_l)
            elif kind == 2:
                slope = (more - less) / own_i
            elif kind == 3:
                slope = more / own_j
            else:
                slope = -less / own_l
            for at in range(firsts[kind], firsts[kind] + counts[kind]):
                gradient[result[at]] += slope * np.float64(products[at])
        # Each unknown counts once, however often it occurs: the second time its slope is 0.
        last = firsts[4] + counts[4]
        square, different = 0.0, 0
        for at in range(last):
            slope = gradient[result[at]]
            if slope != 0:
                square += slope * slope
                gradient[result[at]] = 0.0
                changed[different] = result[at]
                changes[different] = slope
                different += 1
        if square > 0:
            rate = min(aggressiveness, loss / square)
            for at in range(different):
                M[changed[at]] = max(0.0, M[changed[at]] - rate * changes[at])
            steps += 1
    return steps

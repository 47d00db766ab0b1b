"""Check whether regions of two pictures lie alike: pairs by word, and hypotheses from each pair."""

import math

import numpy as np

from lookalike.core._fast import F32, I32, I64, LOOP, U64, njit


@njit(**LOOP)
def pair_words(
    words_a: I32, order_a: I64, words_b: I32, order_b: I64, most: int, pairs: I64
) -> int:
    """Write the pairs of regions with the same word, and return their number.

    The orders sort the regions by word. Words with more than ``most`` pairs are left out, as are
    pairs past the length of ``pairs``.
    """
    i, j, count = 0, 0, 0
    while i < words_a.size and j < words_b.size:
        word = words_a[order_a[i]]
        other = words_b[order_b[j]]
        if word < other:
            i += 1
            continue
        if word > other:
            j += 1
            continue
        end_i, end_j = i, j
        while end_i < words_a.size and words_a[order_a[end_i]] == word:
            end_i += 1
        while end_j < words_b.size and words_b[order_b[end_j]] == word:
            end_j += 1
        if (end_i - i) * (end_j - j) <= most:
            for a in range(i, end_i):
                for b in range(j, end_j):
                    if count < pairs.shape[0]:
                        pairs[count, 0] = order_a[a]
                        pairs[count, 1] = order_b[b]
                        count += 1
        i, j = end_i, end_j
    return count


@njit(**LOOP)
def differing_bits(one: np.uint64, other: np.uint64) -> np.int64:
    """Return in how many bits two signatures differ."""
    x = one ^ other
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(**LOOP)
def pair_signatures(a: U64, b: U64, ratio: float, pairs: I64) -> int:
    """Write the pairs of regions whose signatures are each other's nearest; return how many.

    The nearest must differ in less than ``ratio`` times the bits of the second nearest.
    """
    nearest_a = np.full(b.size, -1, np.int64)
    least_a = np.full(b.size, 65, np.int64)
    nearest_b = np.full(a.size, -1, np.int64)
    is_clear = np.zeros(a.size, np.uint8)
    for i in range(a.size):
        least, second = 65, 65
        for j in range(b.size):
            bits = int(differing_bits(a[i], b[j]))
            if bits < least:
                second, least, nearest_b[i] = least, bits, j
            elif bits < second:
                second = bits
            if bits < least_a[j]:
                least_a[j] = bits
                nearest_a[j] = i
        is_clear[i] = 1 if least < ratio * second else 0
    count = 0
    for i in range(a.size):
        if is_clear[i] == 1 and nearest_a[nearest_b[i]] == i and count < pairs.shape[0]:
            pairs[count, 0] = i
            pairs[count, 1] = nearest_b[i]
            count += 1
    return count


@njit(**LOOP, fastmath=True)
def best_hypothesis(
    pairs: I64,
    places_a: F32,
    shapes_a: F32,
    places_b: F32,
    shapes_b: F32,
    near: float,
    max_scale: float,
    hypotheses: int,
    best: F32,
) -> int:
    """Write the affine map from one pair that most pairs agree with, and return how many do.

    The map of a pair takes the one region to the other: T = B·A⁻¹, and its centre to the other's.
    A pair agrees if it maps within ``near``, and if its own change of area is at most twice or half
    that of the map. At most ``hypotheses`` pairs, evenly spread, are tried; ``best`` is T row by
    row and the shift.
    """
    m = pairs.shape[0]
    areas = np.empty(m, np.float32)
    for k in range(m):
        a, b = shapes_a[pairs[k, 0]], shapes_b[pairs[k, 1]]
        da = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
        db = b[0, 0] * b[1, 1] - b[0, 1] * b[1, 0]
        areas[k] = math.log(abs(db) / abs(da)) if abs(da) > 1e-12 and abs(db) > 1e-12 else 1e9
    most = 0
    step = max(1, m // hypotheses)
    limit = np.float32(near * near)
    for k in range(0, m, step):
        a, b = shapes_a[pairs[k, 0]], shapes_b[pairs[k, 1]]
        if abs(areas[k]) > 2 * math.log(max_scale):
            continue
        det = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
        i11, i12, i21, i22 = a[1, 1] / det, -a[0, 1] / det, -a[1, 0] / det, a[0, 0] / det
        t11 = b[0, 0] * i11 + b[0, 1] * i21
        t12 = b[0, 0] * i12 + b[0, 1] * i22
        t21 = b[1, 0] * i11 + b[1, 1] * i21
        t22 = b[1, 0] * i12 + b[1, 1] * i22
        p, q = places_a[pairs[k, 0]], places_b[pairs[k, 1]]
        x0 = q[0] - t11 * p[0] - t12 * p[1]
        y0 = q[1] - t21 * p[0] - t22 * p[1]
        count = 0
        for n in range(m):
            p, q = places_a[pairs[n, 0]], places_b[pairs[n, 1]]
            dx = t11 * p[0] + t12 * p[1] + x0 - q[0]
            dy = t21 * p[0] + t22 * p[1] + y0 - q[1]
            if dx * dx + dy * dy < limit and abs(areas[n] - areas[k]) < 1.386:
                count += 1
        if count > most:
            most = count
            best[0], best[1], best[2], best[3], best[4], best[5] = t11, t12, t21, t22, x0, y0
    return most

"""Exact top-k of one query by vectors in bytes: read a quarter of each, then few in full."""

import numpy as np

from lookalike.core._fast import F32, F64, I64, LOOP, njit
from lookalike.index._fast.best import FREE, is_among, offer
from lookalike.index._fast.dense import CHUNK, TINY, exact_product

ROUNDING = 1e-5
"""What sums in float32 and a score rounded to it may be off by, over the length of a vector."""


@njit(**LOOP)
def shorten(vectors: F32, order: I64, heads: I64, tails: I64, bounds: F32) -> None:
    """Write vectors as steps times whole numbers from -127 to 127; see ``ShortRows``."""
    cut = heads.shape[1]
    for row in range(vectors.shape[0]):
        vector = vectors[row]
        largest = 0.0
        for i in range(vector.size):
            largest = max(largest, abs(np.float64(vector[i])))
        step = np.float64(np.float32(largest / 127))
        inverse = 1 / step if step > 1e-30 else 0.0
        rest = ahead = behind = 0.0
        for i in range(vector.size):
            value = np.float64(vector[order[i]])
            whole = np.int8(min(max(np.rint(value * inverse), -127.0), 127.0))
            rest += (value - step * whole) ** 2
            if i < cut:
                heads[row, i] = whole
                ahead += value * value
            else:
                tails[row, i - cut] = whole
                behind += value * value
        length = np.sqrt(ahead + behind)
        bounds[row, 0] = step
        bounds[row, 1] = np.sqrt(rest) * (1 + ROUNDING) + ROUNDING * length + TINY
        bounds[row, 2] = np.sqrt(behind) * (1 + ROUNDING) + TINY
        bounds[row, 3] = length * (1 + ROUNDING) + TINY


@njit(**LOOP, forceinline=True)
def _whole_product(whole: I64, query: I64) -> np.int32:
    """Return a product of whole numbers, which LLVM vectorises."""
    total = np.int32(0)
    for i in range(query.size):
        # Numba would go on in 64 bits, which takes twice as long.
        total = np.int32(total + np.int32(np.int32(whole[i]) * np.int32(query[i])))
    return total


@njit(**LOOP)
def offer_short(
    heads: I64,
    tails: I64,
    bounds: F32,
    head: I64,
    tail: I64,
    measures: F64,
    query: F32,
    vectors: F32,
    ids: I64,
    scales: F32,
    excluded: I64,
    best_scores: F32,
    best_ids: I64,
) -> None:
    """Merge all items but those with a negative id into a query's best.

    The score of an item v of scale w and step s is w·s·t·⟨whole numbers⟩ for a query of step t,
    give or take |w|·(|q|·rest(v) + rest(q)·|v|), and by heads alone also |w|·|q_tail|·|v_tail|.
    Items that look best by their heads are scored exactly; the k-th best of all is no worse than
    the k-th best of these. Only items that may be as good are looked at by their tails, and of
    these only those that still may be are read.
    """
    count = heads.shape[0]
    chunks = (count + CHUNK - 1) // CHUNK
    step, length, far, apart = measures.astype(np.float32)
    rough, upper = np.empty(count, np.float32), np.empty(count, np.float32)
    peaks, tops = np.empty(chunks, np.float32), np.empty(chunks, np.float32)
    for chunk in range(chunks):
        first, last = chunk * CHUNK, min((chunk + 1) * CHUNK, count)
        for item in range(first, last):
            rough[item] = _whole_product(heads[item], head)
        peak = top = np.float32(-np.inf)
        for item in range(first, last):
            score = rough[item] * step * bounds[item, 0] * scales[item]
            slack = length * bounds[item, 1] + far * bounds[item, 2] + apart * bounds[item, 3]
            rough[item], upper[item] = score, score + abs(scales[item]) * slack
            peak, top = max(peak, score), max(top, upper[item])
        peaks[chunk], tops[chunk] = peak, top
    floor = np.float32(-np.inf)
    wanted = best_scores.size + excluded.size
    if 4 * wanted <= chunks:
        least = np.partition(peaks, chunks - wanted)[chunks - wanted]
        scores, names = np.full_like(best_scores, -np.inf), np.full_like(best_ids, FREE)
        for chunk in range(chunks):
            if peaks[chunk] < least:
                continue
            for item in range(chunk * CHUNK, min((chunk + 1) * CHUNK, count)):
                if rough[item] >= least and ids[item] >= 0 and not is_among(ids[item], excluded):
                    score = np.float32(
                        exact_product(query, vectors[item]) * np.float64(scales[item])
                    )
                    offer(scores, names, score, ids[item])
        floor = scores[0]
    for chunk in range(chunks):
        if tops[chunk] < floor:
            continue
        for item in range(chunk * CHUNK, min((chunk + 1) * CHUNK, count)):
            if upper[item] < floor or ids[item] < 0:
                continue
            rest = np.float32(_whole_product(tails[item], tail))
            score = rough[item] + rest * step * bounds[item, 0] * scales[item]
            slack = length * bounds[item, 1] + apart * bounds[item, 3]
            if score + abs(scales[item]) * slack < floor or is_among(ids[item], excluded):
                continue
            exact = exact_product(query, vectors[item]) * np.float64(scales[item])
            offer(best_scores, best_ids, np.float32(exact), ids[item])
            floor = max(floor, best_scores[0])

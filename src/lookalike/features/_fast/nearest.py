"""Find the nearest of many words for each row, and gather rows by word: the steps of k-means.

Plain loops rather than BLAS: one thread per call, and sums in the same order whatever the number
of rows or threads.
"""

import numpy as np

from lookalike.core._fast import F32, F64, I32, I64, LOOP, njit

PANEL = 64
GROUP = 4
_PANEL = np.uint64(PANEL)
_GROUP = np.uint64(GROUP)
_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)


@njit(**LOOP, fastmath={"contract", "nnan"}, forceinline=True)
def nearest_words(rows: F32, panels: F32, half_norms: F32, words: I32, lows: F32) -> None:
    """Write for each row x the word w of least |w|²/2 - x·w (the first of ties) and that value.

    ``rows`` is (n, depth), both multiples of 4; ``panels`` is (p, depth, 64): 64 words side by
    side; ``half_norms`` is (p, 64), infinite where there is no word. Four rows at a time share
    each read of a panel, which stays in the L1 cache.
    """
    a, b = np.empty(PANEL, np.float32), np.empty(PANEL, np.float32)
    c, d = np.empty(PANEL, np.float32), np.empty(PANEL, np.float32)
    lows[:] = np.inf
    words[:] = 0
    for p in range(np.uint64(panels.shape[0])):
        panel = panels[p]
        for i in range(np.uint64(0), np.uint64(rows.shape[0]), _GROUP):
            row_a, row_b, row_c, row_d = rows[i], rows[i + _1], rows[i + _2], rows[i + _3]
            for j in range(_PANEL):
                a[j] = b[j] = c[j] = d[j] = half_norms[p, j]
            for k in range(np.uint64(0), np.uint64(rows.shape[1]), _GROUP):
                w0, w1, w2, w3 = panel[k], panel[k + _1], panel[k + _2], panel[k + _3]
                a0, a1, a2, a3 = row_a[k], row_a[k + _1], row_a[k + _2], row_a[k + _3]
                b0, b1, b2, b3 = row_b[k], row_b[k + _1], row_b[k + _2], row_b[k + _3]
                c0, c1, c2, c3 = row_c[k], row_c[k + _1], row_c[k + _2], row_c[k + _3]
                d0, d1, d2, d3 = row_d[k], row_d[k + _1], row_d[k + _2], row_d[k + _3]
                for j in range(_PANEL):
                    v0, v1, v2, v3 = w0[j], w1[j], w2[j], w3[j]
                    a[j] = a[j] - a0 * v0 - a1 * v1 - a2 * v2 - a3 * v3
                    b[j] = b[j] - b0 * v0 - b1 * v1 - b2 * v2 - b3 * v3
                    c[j] = c[j] - c0 * v0 - c1 * v1 - c2 * v2 - c3 * v3
                    d[j] = d[j] - d0 * v0 - d1 * v1 - d2 * v2 - d3 * v3
            _keep_least(a, p, i, words, lows)
            _keep_least(b, p, i + _1, words, lows)
            _keep_least(c, p, i + _2, words, lows)
            _keep_least(d, p, i + _3, words, lows)


@njit(**LOOP, fastmath={"nnan", "nsz", "reassoc"}, forceinline=True)
def _keep_least(values: F32, panel: np.uint64, row: np.uint64, words: I32, lows: F32) -> None:
    least = values[0]
    for j in range(_PANEL):
        least = min(least, values[j])
    if least < lows[row]:
        lows[row] = least
        for j in range(_PANEL):
            if values[j] == least:
                words[row] = np.int32(panel * _PANEL + j)
                break


@njit(**LOOP)
def gather_by_word(rows: F32, words: I32, sums: F64, counts: I64) -> None:
    """Add each row to the sum of its word, in order."""
    for i in range(np.uint64(words.size)):
        word = np.uint64(words[i])
        counts[word] += 1
        for k in range(np.uint64(rows.shape[1])):
            sums[word, k] += rows[i, k]

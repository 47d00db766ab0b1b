"""Find the nearest words of descriptors among the words of a few cells each."""

import numpy as np

from lookalike.core._fast import F32, I32, I64, LOOP, njit
from lookalike.features._fast.nearest import GROUP, PANEL

_PANEL, _GROUP = np.uint64(PANEL), np.uint64(GROUP)
_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)


@njit(**LOOP, fastmath={"contract", "nnan"})
def probe(
    rows: F32,
    members: I64,
    member_starts: I64,
    panels: F32,
    half_norms: F32,
    panel_starts: I64,
    result: I32,
    lows: F32,
) -> None:
    """Merge the words of each cell into the nearest of the rows that probe it.

    Cell c has the panels from ``panel_starts[c]`` on, of 64 words side by side as
    :func:`~lookalike.features._fast.kmeans.pack` makes them, and is probed by the rows ``members``
    from ``member_starts[c]`` on. ``result`` and ``lows``, of shape (rows, k), have the words w of
    least |w|²/2 − x·w so far, nearest first, and those values. Four rows at a time share each read
    of a panel, which stays in the cache.
    """
    a, b = np.empty(PANEL, np.float32), np.empty(PANEL, np.float32)
    c, d = np.empty(PANEL, np.float32), np.empty(PANEL, np.float32)
    for cell in range(panel_starts.size - 1):
        begin, end = np.uint64(member_starts[cell]), np.uint64(member_starts[cell + 1])
        for p in range(np.uint64(panel_starts[cell]), np.uint64(panel_starts[cell + 1])):
            panel = panels[p]
            for m in range(begin, end, _GROUP):
                last = end - _1
                at_a = np.uint64(members[m])
                at_b = np.uint64(members[min(m + _1, last)])
                at_c = np.uint64(members[min(m + _2, last)])
                at_d = np.uint64(members[min(m + _3, last)])
                row_a, row_b, row_c, row_d = rows[at_a], rows[at_b], rows[at_c], rows[at_d]
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
                _merge(a, p, result[at_a], lows[at_a])
                if m + _1 < end:
                    _merge(b, p, result[at_b], lows[at_b])
                if m + _2 < end:
                    _merge(c, p, result[at_c], lows[at_c])
                if m + _3 < end:
                    _merge(d, p, result[at_d], lows[at_d])


@njit(**LOOP, fastmath={"nnan", "nsz", "reassoc"}, forceinline=True)
def _merge(values: F32, panel: np.uint64, result: I32, lows: F32) -> None:
    """Insert the words of a panel into the sorted nearest of a row, after those as near."""
    last = lows.size - 1
    least = values[0]
    for j in range(_PANEL):
        least = min(least, values[j])
    if not least < lows[last]:
        return
    for j in range(_PANEL):
        low = values[j]
        if low < lows[last]:
            at = last
            while at > 0 and low < lows[at - 1]:
                lows[at] = lows[at - 1]
                result[at] = result[at - 1]
                at -= 1
            lows[at] = low
            result[at] = np.int32(panel * _PANEL + j)

"""Box filters over a summed-area table: SURF's responses, its maxima and its descriptors."""

import math

import numpy as np

from lookalike.core._fast import F32, F64, I64, LOOP, njit

_WINDOW = math.pi / 3
_TURNS = 42


@njit(**LOOP)
def box(table: I64, top: int, left: int, bottom: int, right: int) -> int:
    """Return the sum over rows top .. bottom − 1 and columns left .. right − 1, clipped."""
    height, width = table.shape[0] - 1, table.shape[1] - 1
    t, b = np.uint64(min(max(top, 0), height)), np.uint64(min(max(bottom, 0), height))
    l, r = np.uint64(min(max(left, 0), width)), np.uint64(min(max(right, 0), width))  # noqa: E741
    return table[b, r] - table[t, r] - table[b, l] + table[t, l]


@njit(**LOOP)
def hessian(table: I64, size: int, step: int, result: F64) -> None:
    """Write det H at every ``step``-th pixel, for the box filter of ``size`` × ``size``.

    det = Dxx·Dyy − (0.9·Dxy)², each divided by size²; 0 where the filter does not fit.
    """
    height, width = table.shape[0] - 1, table.shape[1] - 1
    lobe, half = size // 3, size // 2
    area = float(size * size)
    for i in range(result.shape[0]):
        y = i * step
        for j in range(result.shape[1]):
            x = j * step
            if y < half or x < half or y + half >= height or x + half >= width:
                result[i, j] = 0.0
                continue
            xx = box(table, y - lobe + 1, x - half, y + lobe, x + half + 1) - 3 * box(
                table, y - lobe + 1, x - lobe // 2, y + lobe, x + lobe // 2 + 1
            )
            yy = box(table, y - half, x - lobe + 1, y + half + 1, x + lobe) - 3 * box(
                table, y - lobe // 2, x - lobe + 1, y + lobe // 2 + 1, x + lobe
            )
            xy = (
                box(table, y - lobe, x + 1, y, x + lobe + 1)
                + box(table, y + 1, x - lobe, y + lobe + 1, x)
                - box(table, y - lobe, x - lobe, y, x)
                - box(table, y + 1, x + 1, y + lobe + 1, x + lobe + 1)
            )
            mixed = 0.9 * (xy / area)
            result[i, j] = (xx / area) * (yy / area) - mixed * mixed


@njit(**LOOP)
def is_peak(layers: F64, k: int, i: int, j: int) -> bool:
    """Return whether a response exceeds its 26 neighbours, or is the first of several equal ones.

    Symmetric drawings have equal neighbours.
    """
    value = layers[k, i, j]
    is_past = False
    for a in range(k - 1, k + 2):
        for b in range(i - 1, i + 2):
            for c in range(j - 1, j + 2):
                if a == k and b == i and c == j:
                    is_past = True
                elif layers[a, b, c] > value or (layers[a, b, c] == value and not is_past):
                    return False
    return True


@njit(**LOOP)
def peaks(layers: F64, sizes: I64, step: int, threshold: float, result: F64) -> int:
    """Write x, y, scale and response of the maxima of one octave, and return their number.

    Places are those of the parabola through the neighbours (Brown and Lowe, 2002); maxima for which
    it lies more than one sample away are dropped, as are those past the length of ``result``.
    """
    count = 0
    for k in range(1, layers.shape[0] - 1):
        for i in range(1, layers.shape[1] - 1):
            for j in range(1, layers.shape[2] - 1):
                if layers[k, i, j] <= threshold or not is_peak(layers, k, i, j):
                    continue
                ok, x, y, s = _offset(layers, k, i, j)
                if ok and count < len(result):
                    size = sizes[k] + s * (sizes[k + 1] - sizes[k])
                    result[count, 0] = (j + x) * step
                    result[count, 1] = (i + y) * step
                    result[count, 2] = 1.2 * size / 9
                    result[count, 3] = layers[k, i, j]
                    count += 1
    return count


@njit(**LOOP)
def _offset(layers: F64, k: int, i: int, j: int) -> tuple[bool, float, float, float]:
    """Return the maximum −H⁻¹g of the parabola around a sample, and whether it is near."""
    v = layers[k, i, j]
    gx = (layers[k, i, j + 1] - layers[k, i, j - 1]) / 2
    gy = (layers[k, i + 1, j] - layers[k, i - 1, j]) / 2
    gs = (layers[k + 1, i, j] - layers[k - 1, i, j]) / 2
    xx = layers[k, i, j + 1] + layers[k, i, j - 1] - 2 * v
    yy = layers[k, i + 1, j] + layers[k, i - 1, j] - 2 * v
    ss = layers[k + 1, i, j] + layers[k - 1, i, j] - 2 * v
    xy = (
        layers[k, i + 1, j + 1]
        - layers[k, i + 1, j - 1]
        - layers[k, i - 1, j + 1]
        + layers[k, i - 1, j - 1]
    ) / 4
    xs = (
        layers[k + 1, i, j + 1]
        - layers[k + 1, i, j - 1]
        - layers[k - 1, i, j + 1]
        + layers[k - 1, i, j - 1]
    ) / 4
    ys = (
        layers[k + 1, i + 1, j]
        - layers[k + 1, i - 1, j]
        - layers[k - 1, i + 1, j]
        + layers[k - 1, i - 1, j]
    ) / 4
    a, b, c = yy * ss - ys * ys, xs * ys - xy * ss, xy * ys - xs * yy
    determinant = xx * a + xy * b + xs * c
    if determinant == 0.0:
        return False, 0.0, 0.0, 0.0
    d, e, f = xx * ss - xs * xs, xy * xs - xx * ys, xx * yy - xy * xy
    x = -(a * gx + b * gy + c * gs) / determinant
    y = -(b * gx + d * gy + e * gs) / determinant
    s = -(c * gx + e * gy + f * gs) / determinant
    return abs(x) <= 1 and abs(y) <= 1 and abs(s) <= 1, x, y, s


@njit(**LOOP)
def haar_right(table: I64, y: int, x: int, side: int) -> int:
    """Return the right half minus the left half of a square around the corner of a pixel."""
    half = side // 2
    return box(table, y - half, x, y + half, x + half) - box(table, y - half, x - half, y + half, x)


@njit(**LOOP)
def haar_down(table: I64, y: int, x: int, side: int) -> int:
    """Return the lower half minus the upper half of a square around the corner of a pixel."""
    half = side // 2
    return box(table, y, x - half, y + half, x + half) - box(table, y - half, x - half, y, x + half)


@njit(**LOOP)
def orientation(table: I64, x: float, y: float, scale: float) -> float:
    """Return the direction of the longest sum of Haar responses in a window of 60°."""
    s = max(1, round(scale))
    cx, cy = round(x), round(y)
    right, down, angles = np.empty(169), np.empty(169), np.empty(169)
    count = 0
    for v in range(-6, 7):
        for u in range(-6, 7):
            if u * u + v * v < 36:
                weight = math.exp(-(u * u + v * v) / 8.0)
                right[count] = weight * haar_right(table, cy + v * s, cx + u * s, 4 * s)
                down[count] = weight * haar_down(table, cy + v * s, cx + u * s, 4 * s)
                angles[count] = math.atan2(down[count], right[count])
                count += 1
    longest, best = -1.0, 0.0
    for turn in range(_TURNS):
        start = 2 * math.pi * turn / _TURNS - math.pi
        sum_right, sum_down = 0.0, 0.0
        for one in range(count):
            if (angles[one] - start) % (2 * math.pi) < _WINDOW:
                sum_right += right[one]
                sum_down += down[one]
        length = sum_right * sum_right + sum_down * sum_down
        if length > longest:
            longest, best = length, math.atan2(sum_down, sum_right)
    return best


@njit(**LOOP)
def descriptors(table: I64, points: F64, rows: F32) -> None:
    """Write the 64 numbers of each point (x, y, scale): Σdx, Σ|dx|, Σdy, Σ|dy| of 4 × 4 parts."""
    sums = np.empty(64)
    for point in range(np.uint64(len(points))):
        x, y, scale = points[point, 0], points[point, 1], points[point, 2]
        turn = orientation(table, x, y, scale)
        cosine, sine = math.cos(turn), math.sin(turn)
        side = 2 * max(1, round(scale))
        sums[:] = 0.0
        for i in range(20):
            v = i - 9.5
            for j in range(20):
                u = j - 9.5
                at_x = round(x + scale * (u * cosine - v * sine))
                at_y = round(y + scale * (u * sine + v * cosine))
                weight = math.exp(-(u * u + v * v) / (2 * 3.3 * 3.3))
                right = weight * haar_right(table, at_y, at_x, side)
                down = weight * haar_down(table, at_y, at_x, side)
                along = right * cosine + down * sine
                across = down * cosine - right * sine
                part = np.uint64(4 * (4 * (i // 5) + j // 5))
                sums[part] += along
                sums[part + np.uint64(1)] += abs(along)
                sums[part + np.uint64(2)] += across
                sums[part + np.uint64(3)] += abs(across)
        length = math.sqrt((sums * sums).sum())
        for one in range(np.uint64(64)):
            rows[point, one] = sums[one] / length if length > 0 else 0.0

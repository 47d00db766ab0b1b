"""Regions of a picture: maxima of the Hessian's determinant, and the affine shape of each."""

import math

import numpy as np

from lookalike.core._fast import F32, I64, LOOP, njit

WINDOW = 19
"""The side of the window over which the second moments of gradients are summed."""
MAX_ROUNDS = 16
MAX_STRETCH = 6.0
"""A region more than this many times as long as wide is an edge."""
CONVERGED = 0.05


@njit(**LOOP, fastmath=True)
def determinants(image: F32, factor: float, result: F32) -> None:
    """Write factor · det H of each pixel, H the Hessian by finite differences; 0 at the border."""
    height, width = image.shape
    result[:] = 0
    for i in range(np.uint64(1), np.uint64(height - 1)):
        above, here, below = image[i - np.uint64(1)], image[i], image[i + np.uint64(1)]
        for j in range(np.uint64(1), np.uint64(width - 1)):
            left, right = j - np.uint64(1), j + np.uint64(1)
            twice = 2 * here[j]
            xx = here[left] - twice + here[right]
            yy = above[j] - twice + below[j]
            xy = (above[left] - above[right] - below[left] + below[right]) * np.float32(0.25)
            result[i, j] = (xx * yy - xy * xy) * np.float32(factor)


@njit(**LOOP)
def is_extreme(layers: F32, k: int, i: int, j: int) -> bool:
    """Return whether a response is above all its 26 neighbours, or below all; ties are none."""
    value = layers[k, i, j]
    sign = np.float32(1) if value > 0 else np.float32(-1)
    top = sign * value
    for a in range(k - 1, k + 2):
        for b in range(i - 1, i + 2):
            for c in range(j - 1, j + 2):
                if sign * layers[a, b, c] >= top and not (a == k and b == i and c == j):
                    return False
    return True


@njit(**LOOP)
def extremes(layers: F32, threshold: float, edge: float, border: int, result: F32) -> int:
    """Write x, y, layer and response of the extremes of one octave, and return their number.

    Places are those of the parabola through the neighbours (Brown and Lowe, 2002), moved at most
    five times to the next sample. Left out are responses below ``threshold`` in size, places along
    an edge (the curvatures of the response differ more than ``edge``), and, past the length of
    ``result``, the rest.
    """
    depth, height, width = layers.shape
    low = np.float32(0.8 * threshold)
    most_edge = (edge + 1) * (edge + 1) / edge
    count = 0
    for k in range(1, depth - 1):
        for i in range(border, height - border):
            for j in range(border, width - border):
                value = layers[k, i, j]
                if abs(value) < low or not is_extreme(layers, k, i, j):
                    continue
                a, b, x, y, s = i, j, 0.0, 0.0, 0.0
                is_near = False
                for _ in range(5):
                    here = layers[k]
                    dx = 0.5 * (here[a, b + 1] - here[a, b - 1])
                    dy = 0.5 * (here[a + 1, b] - here[a - 1, b])
                    ds = 0.5 * (layers[k + 1, a, b] - layers[k - 1, a, b])
                    twice = 2.0 * here[a, b]
                    xx = here[a, b - 1] - twice + here[a, b + 1]
                    yy = here[a - 1, b] - twice + here[a + 1, b]
                    ss = layers[k - 1, a, b] - twice + layers[k + 1, a, b]
                    xy = 0.25 * (
                        here[a + 1, b + 1]
                        - here[a + 1, b - 1]
                        - here[a - 1, b + 1]
                        + here[a - 1, b - 1]
                    )
                    xs = 0.25 * (
                        layers[k + 1, a, b + 1]
                        - layers[k + 1, a, b - 1]
                        - layers[k - 1, a, b + 1]
                        + layers[k - 1, a, b - 1]
                    )
                    ys = 0.25 * (
                        layers[k + 1, a + 1, b]
                        - layers[k + 1, a - 1, b]
                        - layers[k - 1, a + 1, b]
                        + layers[k - 1, a - 1, b]
                    )
                    flat = xx * yy - xy * xy
                    if flat <= 0 or (xx + yy) * (xx + yy) / flat > most_edge:
                        break
                    whole = (
                        xx * (yy * ss - ys * ys)
                        - xy * (xy * ss - ys * xs)
                        + xs * (xy * ys - yy * xs)
                    )
                    if whole == 0:
                        break
                    x = (
                        -(
                            dx * (yy * ss - ys * ys)
                            - xy * (dy * ss - ys * ds)
                            + xs * (dy * ys - yy * ds)
                        )
                        / whole
                    )
                    y = (
                        -(
                            xx * (dy * ss - ys * ds)
                            - dx * (xy * ss - ys * xs)
                            + xs * (xy * ds - dy * xs)
                        )
                        / whole
                    )
                    s = (
                        -(
                            xx * (yy * ds - dy * ys)
                            - xy * (xy * ds - dy * xs)
                            + dx * (xy * ys - yy * xs)
                        )
                        / whole
                    )
                    if abs(x) > 1.5 or abs(y) > 1.5 or abs(s) > 1.5:
                        break
                    right = (1 if x > 0.6 else 0) - (1 if x < -0.6 else 0)
                    down = (1 if y > 0.6 else 0) - (1 if y < -0.6 else 0)
                    if right == 0 and down == 0:
                        is_near = True
                        break
                    a, b = a + down, b + right
                    if a < border or b < border or a >= height - border or b >= width - border:
                        break
                if not is_near or count >= result.shape[0]:
                    continue
                response = layers[k, a, b] + 0.5 * (dx * x + dy * y + ds * s)
                if abs(response) < threshold:
                    continue
                result[count, 0] = b + x
                result[count, 1] = a + y
                result[count, 2] = k + s
                result[count, 3] = response
                count += 1
    return count


@njit(**LOOP, fastmath=True, forceinline=True)
def adapt(image: F32, x: float, y: float, scale: float, mask: F32, patch: F32, shape: F32) -> bool:
    """Write the affine shape of the region at (x, y), and return whether it converged.

    The shape U, of determinant 1, maps the circle to the region. It is multiplied by the inverse
    square root of the second moments of gradients, summed in a window ``scale`` times as large,
    until they are those of a circle (Mikolajczyk and Schmid, 2004, section 4).
    """
    height, width = image.shape
    half = WINDOW // 2
    u11, u12 = np.float64(1), np.float64(0)
    u21, u22 = np.float64(0), np.float64(1)
    before = 1.0
    for _ in range(MAX_ROUNDS):
        reach_x = half * scale * (abs(u11) + abs(u12))
        reach_y = half * scale * (abs(u21) + abs(u22))
        if (
            x - reach_x < 0
            or y - reach_y < 0
            or x + reach_x >= width - 1
            or y + reach_y >= height - 1
        ):
            return False
        for i in range(WINDOW):
            v = (i - half) * scale
            for j in range(WINDOW):
                h = (j - half) * scale
                px = np.float32(x + u11 * h + u12 * v)
                py = np.float32(y + u21 * h + u22 * v)
                left, top = np.uint32(px), np.uint32(py)
                fx, fy = px - np.float32(left), py - np.float32(top)
                upper = image[top, left] * (1 - fx) + image[top, left + np.uint32(1)] * fx
                lower = (
                    image[top + np.uint32(1), left] * (1 - fx)
                    + image[top + np.uint32(1), left + np.uint32(1)] * fx
                )
                patch[i, j] = upper * (1 - fy) + lower * fy
        a, b, c = np.float32(0), np.float32(0), np.float32(0)
        for i in range(1, WINDOW - 1):
            for j in range(1, WINDOW - 1):
                gx = patch[i, j + 1] - patch[i, j - 1]
                gy = patch[i + 1, j] - patch[i - 1, j]
                weight = mask[i, j]
                a += weight * gx * gx
                b += weight * gx * gy
                c += weight * gy * gy
        # The inverse square root of the moments, at determinant 1.
        det = a * c - b * b
        if det <= 1e-10 * (a + c) * (a + c) or not a + c > 0:
            return False
        root = math.sqrt(det)
        norm = math.sqrt(a + c + 2 * root)
        r11, r12, r22 = (c + root) / norm, -b / norm, (a + root) / norm
        size = math.sqrt(r11 * r22 - r12 * r12)
        r11, r12, r22 = r11 / size, r12 / size, r22 / size
        spread = math.sqrt((a - c) * (a - c) + 4 * b * b)
        now = 1 - math.sqrt((a + c - spread) / (a + c + spread))
        u11, u12, u21, u22 = (
            r11 * u11 + r12 * u21,
            r11 * u12 + r12 * u22,
            r12 * u11 + r22 * u21,
            r12 * u12 + r22 * u22,
        )
        total = u11 * u11 + u12 * u12 + u21 * u21 + u22 * u22
        # For determinant 1 the axes are l and 1/l, and l² + 1/l² is the sum of squares.
        if total > MAX_STRETCH + 1 / MAX_STRETCH:
            return False
        if now < CONVERGED and before < CONVERGED:
            shape[0], shape[1], shape[2], shape[3] = u11, u12, u21, u22
            return True
        before = now
    return False


@njit(**LOOP)
def adapt_all(image: F32, points: F32, base: float, mask: F32, shapes: F32, is_region: I64) -> None:
    """Write the shape of each point (x, y, scale) of one layer, and whether it is a region."""
    patch = np.empty((WINDOW, WINDOW), np.float32)
    for i in range(points.shape[0]):
        ratio = points[i, 2] / base
        is_region[i] = adapt(image, points[i, 0], points[i, 1], ratio, mask, patch, shapes[i])

"""Descriptors of regions: the patch of each is brought to a square and described by SIFT."""

import math

import numpy as np

from lookalike.core._fast import F32, I64, LOOP, njit

PATCH = 41
"""The side of the square to which a region is brought, without the border that gradients need."""
CELLS = 4
BINS = 8
WIDTH = CELLS * CELLS * BINS
TURNS = 36
MAX_VALUE = 0.2
_TURN = 2 * math.pi


@njit(**LOOP, fastmath=True, forceinline=True)
def angle_of(gx: np.float32, gy: np.float32) -> np.float32:
    """Return the angle of (gx, gy) in radians from 0 to 2π, wrong by at most 0.0003."""
    ax, ay = abs(gx), abs(gy)
    high, low = max(ax, ay), min(ax, ay)
    t = low / (high + np.float32(1e-12))
    s = t * t
    # Abramowitz and Stegun 4.4.49 cut short: a minimax polynomial of arctan on [0, 1].
    r = t * (
        np.float32(0.99997726)
        + s
        * (
            np.float32(-0.33262347)
            + s
            * (
                np.float32(0.19354346)
                + s
                * (
                    np.float32(-0.11643287)
                    + s * (np.float32(0.05265332) + s * np.float32(-0.01172120))
                )
            )
        )
    )
    if ay > ax:
        r = np.float32(math.pi / 2) - r
    if gx < 0:
        r = np.float32(math.pi) - r
    if gy < 0:
        r = np.float32(_TURN) - r
    return r


@njit(**LOOP, fastmath=True, forceinline=True)
def sample(
    pixels: F32, start: int, height: int, width: int, x: float, y: float, step: F32, patch: F32
) -> None:
    """Write the patch around (x, y) whose rows and columns are spaced by the matrix ``step``.

    ``pixels`` from ``start`` on is a picture of ``height`` rows; past its border the last pixel
    repeats.
    """
    side = patch.shape[0]
    half = (side - 1) / 2
    s11, s12, s21, s22 = step[0], step[1], step[2], step[3]
    reach_x = half * (abs(s11) + abs(s12))
    reach_y = half * (abs(s21) + abs(s22))
    origin, stride = np.uint64(start), np.uint64(width)
    if (
        x - reach_x >= 0
        and y - reach_y >= 0
        and x + reach_x < width - 1
        and y + reach_y < height - 1
    ):
        for i in range(side):
            v = np.float32(i - half)
            px = np.float32(x - s11 * half + s12 * v)
            py = np.float32(y - s21 * half + s22 * v)
            for j in range(side):
                qx = px + s11 * np.float32(j)
                qy = py + s21 * np.float32(j)
                left, top = np.uint32(qx), np.uint32(qy)
                fx, fy = qx - np.float32(left), qy - np.float32(top)
                at = origin + np.uint64(top) * stride + np.uint64(left)
                upper = pixels[at] + fx * (pixels[at + np.uint64(1)] - pixels[at])
                at += stride
                lower = pixels[at] + fx * (pixels[at + np.uint64(1)] - pixels[at])
                patch[i, j] = upper + fy * (lower - upper)
        return
    for i in range(side):
        v = i - half
        for j in range(side):
            h = j - half
            qx = min(max(np.float32(x + s11 * h + s12 * v), np.float32(0)), np.float32(width - 1))
            qy = min(max(np.float32(y + s21 * h + s22 * v), np.float32(0)), np.float32(height - 1))
            left = min(np.uint32(qx), np.uint32(max(width - 2, 0)))
            top = min(np.uint32(qy), np.uint32(max(height - 2, 0)))
            right = min(left + np.uint32(1), np.uint32(width - 1))
            below = min(top + np.uint32(1), np.uint32(height - 1))
            fx, fy = qx - np.float32(left), qy - np.float32(top)
            row = origin + np.uint64(top) * stride
            upper = pixels[row + left] * (1 - fx) + pixels[row + right] * fx
            row = origin + np.uint64(below) * stride
            lower = pixels[row + left] * (1 - fx) + pixels[row + right] * fx
            patch[i, j] = upper * (1 - fy) + lower * fy


@njit(**LOOP, fastmath=True, forceinline=True)
def orientation(patch: F32, mask: F32, counts: F32) -> float:
    """Return the direction that most gradients of a patch have, in radians (Lowe, 2004, 5)."""
    counts[:] = 0
    for i in range(1, patch.shape[0] - 1):
        for j in range(1, patch.shape[1] - 1):
            weight = mask[i - 1, j - 1]
            if weight == 0:
                continue
            gx = patch[i, j + 1] - patch[i, j - 1]
            gy = patch[i + 1, j] - patch[i - 1, j]
            place = angle_of(gx, gy) * np.float32(TURNS / _TURN)
            low = np.uint32(place)
            share = place - np.float32(low)
            size = weight * math.sqrt(gx * gx + gy * gy)
            counts[low % np.uint32(TURNS)] += size * (1 - share)
            counts[(low + np.uint32(1)) % np.uint32(TURNS)] += size * share
    for _ in range(4):
        first, last = counts[0], counts[TURNS - 1]
        before = last
        for k in range(TURNS):
            after = counts[k + 1] if k < TURNS - 1 else first
            now = counts[k]
            counts[k] = (before + now + after) * np.float32(1 / 3)
            before = now
    best = 0
    for k in range(TURNS):
        if counts[k] > counts[best]:
            best = k
    left, right = counts[(best + TURNS - 1) % TURNS], counts[(best + 1) % TURNS]
    bend = left - 2 * counts[best] + right
    shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
    return (best + shift) * _TURN / TURNS


@njit(**LOOP, fastmath=True, forceinline=True)
def sift(patch: F32, mask: F32, cells: I64, shares: F32, row: F32) -> None:
    """Write the 128 numbers of a patch, of unit length, cut at 0.2 (Lowe, 2004, section 6).

    For each line of pixels, ``cells`` has the first of the two cells it counts for and ``shares``
    their two shares; a share is 0 where there is no cell.
    """
    row[:] = 0
    for i in range(np.uint64(PATCH)):
        top = np.uint64(cells[i])
        share_top, share_below = shares[i, 0], shares[i, 1]
        upper, here, lower = patch[i], patch[i + np.uint64(1)], patch[i + np.uint64(2)]
        for j in range(np.uint64(PATCH)):
            weight = mask[i, j]
            if weight == 0:
                continue
            gx = here[j + np.uint64(2)] - here[j]
            gy = lower[j + np.uint64(1)] - upper[j + np.uint64(1)]
            place = angle_of(gx, gy) * np.float32(BINS / _TURN)
            whole = np.uint32(place)
            part = place - np.float32(whole)
            low, high = whole % np.uint32(BINS), (whole + np.uint32(1)) % np.uint32(BINS)
            size = weight * math.sqrt(gx * gx + gy * gy)
            after, before = size * part, size * (1 - part)
            at = (top * np.uint64(CELLS) + np.uint64(cells[j])) * np.uint64(BINS)
            left, right = shares[j, 0], shares[j, 1]
            row[at + low] += share_top * left * before
            row[at + high] += share_top * left * after
            at += np.uint64(BINS)
            row[at + low] += share_top * right * before
            row[at + high] += share_top * right * after
            at += np.uint64((CELLS - 1) * BINS)
            row[at + low] += share_below * left * before
            row[at + high] += share_below * left * after
            at += np.uint64(BINS)
            row[at + low] += share_below * right * before
            row[at + high] += share_below * right * after
    for _ in range(2):
        total = np.float32(0)
        for k in range(WIDTH):
            total += row[k] * row[k]
        if not total > 0:
            return
        scale = np.float32(1 / math.sqrt(total))
        for k in range(WIDTH):
            row[k] = min(row[k] * scale, np.float32(MAX_VALUE))
    total = np.float32(0)
    for k in range(WIDTH):
        total += row[k] * row[k]
    scale = np.float32(1 / math.sqrt(total))
    for k in range(WIDTH):
        row[k] *= scale


@njit(**LOOP)
def describe_all(
    pixels: F32,
    layers: I64,
    spacings: F32,
    layer_of: I64,
    regions: F32,
    reach: float,
    is_upright: bool,
    mask: F32,
    cells: I64,
    shares: F32,
    rows: F32,
) -> None:
    """Write the descriptor of each region (x, y and its 2 × 2 shape), turned upright or not.

    ``layers`` has start, height and width of each picture of the pyramid, ``spacings`` the size of
    its pixels. Unless ``is_upright``, the shape is turned in place to the region's orientation.
    """
    patch = np.empty((PATCH + 2, PATCH + 2), np.float32)
    counts = np.empty(TURNS, np.float32)
    step = np.empty(4, np.float32)
    for i in range(regions.shape[0]):
        layer = layer_of[i]
        start, height, width = layers[layer, 0], layers[layer, 1], layers[layer, 2]
        factor = 2 * reach / PATCH / spacings[layer]
        x, y = regions[i, 0] / spacings[layer], regions[i, 1] / spacings[layer]
        for k in range(4):
            step[k] = regions[i, 2 + k] * factor
        sample(pixels, start, height, width, x, y, step, patch)
        if not is_upright:
            angle = orientation(patch, mask, counts)
            c, s = math.cos(angle), math.sin(angle)
            a11, a12, a21, a22 = regions[i, 2], regions[i, 3], regions[i, 4], regions[i, 5]
            regions[i, 2], regions[i, 3] = a11 * c + a12 * s, a12 * c - a11 * s
            regions[i, 4], regions[i, 5] = a21 * c + a22 * s, a22 * c - a21 * s
            for k in range(4):
                step[k] = regions[i, 2 + k] * factor
            sample(pixels, start, height, width, x, y, step, patch)
        sift(patch, mask, cells, shares, rows[i])

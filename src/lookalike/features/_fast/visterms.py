"""Count local binary patterns and palette colours in the 32-pixel cells of a picture."""

import numpy as np
from numpy.typing import NDArray

from lookalike.core._fast import F32, LOOP, U8, njit

CELL = 32
PATTERNS = 59
_CELL = np.uint64(CELL)
_0, _1, _2, _3, _4, _6 = (np.float32(value) for value in (0, 1, 2, 3, 4, 6))
_BITS = tuple(np.float32(1 << bit) for bit in range(8))


@njit(**LOOP, inline="always")
def _diagonal(
    a: np.float32, b: np.float32, c: np.float32, d: np.float32, centre: np.float32
) -> np.float32:
    """Return a number that is 0 or more exactly if the interpolated neighbour is not darker.

    The point (√2, √2) lies among the pixels a = (1, 1), b = (2, 1), c = (1, 2), d = (2, 2), so its
    bilinear value less the centre is A + B√2 with whole A and B. Its sign is that of
    A|A| + 2B|B|, all of whose terms are whole numbers below 2²⁴: no rounding takes place.
    """
    whole = _6 * a - _4 * (b + c) + _3 * d - centre
    root = _3 * (b + c) - _4 * a - _2 * d
    return whole * abs(whole) + _2 * root * abs(root)


@njit(**LOOP)
def pattern_codes(grey: F32, row: np.uint64, width: np.uint64, codes: F32) -> None:
    """Write the 8-bit LBP_{8,2} codes of one row.

    ``grey`` has 2 more pixels on each side. Bit p is the neighbour at 45°·p, counter-clockwise
    from the right; it is set where the neighbour is at least as bright as the centre.
    """
    up2, up1, here = grey[row], grey[row + np.uint64(1)], grey[row + np.uint64(2)]
    down1, down2 = grey[row + np.uint64(3)], grey[row + np.uint64(4)]
    for x in range(width):
        centre = here[x + 2]
        code = _BITS[0] if here[x + 4] >= centre else _0
        north_east = _diagonal(up1[x + 3], up1[x + 4], up2[x + 3], up2[x + 4], centre)
        code += _BITS[1] if north_east >= _0 else _0
        code += _BITS[2] if up2[x + 2] >= centre else _0
        north_west = _diagonal(up1[x + 1], up1[x], up2[x + 1], up2[x], centre)
        code += _BITS[3] if north_west >= _0 else _0
        code += _BITS[4] if here[x] >= centre else _0
        south_west = _diagonal(down1[x + 1], down1[x], down2[x + 1], down2[x], centre)
        code += _BITS[5] if south_west >= _0 else _0
        code += _BITS[6] if down2[x + 2] >= centre else _0
        south_east = _diagonal(down1[x + 3], down1[x + 4], down2[x + 3], down2[x + 4], centre)
        code += _BITS[7] if south_east >= _0 else _0
        codes[x] = code


@njit(**LOOP)
def grey_with_margin(rgb: U8) -> F32:
    """Return the luma of ITU-R 601-2, rounded as Pillow does, the edge repeated twice outwards."""
    height, width = rgb.shape[0], rgb.shape[1]
    grey = np.empty((height + 4, width + 4), np.float32)
    for y in range(height):
        line = grey[y + 2]
        for x in range(width):
            luma = (
                np.uint32(19595) * np.uint32(rgb[y, x, 0])
                + np.uint32(38470) * np.uint32(rgb[y, x, 1])
                + np.uint32(7471) * np.uint32(rgb[y, x, 2])
                + np.uint32(32768)
            )
            line[x + 2] = np.float32(np.uint32(luma) >> np.uint32(16))
        line[:2] = line[2]
        line[width + 2 :] = line[width + 1]
    for x in range(width + 4):
        grey[0, x] = grey[1, x] = grey[2, x]
        grey[height + 2, x] = grey[height + 3, x] = grey[height + 1, x]
    return grey


@njit(**LOOP)
def count_patterns(rgb: U8, bins: U8, counts: NDArray[np.uint16]) -> None:
    """Add the uniform pattern of each pixel to its cell: ``counts`` is (rows, columns, bins)."""
    grey = grey_with_margin(rgb)
    width = np.uint64(counts.shape[1]) * _CELL
    codes = np.empty(width, np.float32)
    for y in range(np.uint64(counts.shape[0]) * _CELL):
        pattern_codes(grey, y, width, codes)
        cells = counts[y // _CELL]
        for x in range(width):
            cells[x // _CELL, np.uint64(bins[np.uint64(codes[x])])] += np.uint16(1)


@njit(**LOOP)
def count_colours(rgb: U8, keys: F32, first: int, counts: NDArray[np.uint16]) -> None:
    """Add the nearest palette colour of each pixel to its cell, from bin ``first`` on.

    A row of ``keys`` is 64·(-2r, -2g, -2b, r² + g² + b²), its last entry plus the colour's number:
    the least 64·(|c|² - 2c·x) + number gives the nearest colour, the lowest number of ties.
    All terms are whole numbers below 2²⁴, so float32 holds them exactly.
    """
    width = np.uint64(counts.shape[1]) * _CELL
    red, green, blue = (
        np.empty(width, np.float32),
        np.empty(width, np.float32),
        np.empty(width, np.float32),
    )
    best = np.empty(width, np.float32)
    for y in range(np.uint64(counts.shape[0]) * _CELL):
        for x in range(width):
            red[x] = np.float32(rgb[y, x, 0])
            green[x] = np.float32(rgb[y, x, 1])
            blue[x] = np.float32(rgb[y, x, 2])
            best[x] = np.float32(np.inf)
        for colour in range(keys.shape[0]):
            r, g, b, start = keys[colour, 0], keys[colour, 1], keys[colour, 2], keys[colour, 3]
            for x in range(width):
                key = start + r * red[x] + g * green[x] + b * blue[x]
                best[x] = key if key < best[x] else best[x]
        cells = counts[y // _CELL]
        for x in range(width):
            number = np.int64(best[x]) & 63
            cells[x // _CELL, np.uint64(first + number)] += np.uint16(1)

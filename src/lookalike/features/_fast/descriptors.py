"""Count the colours and the patterns of a whole picture."""

import numpy as np

from lookalike.core._fast import F32, I64, LOOP, U8, njit
from lookalike.features._fast.visterms import grey_with_margin, pattern_codes


@njit(**LOOP)
def hsv_bins(rgb: U8, counts: I64, hsv: F32) -> None:
    """Count pixels by 8 hues, 3 saturations and 3 values, and write each as H, S, V in 0 .. 1.

    ``rgb`` is (n, 3) and ``hsv`` (3, n). The bins are found in whole numbers, without rounding.
    """
    for i in range(np.uint64(rgb.shape[0])):
        r, g, b = int(rgb[i, 0]), int(rgb[i, 1]), int(rgb[i, 2])
        most, least = max(r, g, b), min(r, g, b)
        spread = most - least
        sixths = 0  # the hue in sixths of a turn, times spread
        if spread > 0:
            if most == r:
                sixths = g - b if g >= b else g - b + 6 * spread
            elif most == g:
                sixths = b - r + 2 * spread
            else:
                sixths = r - g + 4 * spread
        hue = 8 * sixths // (6 * spread) if spread > 0 else 0
        saturation = min(2, 3 * spread // most) if most > 0 else 0
        value = min(2, 3 * most // 255)
        counts[np.uint64(9 * hue + 3 * saturation + value)] += 1
        hsv[0, i] = np.float32(sixths) / np.float32(6 * spread) if spread > 0 else np.float32(0)
        hsv[1, i] = np.float32(spread) / np.float32(most) if most > 0 else np.float32(0)
        hsv[2, i] = np.float32(most) / np.float32(255)


@njit(**LOOP)
def pattern_counts(rgb: U8, bins: U8, counts: I64) -> None:
    """Add the uniform pattern of each pixel to ``counts``."""
    grey = grey_with_margin(rgb)
    width = np.uint64(rgb.shape[1])
    codes = np.empty(width, np.float32)
    for y in range(np.uint64(rgb.shape[0])):
        pattern_codes(grey, y, width, codes)
        for x in range(width):
            counts[np.uint64(bins[np.uint64(codes[x])])] += 1

"""Describe a picture by its colours: a histogram of HSV (72) and three moments a channel (9)."""

import numpy as np
from numpy.typing import NDArray

from lookalike.features._fast.descriptors import hsv_bins
from lookalike.features.descriptors.pixels import Pixels

HUES, SHADES = 8, 3
WIDTH = HUES * SHADES * SHADES + 9


def colour(pixels: Pixels) -> NDArray[np.float32]:
    """Return 72 shares of 8 hues × 3 saturations × 3 values, then 9 moments of H, S and V.

    The moments are those of Stricker and Orengo (Similarity of color images, 1995): of each
    channel, scaled to 0 .. 1, the mean E, the root of E(x − E)² and the cube root of E(x − E)³.
    Paper 5 gives only the number 81; 72 + 9 is the common division that adds up to it.

    Examples
    --------
    >>> from PIL import Image
    >>> from lookalike.features.descriptors.pixels import pixels_of
    >>> red = colour(pixels_of(Image.new("RGB", (64, 48), "red")))
    >>> len(red), int(red[:72].argmax()), red[72:].tolist()
    (81, 8, [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    """
    flat = np.ascontiguousarray(pixels.rgb).reshape(-1, 3)
    counts = np.zeros(HUES * SHADES * SHADES, np.int64)
    hsv = np.empty((3, len(flat)), np.float32)
    hsv_bins(flat, counts, hsv)
    means = hsv.mean(axis=1, dtype=np.float64)
    apart = hsv - means[:, None]
    squares = apart * apart
    deviations = np.sqrt(squares.mean(axis=1))
    skews = np.cbrt((squares * apart).mean(axis=1))
    return np.concatenate([counts / len(flat), means, deviations, skews]).astype(np.float32)

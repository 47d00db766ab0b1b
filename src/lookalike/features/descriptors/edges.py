"""Describe a picture by the directions of its edges: 36 bins of 10°, and the share without one."""

import numpy as np
from numpy.typing import NDArray

from lookalike.features.descriptors.opencv import cv2
from lookalike.features.descriptors.pixels import Pixels

DIRECTIONS = 36
WIDTH = DIRECTIONS + 1
_SHARE = 0.7
_WEAK, _MIN_STRONG = 0.4, 30.0


def edges(pixels: Pixels) -> NDArray[np.float32]:
    """Return the shares of the edge pixels by direction, then the share of all others.

    Edges are Canny's, after a Gaussian of 5 × 5. Its upper threshold on Sobel's |dx| + |dy| is what
    70 % of the pixels stay below, as in MATLAB's program, so that soft pictures have edges too, but
    at least 30, above the noise of a plain wall; the lower is 0.4 times that. A pixel's direction
    is that of its gradient, and bin i is centred at 10°·i, so that upright and level edges do not
    fall between two. The first 36 are divided by the number of edge pixels and the last by that of
    all pixels, as in Vailaya, Jain and Zhang, On image classification: city images vs. landscapes
    (1998). A picture without edges has 36 zeros and a 1.

    Examples
    --------
    >>> from PIL import Image
    >>> from lookalike.features.descriptors.pixels import pixels_of
    >>> edges(pixels_of(Image.new("RGB", (64, 48), "red"))).nonzero()[0].tolist()
    [36]
    """
    smooth = cv2.GaussianBlur(pixels.grey, (5, 5), 0)
    right = cv2.Sobel(smooth, cv2.CV_16S, 1, 0)
    down = cv2.Sobel(smooth, cv2.CV_16S, 0, 1)
    steep = np.sort((np.abs(right) + np.abs(down)).ravel())
    strong = max(_MIN_STRONG, float(steep[int(_SHARE * len(steep))]))
    is_found = cv2.Canny(right, down, _WEAK * strong, strong) > 0
    return direction_histogram(right[is_found], down[is_found], is_found.size)


def direction_histogram(
    right: NDArray[np.int16], down: NDArray[np.int16], pixels: int
) -> NDArray[np.float32]:
    """Return the histogram of edge pixels with these gradients among so many pixels."""
    degrees = np.degrees(np.arctan2(down.astype(np.float64), right.astype(np.float64)))
    bins = np.rint(degrees * (DIRECTIONS / 360)).astype(np.int64) % DIRECTIONS
    histogram = np.zeros(WIDTH, np.float32)
    histogram[:DIRECTIONS] = np.bincount(bins, minlength=DIRECTIONS) / max(1, len(bins))
    histogram[DIRECTIONS] = 1 - len(bins) / pixels
    return histogram

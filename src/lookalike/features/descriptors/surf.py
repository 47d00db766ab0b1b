"""Find blobs in a picture and describe each by SURF."""

import numpy as np
from numpy.typing import NDArray

from lookalike.features._fast.surf import descriptors, hessian, peaks
from lookalike.features.descriptors.pixels import Pixels

WIDTH = 64
THRESHOLD = 17.0
MAX_POINTS = 1000
OCTAVES = ((9, 15, 21, 27), (15, 27, 39, 51), (27, 51, 75, 99), (51, 99, 147, 195))
"""The sides of the box filters; those of octave o are sampled at every 2^o-th pixel."""


def surf(pixels: Pixels) -> NDArray[np.float32]:
    """Return the 64 numbers of each point found, strongest points first.

    Bay, Ess, Tuytelaars and Van Gool, Speeded-Up Robust Features (2008): points are the maxima in
    space and scale of det H = Dxx·Dyy − (0.9·Dxy)², computed by box filters of 9 × 9 pixels
    (σ = 1.2) and up on a summed-area table; directions and descriptors are sums of Haar responses.

    Paper 5 uses a threshold of 500, that of OpenCV's former program, which divides the responses
    by the area of a lobe; divided by that of the whole filter, as in the SURF paper, it is
    500·(15/81)² ≈ 17. At most 1,000 points are kept.

    It is written here because OpenCV's packages leave it out; mahotas has it, but would be a
    dependency for this alone, and is no faster.

    Examples
    --------
    >>> from PIL import Image
    >>> from lookalike.features.descriptors.pixels import pixels_of
    >>> surf(pixels_of(Image.new("RGB", (64, 48), "red"))).shape
    (0, 64)
    """
    table = summed(pixels.grey)
    points = interest_points(table)
    rows = np.empty((len(points), WIDTH), np.float32)
    descriptors(table, points, rows)
    return rows


def summed(grey: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the summed-area table: entry (y, x) is the sum over all pixels above and left."""
    table = np.zeros((grey.shape[0] + 1, grey.shape[1] + 1), np.int64)
    np.cumsum(np.cumsum(grey, axis=0, dtype=np.int64), axis=1, out=table[1:, 1:])
    return table


def interest_points(table: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return x, y, scale and response of the strongest points, strongest first."""
    result = []
    for octave, sizes in enumerate(OCTAVES):
        step = 2**octave
        shape = [-(-(side - 1) // step) for side in table.shape]
        layers = np.empty((len(sizes), *shape))
        for layer, size in zip(layers, sizes, strict=True):
            hessian(table, size, step, layer)
        # No two maxima are neighbours, so at most one sample in four of a layer is one.
        room = np.empty((layers[0].size // 4 * (len(sizes) - 2) + 1, 4))
        count = peaks(layers, np.array(sizes), step, THRESHOLD, room)
        result.append(room[:count])
    points = np.concatenate(result)
    order = np.lexsort((points[:, 0], points[:, 1], -points[:, 3]))
    return points[order[:MAX_POINTS]]

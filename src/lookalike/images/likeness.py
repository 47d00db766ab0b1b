"""Compare small pictures at the best alignment, to tell resized and cropped copies from others."""

from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIDE = 32
"""The side, in pixels, that thumbnails are shrunk to before they are compared."""

CELLS = 8
"""Both sides of a picture are divided into so many parts, whose mean colours are compared."""

CUTS = 3
"""At most so many steps may have been cropped off a side, or off two opposite sides together."""

STEP = 0.04
"""A step of cropping, as a share of the side."""

NOISE = 2.0
"""Levels of 255 by which two copies of a flat picture may differ."""

UNALIGNED = 0.6
"""Pictures less alike than this without an alignment are not aligned: 3,000 copies of photographs,
cropped by up to a tenth of each side, were at 0.75 or above, and 9 of 10 others of the same class
below."""

_AT_ONCE = 64

Small = NDArray[np.uint8]


def small_picture(jpeg: bytes) -> Small | None:
    """Return a thumbnail shrunk to ``SIDE`` × ``SIDE`` pixels; None if it cannot be read."""
    try:
        with Image.open(BytesIO(jpeg)) as image:
            # JPEG is decoded at a fraction of its size, which is quicker.
            image.draft("RGB", (2 * SIDE, 2 * SIDE))
            small = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BOX)
    except (OSError, ValueError, SyntaxError):
        return None
    return np.asarray(small, np.uint8)


def likeness(one: Small, others: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return how alike a small picture is to others: 1 for the same, 0 for unrelated ones.

    For mean colours a and b of the cells of two pictures it is 1 − |a − b|² / (var a + var b + e),
    where var is the sum of squares around the mean and e allows for noise; of all ways to crop one
    of the two by up to 12 % of its width and height, the one that makes them most alike counts.

    Parameters
    ----------
    one : uint8 array of shape (32, 32, 3)
    others : uint8 array of shape (n, 32, 32, 3)

    Examples
    --------
    >>> ramp = np.repeat(np.arange(0, 256, 8, np.uint8), 32 * 3).reshape(32, 32, 3)
    >>> likeness(ramp, np.stack([ramp, ramp[::-1]])).round(2).tolist()
    [1.0, -1.0]
    """
    result = np.empty(len(others), np.float32)
    own = _whole(one[None])
    for first in range(0, len(others), _AT_ONCE):
        some = others[first : first + _AT_ONCE]
        whole = _whole(some)
        best = _alike(own, whole)[0]
        near = np.flatnonzero(best >= UNALIGNED)
        if near.size:
            cropped = _cropped(some[near])
            back = _alike(own, cropped.reshape(-1, own.shape[1])).reshape(near.size, -1)
            there = _alike(_cropped(one[None])[0], whole[near])
            best[near] = np.maximum(there.max(axis=0), back.max(axis=1))
        result[first : first + _AT_ONCE] = best
    return result


def _alike(rows: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how alike the cells of some pictures are to those of others, of shape (r, o)."""
    # In float32 the difference of large sums would be off by some 10⁻⁴, and copies above 1.
    a, b = rows.astype(np.float64), others.astype(np.float64)
    squares = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1)
    spread = a.var(axis=1)[:, None] + b.var(axis=1) + 2 * NOISE**2
    apart = np.maximum(squares - 2 * (a @ b.T), 0)
    result: NDArray[np.float32] = (1 - apart / (spread * a.shape[1])).astype(np.float32)
    return result


def _windows() -> NDArray[np.float32]:
    """Return the means that each way to crop a side takes, of shape (ways, CELLS, SIDE)."""
    edges = np.arange(SIDE + 1)
    result = []
    for cut in range(CUTS + 1):
        for start in range(cut + 1):
            ends = SIDE * np.linspace(start * STEP, 1 - (cut - start) * STEP, CELLS + 1)
            low, high = ends[:-1, None], ends[1:, None]
            shared = np.minimum(high, edges[1:]) - np.maximum(low, edges[:-1])
            result.append(np.clip(shared, 0, None) / (high - low))
    return np.array(result, np.float32)


_WINDOWS = _windows()


def _whole(small: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the mean colours of the cells of pictures, a row each."""
    return _means(small, _WINDOWS[:1])[:, 0]


def _cropped(small: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the same for every way to crop them, of shape (n, ways, 3 · CELLS²)."""
    return _means(small, _WINDOWS)


def _means(small: NDArray[np.uint8], windows: NDArray[np.float32]) -> NDArray[np.float32]:
    ways = len(windows)
    takes = windows.reshape(ways * CELLS, SIDE)
    pixels = small.astype(np.float32).transpose(0, 3, 1, 2)
    means: NDArray[np.float32] = np.asarray(takes @ pixels @ takes.T, np.float32)
    parts = means.reshape(len(small), 3, ways, CELLS, ways, CELLS)
    return parts.transpose(0, 2, 4, 1, 3, 5).reshape(len(small), ways * ways, -1)

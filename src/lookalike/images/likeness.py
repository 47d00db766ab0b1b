"""Compare small pictures at the best alignment, to tell changed copies from other pictures."""

from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIDE = 32
"""The side, in pixels, that thumbnails are shrunk to before they are compared."""

CELLS = 16
"""Both sides of a picture are divided into so many parts, whose mean brightness is compared."""

AROUND = 2
"""A cell counts by how it differs from the mean of those so near to it: its fine structure."""

CUTS = 3
"""At most so many steps may have been cropped off a side, or off two opposite sides together."""

STEP = 0.04
"""A step of cropping, as a share of the side."""

MIN_STRUCTURE = 0.75
"""Levels of 255 by which cells differ from those around them at least, in the mean: a plain
surface, a clear sky or a black frame has nothing to be known again by."""

UNALIGNED = 0.5
"""Pictures whose brightness agrees less than this, in 16 parts, are not aligned."""

MIN_COLOUR, MIN_SAME_COLOUR = 6.0, 0.7
"""Levels of colour that a picture has in the mean, or else is taken for a grey copy; and how far
the colours of two that are not grey must agree."""

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


def is_grey(small: Small) -> bool:
    """Return whether a small picture has hardly any colour."""
    return bool(_strength(_colours(small[None]))[0] < MIN_COLOUR)


def likeness(one: Small, others: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return how alike a small picture is to others: 1 for the same, about 0 for unrelated ones.

    It is the correlation of their fine structure: of how the brightness of each cell differs from
    that of the cells around it. So a copy that is brighter, of other contrast or grey is as alike
    as one of another size. Of the picture and its mirror image, and of all ways to crop one of the
    two by up to 12 % of its width and height, the most alike counts. Pictures in other colours are
    not alike, unless one of them is grey; nor are plain ones, which have no structure.

    Parameters
    ----------
    one : uint8 array of shape (32, 32, 3)
    others : uint8 array of shape (n, 32, 32, 3)

    Examples
    --------
    >>> rough = np.random.default_rng(0).integers(0, 256, (8, 8, 3)).astype(np.uint8)
    >>> rough = rough.repeat(4, axis=0).repeat(4, axis=1)
    >>> likeness(rough, np.stack([rough, rough[:, ::-1], rough // 2])).round(2).tolist()
    [1.0, 1.0, 1.0]
    >>> likeness(rough, rough[None, ::-1]) < 0.5
    array([ True])
    """
    result = np.zeros(len(others), np.float32)
    for first in range(0, len(others), _AT_ONCE):
        some = others[first : first + _AT_ONCE]
        for own in (one, one[:, ::-1]):
            best = np.where(_same_colours(own, some), _aligned(own, some), 0)
            part = result[first : first + _AT_ONCE]
            np.maximum(part, best, out=part)
    return result


def _aligned(own: Small, others: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return how alike the structure of pictures is at the best alignment."""
    whole, rest = _brightness(own[None], _WINDOWS[:1]), _brightness(others, _WINDOWS[:1])
    near = np.flatnonzero(_unit(_coarse(whole))[0] @ _unit(_coarse(rest)).T >= UNALIGNED)
    result = np.zeros(len(others), np.float32)
    if near.size:
        crops, cropped = _brightness(own[None], _WINDOWS), _brightness(others[near], _WINDOWS)
        back = _structure(cropped) @ _structure(whole)[0, 0]
        there = _structure(crops)[0] @ _structure(rest[near])[:, 0].T
        result[near] = np.maximum(there.max(axis=0), back.max(axis=1))
    return result


def _same_colours(own: Small, others: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which pictures have the colours of one, or are grey as it is not, or the reverse."""
    colours = [_colours(some) for some in (own[None], others)]
    (size,), sizes = map(_strength, colours)
    agree = _scaled(colours[0]) @ _scaled(colours[1]).T
    grey = (sizes < MIN_COLOUR) | (size < MIN_COLOUR)
    return np.asarray(grey | (agree[0] >= MIN_SAME_COLOUR))


def _colours(small: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return how far red and blue differ from the brightness, in 16 parts."""
    pixels = small.reshape(len(small), 4, SIDE // 4, 4, SIDE // 4, 3).mean(axis=(2, 4))
    apart: NDArray[np.float32] = (pixels[..., [0, 2]] - pixels @ _BRIGHTNESS[:, None]).astype(
        np.float32
    )
    return apart.reshape(len(small), -1)


def _strength(colours: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(np.sqrt(np.square(colours).mean(axis=1)))


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


def _blur() -> NDArray[np.float32]:
    """Return the matrix of means over cells around each in a line, which keeps straight lines.

    Beyond an end a line goes on as it does before it, turned about its last cell.
    """
    unit = np.eye(CELLS)
    longer = np.pad(unit, ((0, 0), (AROUND, AROUND)), mode="reflect", reflect_type="odd")
    return np.array(
        [longer[:, at : at + 2 * AROUND + 1].mean(axis=1) for at in range(CELLS)], np.float32
    )


_WINDOWS = _windows()
_BLUR = _blur()
_BRIGHTNESS = np.array([0.299, 0.587, 0.114], np.float32)


def _brightness(small: NDArray[np.uint8], windows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the brightness of cells for every way to crop, of shape (n, ways, CELLS²)."""
    takes = windows.reshape(-1, SIDE)
    means = np.asarray(takes @ (small.astype(np.float32) @ _BRIGHTNESS) @ takes.T, np.float32)
    parts = means.reshape(len(small), len(windows), CELLS, len(windows), CELLS)
    return parts.transpose(0, 1, 3, 2, 4).reshape(len(small), -1, CELLS * CELLS)


def _coarse(cells: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the mean brightness of groups of four times four cells, uncropped."""
    groups = cells[:, 0].reshape(len(cells), 4, CELLS // 4, 4, CELLS // 4)
    coarse: NDArray[np.float32] = groups.mean(axis=(2, 4)).reshape(len(cells), -1)
    return coarse


def _structure(cells: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how cells differ from those around them, to unit length; 0 where they hardly do."""
    square = cells.reshape(*cells.shape[:-1], CELLS, CELLS)
    fine: NDArray[np.float32] = np.asarray(square - _BLUR @ square @ _BLUR.T, np.float32)
    return _unit(fine.reshape(cells.shape), MIN_STRUCTURE * CELLS)


def _unit(rows: NDArray[np.float32], least: float = 1e-6) -> NDArray[np.float32]:
    """Return rows around their mean, to unit length; 0 for those shorter than ``least``."""
    return _scaled(rows - rows.mean(axis=-1, keepdims=True), least)


def _scaled(rows: NDArray[np.float32], least: float = 1e-6) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled: NDArray[np.float32] = np.where(
        lengths < least, 0, rows / np.maximum(lengths, 1e-6)
    ).astype(np.float32)
    return scaled

"""Parts of a picture, and how many of its pixels are worth keeping."""

from collections.abc import Sequence
from math import ceil, sqrt

from PIL import Image

from lookalike.core.errors import InvalidInput

MIN_PIXELS = 2_000_000
"""Pixels that a picture always keeps."""

_SHARE = 0.01


def most_pixels(side: int) -> int:
    """Return how many pixels a picture keeps whose shorter side need not be longer than this.

    It is more than a JPEG decoded at a reduced size has, unless it is a strip.
    """
    return max(MIN_PIXELS, 8 * side * side)


def reduced(image: Image.Image, side: int) -> Image.Image:
    """Return a picture with blocks of pixels averaged, if it has more than are worth keeping."""
    width, height = image.size
    factor = ceil(sqrt(width * height / most_pixels(side)))
    return image.reduce(factor) if factor > 1 else image


def check_box(box: Sequence[float]) -> tuple[float, float, float, float]:
    """Return a part of a picture as four fractions, or raise InvalidInput."""
    shares = [float(share) for share in box]
    if len(shares) == 4:
        left, top, right, bottom = shares
        if 0 <= left < right <= 1 and 0 <= top < bottom <= 1:
            return left, top, right, bottom
    raise InvalidInput(
        f"a region is left, top, right and bottom as fractions from 0 to 1, the first two below "
        f"the others; got {box!r:.120}."
    )


def pixels_of(box: Sequence[float], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return a part of a picture of this size in pixels, at least one wide and high.

    Examples
    --------
    >>> pixels_of([0.25, 0.0, 0.5, 1.0], (100, 80)), pixels_of([0.999, 0, 1, 1], (100, 80))
    ((25, 0, 50, 80), (99, 0, 100, 80))
    """
    left, top, right, bottom = check_box(box)
    width, height = size
    x, y = min(int(left * width), width - 1), min(int(top * height), height - 1)
    return x, y, max(x + 1, round(right * width)), max(y + 1, round(bottom * height))


def whole_side(side: int, box: Sequence[float]) -> int:
    """Return the side of a picture of which a part has this side."""
    left, top, right, bottom = box
    return int(side / max(min(right - left, bottom - top), _SHARE)) + 1

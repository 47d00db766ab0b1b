"""Bring every kind of pixel to RGB of eight bits, as a viewer would show it on white."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_WHITES = (255.0, 65535.0, 4294967295.0)
_BLOCK = 1 << 16  # pixels converted at once; their arrays take 37 bytes a pixel


def to_rgb(
    image: Image.Image, *, depth: int = 16, unsigned: bool = False, inverted: bool = False
) -> Image.Image:
    """Turn a loaded picture of any mode into RGB, transparency laid on white.

    Parameters
    ----------
    image : Image
        It is given back itself where nothing has to change.
    depth : int
        How many of the bits of a 16-bit grey picture are used: 16, or 12 for some TIFF files.
    unsigned : bool
        Whether 32-bit grey is without sign; Pillow holds it with one.
    inverted : bool
        Whether the zero of a grey picture of more than eight bits is white.
    """
    if image.mode.startswith("I;16"):
        return _from_16_bits(image, depth, inverted)
    if image.mode in {"I", "F"}:
        return _from_wide(image, unsigned, inverted)
    if image.has_transparency_data:
        opaque = Image.new("RGB", image.size, "white")
        layer = image if image.mode == "RGBA" else _with_alpha(image)
        opaque.paste(layer, mask=layer)
        return opaque
    return image if image.mode == "RGB" else image.convert("RGB")


def _with_alpha(image: Image.Image) -> Image.Image:
    straight = image.convert("LA") if image.mode == "La" else image
    return straight.convert("RGBA")


def _from_16_bits(image: Image.Image, depth: int, inverted: bool) -> Image.Image:
    white = (1 << depth) - 1
    transparent = image.info.get("transparency")

    def grey(block: Image.Image) -> NDArray[np.uint32]:
        samples = np.asarray(block).astype(np.uint32)
        values = (np.minimum(samples, white) * 255 + white // 2) // white
        if inverted:
            values = 255 - values
        if isinstance(transparent, int):
            values[samples == transparent] = 255
        return values

    return _grey(image, grey)


def _from_wide(image: Image.Image, unsigned: bool, inverted: bool) -> Image.Image:
    """Scale 32-bit samples, whose range the format leaves open.

    White is the smallest of 1 (for floats), 2⁸−1, 2¹⁶−1 and 2³²−1 that holds every sample, or
    the largest sample when none does; black is 0. A picture with negative samples runs from its
    least to its greatest. Samples that are not numbers are black.
    """
    integers = image.mode == "I"

    def finite(block: Image.Image) -> NDArray[np.float64]:
        pixels = np.asarray(block)
        samples = (pixels.view(np.uint32) if integers and unsigned else pixels).astype(np.float64)
        return np.where(np.isfinite(samples), samples, 0.0)

    least, greatest = np.inf, -np.inf
    for box in _boxes(image.size):
        samples = finite(image.crop(box))
        least, greatest = min(least, float(samples.min())), max(greatest, float(samples.max()))
    whites = _WHITES if integers else (1.0, *_WHITES)
    white = next((value for value in whites if greatest <= value), greatest)
    black = 0.0
    if least < 0:
        black, white = least, greatest

    def grey(block: Image.Image) -> NDArray[np.float64]:
        values = (finite(block) - black) * (255.0 / ((white - black) or 1.0))
        return 255 - values if inverted else values

    return _grey(image, grey)


def _grey(
    image: Image.Image,
    grey: Callable[[Image.Image], NDArray[np.uint32] | NDArray[np.float64]],
) -> Image.Image:
    """Turn samples into grey, a block at a time, since arrays of all of them take ten pictures."""
    result = Image.new("RGB", image.size)
    for box in _boxes(image.size):
        values = np.rint(grey(image.crop(box))).astype(np.uint8)
        result.paste(Image.fromarray(values).convert("RGB"), box)
    return result


def _boxes(size: tuple[int, int]) -> Iterator[tuple[int, int, int, int]]:
    width, height = size
    columns = min(width, _BLOCK)
    rows = _BLOCK // max(columns, 1)
    for top in range(0, height, rows):
        for left in range(0, width, _BLOCK):
            yield left, top, min(left + columns, width), min(top + rows, height)

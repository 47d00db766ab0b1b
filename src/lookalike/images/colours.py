"""Convert every kind of pixel to 8-bit RGB, as a viewer would show it on white."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_WHITES = (255.0, 65535.0, 4294967295.0)
_BLOCK = 1 << 16  # pixels converted at once; their arrays take 37 bytes per pixel


def to_rgb(
    image: Image.Image, *, depth: int = 16, unsigned: bool = False, inverted: bool = False
) -> Image.Image:
    """Return a loaded picture of any mode as RGB, with transparency on white.

    Parameters
    ----------
    image : Image
        Returned itself where nothing has to change.
    depth : int
        How many bits of a 16-bit grey picture are used: 16, or 12 for some TIFF files.
    unsigned : bool
        Whether 32-bit grey is unsigned; Pillow stores it as signed.
    inverted : bool
        Whether 0 is white in a grey picture of more than eight bits.
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
    """Scale 32-bit samples, whose range the format does not specify.

    White is the smallest of 1 (for floats), 2⁸−1, 2¹⁶−1 and 2³²−1 that no sample exceeds, or the
    largest sample if all are exceeded; black is 0. With negative samples, black is the smallest
    sample and white the largest. Samples that are not finite count as 0.
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
    """Convert samples to grey by blocks: arrays of all of them take ten times the picture."""
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

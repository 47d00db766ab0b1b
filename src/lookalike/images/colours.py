"""Bring every kind of pixel to RGB of eight bits, as a viewer would show it on white."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_WHITES = (255.0, 65535.0, 4294967295.0)


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
    samples = np.asarray(image).astype(np.uint32)
    white = (1 << depth) - 1
    grey = (np.minimum(samples, white) * 255 + white // 2) // white
    if inverted:
        grey = 255 - grey
    transparent = image.info.get("transparency")
    if isinstance(transparent, int):
        grey[samples == transparent] = 255
    return _grey(grey)


def _from_wide(image: Image.Image, unsigned: bool, inverted: bool) -> Image.Image:
    """Scale 32-bit samples, whose range the format leaves open.

    White is the smallest of 1 (for floats), 2⁸−1, 2¹⁶−1 and 2³²−1 that holds every sample, or
    the largest sample when none does; black is 0. A picture with negative samples runs from its
    least to its greatest. Samples that are not numbers are black.
    """
    pixels = np.asarray(image)
    integers = image.mode == "I"
    samples = (pixels.view(np.uint32) if integers and unsigned else pixels).astype(np.float64)
    finite = np.where(np.isfinite(samples), samples, 0.0)
    least, greatest = float(finite.min()), float(finite.max())
    whites = _WHITES if integers else (1.0, *_WHITES)
    white = next((value for value in whites if greatest <= value), greatest)
    black = 0.0
    if least < 0:
        black, white = least, greatest
    grey = (finite - black) * (255.0 / ((white - black) or 1.0))
    return _grey(255 - grey if inverted else grey)


def _grey(grey: NDArray[np.uint32] | NDArray[np.float64]) -> Image.Image:
    return Image.fromarray(np.rint(grey).astype(np.uint8)).convert("RGB")

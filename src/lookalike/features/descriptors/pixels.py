"""Bring a picture to the size at which it is described."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lookalike.core.errors import InvalidInput

MAX_SIDE = 500
MIN_SIDE = 32


@dataclass(frozen=True, slots=True)
class Pixels:
    """A picture of 500 pixels on its longer side, as paper 5 describes them (section 6.3.1).

    Attributes
    ----------
    rgb : ndarray of uint8, shape (height, width, 3)
    grey : ndarray of uint8, shape (height, width)
        The luma of ITU-R 601-2, as Pillow's mode ``L``.
    """

    rgb: NDArray[np.uint8]
    grey: NDArray[np.uint8]

    def grey_square(self, side: int) -> NDArray[np.float32]:
        """Return the luma stretched to a square."""
        square = Image.fromarray(self.grey).resize((side, side), Image.Resampling.BILINEAR)
        return np.asarray(square, np.float32)


def pixels_of(image: Image.Image) -> Pixels:
    """Return a picture scaled to 500 pixels on its longer side, transparency on white.

    *Departure.* The shorter side gets at least 32 pixels, so that every filter fits; only pictures
    more than 15 times as long as wide are stretched by that.

    Examples
    --------
    >>> from PIL import Image
    >>> pixels_of(Image.new("L", (640, 480))).rgb.shape
    (375, 500, 3)
    """
    if not isinstance(image, Image.Image) or 0 in image.size:
        raise InvalidInput(
            f"views: a picture must be a Pillow image with at least one pixel; got "
            f"{type(image).__name__}. Read pictures with lookalike.images."
        )
    longer = max(image.size)
    width, height = (max(MIN_SIDE, round(side * MAX_SIDE / longer)) for side in image.size)
    scaled = opaque(image).resize((width, height), Image.Resampling.BILINEAR, reducing_gap=3.0)
    return Pixels(np.asarray(scaled), np.asarray(scaled.convert("L")))


def opaque(image: Image.Image) -> Image.Image:
    """Return a picture of mode RGB, what is transparent on white."""
    if not image.has_transparency_data:
        return image if image.mode == "RGB" else image.convert("RGB")
    with_alpha = image.convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, with_alpha).convert("RGB")

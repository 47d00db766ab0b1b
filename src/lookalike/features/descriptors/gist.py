"""Describe a scene by GIST: the energy of 4 scales × 8 directions in each of 4 × 4 blocks."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.features.descriptors.pixels import Pixels

SIDE = 256
SCALES, DIRECTIONS, BLOCKS = 4, 8, 4
WIDTH = SCALES * DIRECTIONS * BLOCKS**2
BORDER = 32
CUT = 4
"""Cycles a picture below which contrast is evened out."""


def gist(pixels: Pixels) -> NDArray[np.float32]:
    """Return the mean magnitude of 32 filters in 16 blocks, filter by filter.

    Oliva and Torralba, Modeling the shape of the scene (2001), as their own program computes it
    with its usual settings: the luma in a square of 256 pixels, stretched to 0 .. 255, log(1 + x),
    low frequencies removed and the local contrast divided out, mirrored by 32 pixels at each side,
    then filtered in the Fourier domain.

    *Departure.* Theirs crops the square out of the middle; here the picture is squeezed into it, so
    that no part is lost.

    Examples
    --------
    >>> from PIL import Image
    >>> from lookalike.features.descriptors.pixels import pixels_of
    >>> bool(abs(gist(pixels_of(Image.new("RGB", (64, 48), "red")))).max() < 1e-4)
    True
    """
    from scipy.fft import fft2, ifft2

    even = _evened(pixels.grey_square(SIDE))
    spectrum = fft2(np.pad(even, BORDER, mode="symmetric"))
    inside = slice(BORDER, BORDER + SIDE)
    block = SIDE // BLOCKS
    means = []
    for transfer in filters():
        energy = np.abs(ifft2(spectrum * transfer)[inside, inside])
        means.append(energy.reshape(BLOCKS, block, BLOCKS, block).mean(axis=(1, 3)))
    return np.array(means, np.float32).ravel()


def _evened(grey: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return log(1 + x) without low frequencies, divided by 0.2 plus the local deviation."""
    from scipy.fft import irfft2, rfft2

    above = grey - grey.min()
    above *= np.float32(255 / max(1.0, float(above.max())))
    light = np.pad(np.log1p(above), 5, mode="symmetric")
    low = _low_pass(len(light))
    high = light - irfft2(rfft2(light) * low, light.shape)
    contrast = np.sqrt(np.abs(irfft2(rfft2(high * high) * low, light.shape)))
    even: NDArray[Any] = (high / (np.float32(0.2) + contrast))[5:-5, 5:-5]
    return even


@cache
def _low_pass(side: int) -> NDArray[np.float32]:
    """Return a Gaussian that is one half at ``CUT`` cycles, for the half spectrum."""
    cycles = np.fft.fftfreq(side, 1 / side)
    squares = cycles[:, None] ** 2 + cycles[None, : side // 2 + 1] ** 2
    low: NDArray[np.float32] = np.exp(-squares * np.log(2) / CUT**2).astype(np.float32)
    return low


@cache
def filters() -> NDArray[np.float32]:
    """Return the transfer functions, scale by scale: (32, 320, 320)."""
    side = SIDE + 2 * BORDER
    cycles = np.fft.fftfreq(side, 1 / side)
    down, right = np.meshgrid(cycles, cycles, indexing="ij")
    radius, angle = np.hypot(right, down) / side, np.arctan2(down, right)
    made = []
    for scale in range(SCALES):
        centre = 0.3 / 1.85**scale
        for turn in range(DIRECTIONS):
            off = (angle + np.pi * turn / DIRECTIONS + np.pi) % (2 * np.pi) - np.pi
            width = 16 * DIRECTIONS**2 / 32**2
            made.append(
                np.exp(-10 * 0.35 * (radius / centre - 1) ** 2 - 2 * width * np.pi * off**2)
            )
    return np.array(made, np.float32)

"""Describe a picture's texture by Gabor wavelets: 5 scales × 8 directions × 3 moments."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from lookalike.features.descriptors.pixels import Pixels

SIDE = 64
SCALES, DIRECTIONS = 5, 8
WIDTH = SCALES * DIRECTIONS * 3
MAX_WAVE_NUMBER = np.pi / 2
"""The wave number of the finest scale, in radians a pixel."""
SPACING = np.sqrt(2)
SPREAD = 2 * np.pi


def gabor(pixels: Pixels) -> NDArray[np.float32]:
    """Return the mean, deviation and skewness of 40 wavelet magnitudes, filter by filter.

    The picture becomes a square of 64 pixels with values in 0 .. 1, continued periodically. The
    wavelets are those of Lades et al., Distortion invariant object recognition in the dynamic link
    architecture (1993), with wave vectors k of length (π/2) / √2^scale every 22.5° and σ = 2π:

        ψ(z) = (k²/σ²) exp(−k²z²/(2σ²)) (exp(i k·z) − exp(−σ²/2)).

    They are applied in the Fourier domain, where

        ψ̂(ω) = 2π (exp(−σ²|ω − k|²/(2k²)) − exp(−σ²(ω² + k²)/(2k²))).

    The skewness is the cube root of E(x − E)³, in the units of the others. Paper 5 gives only the
    number 120.

    Examples
    --------
    >>> from PIL import Image
    >>> from lookalike.features.descriptors.pixels import pixels_of
    >>> bool(abs(gabor(pixels_of(Image.new("RGB", (64, 48), "red")))).max() < 1e-6)
    True
    """
    from scipy.fft import fft2, ifft2

    spectrum = fft2(pixels.grey_square(SIDE) / np.float32(255))
    magnitudes = np.abs(ifft2(spectrum * filters())).reshape(SCALES * DIRECTIONS, -1)
    means = magnitudes.mean(axis=1)
    apart = magnitudes - means[:, None]
    squares = apart * apart
    moments = [means, np.sqrt(squares.mean(axis=1)), np.cbrt((squares * apart).mean(axis=1))]
    return np.stack(moments, axis=1).ravel().astype(np.float32)


@cache
def filters() -> NDArray[np.float32]:
    """Return the transfer functions, scale by scale: (40, 64, 64)."""
    frequencies = 2 * np.pi * np.fft.fftfreq(SIDE)
    down, right = np.meshgrid(frequencies, frequencies, indexing="ij")
    made = []
    for scale in range(SCALES):
        k = MAX_WAVE_NUMBER / SPACING**scale
        for turn in np.arange(DIRECTIONS) * np.pi / DIRECTIONS:
            away = (right - k * np.cos(turn)) ** 2 + (down - k * np.sin(turn)) ** 2
            from_zero = right**2 + down**2 + k**2
            wave, constant = (
                np.exp(-(SPREAD**2) * square / (2 * k**2)) for square in (away, from_zero)
            )
            made.append(2 * np.pi * (wave - constant))
    return np.array(made, np.float32)

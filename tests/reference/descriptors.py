"""The global descriptors of paper 5 by other ways: exact fractions, direct sums, full spectra."""

import cmath
import colorsys
import math
from fractions import Fraction

import numpy as np


def colour(rgb):
    """HSV by ``colorsys`` over exact fractions, pixel by pixel."""
    histogram, values = np.zeros(72), []
    for pixel in rgb.reshape(-1, 3).tolist():
        hue, saturation, value = colorsys.rgb_to_hsv(*(Fraction(one, 255) for one in pixel))
        at = [
            min(bins - 1, math.floor(bins * Fraction(part)))
            for bins, part in ((8, hue), (3, saturation), (3, value))
        ]
        histogram[9 * at[0] + 3 * at[1] + at[2]] += 1
        values.append([float(hue), float(saturation), float(value)])
    moments = np.zeros((3, 3))
    for channel, of in enumerate(np.array(values).T):
        moments[0, channel] = mean = math.fsum(of) / len(of)
        moments[1, channel] = math.sqrt(math.fsum((of - mean) ** 2) / len(of))
        third = math.fsum((of - mean) ** 3) / len(of)
        moments[2, channel] = math.copysign(abs(third) ** (1 / 3), third)
    return np.concatenate([histogram / len(values), moments.ravel()])


def wavelet(scale, direction, side):
    """ψ(z) of Lades et al. at the pixels of a periodic square, summed over its copies."""
    k, sigma = math.pi / 2 / math.sqrt(2) ** scale, 2 * math.pi
    turn = direction * math.pi / 8
    kernel = np.zeros((side, side), complex)
    for copy_y in (-1, 0, 1):
        for copy_x in (-1, 0, 1):
            y, x = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
            y = (y + side // 2) % side - side // 2 + copy_y * side
            x = (x + side // 2) % side - side // 2 + copy_x * side
            bell = (k / sigma) ** 2 * np.exp(-(k**2) * (x**2 + y**2) / (2 * sigma**2))
            wave = np.exp(1j * k * (x * math.cos(turn) + y * math.sin(turn)))
            kernel += bell * (wave - cmath.exp(-(sigma**2) / 2))
    return kernel


def gabor_magnitude(grey, scale, direction):
    """|picture * ψ| by direct circular sums."""
    side = len(grey)
    kernel = wavelet(scale, direction, side)
    found = np.zeros((side, side), complex)
    for y in range(side):
        for x in range(side):
            if grey[y, x]:
                found += grey[y, x] * np.roll(kernel, (y, x), axis=(0, 1))
    return np.abs(found)


def gist(square):
    """LMgist of Oliva and Torralba, line by line, with full and shifted spectra."""
    light = square.astype(np.float64) - square.min()
    light = np.log(255 * light / max(1, light.max()) + 1)
    light = np.pad(light, 5, mode="symmetric")
    n = len(light)
    fx, fy = np.meshgrid(np.arange(-n / 2, n / 2), np.arange(-n / 2, n / 2))
    gf = np.fft.fftshift(np.exp(-(fx**2 + fy**2) / (4 / np.sqrt(np.log(2))) ** 2))
    out = light - np.fft.ifft2(np.fft.fft2(light) * gf).real
    local = np.sqrt(np.abs(np.fft.ifft2(np.fft.fft2(out**2) * gf)))
    out = (out / (0.2 + local))[5:-5, 5:-5]
    padded = np.pad(out, 32, mode="symmetric")
    n = len(padded)
    fx, fy = np.meshgrid(np.arange(-n / 2, n / 2), np.arange(-n / 2, n / 2))
    fr = np.fft.fftshift(np.sqrt(fx**2 + fy**2))
    t = np.fft.fftshift(np.angle(fx + 1j * fy))
    found = []
    for i in range(4):
        for j in range(8):
            tr = t + np.pi / 8 * j
            tr = tr + 2 * np.pi * (tr < -np.pi) - 2 * np.pi * (tr > np.pi)
            transfer = np.exp(
                -10 * 0.35 * (fr / n / (0.3 / 1.85**i) - 1) ** 2
                - 2 * (16 * 8**2 / 32**2) * np.pi * tr**2
            )
            energy = np.abs(np.fft.ifft2(np.fft.fft2(padded) * transfer))[32:-32, 32:-32]
            cuts = np.linspace(0, 256, 5).astype(int)
            found += [
                energy[cuts[a] : cuts[a + 1], cuts[b] : cuts[b + 1]].mean()
                for a in range(4)
                for b in range(4)
            ]
    return np.array(found)

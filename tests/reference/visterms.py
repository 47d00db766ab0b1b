"""Section 3 of paper 1 pixel by pixel: the slow twin of ``lookalike.features.visterms``."""

import math
from functools import cache

import numpy as np


def grey(rgb):
    """Luma of ITU-R 601-2 in whole numbers, halves up, the border repeated 3 pixels outwards."""
    luma = (rgb.astype(int) @ [19595, 38470, 7471] + 32768) // 65536
    return np.pad(luma, 3, mode="edge").tolist()


def neighbour(p):
    """The pixel above and left of the point at 45°·p on the circle, and how far the point is."""
    down = round(-2 * math.sin(2 * math.pi * p / 8), 12)
    right = round(2 * math.cos(2 * math.pi * p / 8), 12)
    top, left = math.floor(down), math.floor(right)
    return top, left, down - top, right - left


NEIGHBOURS = [neighbour(p) for p in range(8)]


def pattern_code(light, y, x):
    """The code of LBP_{8,2}: bit p is the neighbour at 45°·p, interpolated between 4 pixels."""
    code = 0
    for p, (top, left, fy, fx) in enumerate(NEIGHBOURS):
        above, below = light[y + 3 + top], light[y + 3 + top + 1]
        at = x + 3 + left
        value = (1 - fy) * ((1 - fx) * above[at] + fx * above[at + 1]) + fy * (
            (1 - fx) * below[at] + fx * below[at + 1]
        )
        # Values are A + B√2 with whole A and B: unequal ones differ by more than 0.0002.
        if value >= light[y + 3][x + 3] - 1e-6:
            code |= 1 << p
    return code


@cache
def uniform_bin(code):
    """Uniform codes in ascending order take bins 0 .. 57, all others bin 58."""

    def changes(of):
        bits = f"{of:08b}"
        return sum(bits[i] != bits[i - 1] for i in range(8))

    if changes(code) > 2:
        return 58
    return sum(changes(smaller) <= 2 for smaller in range(code))


def nearest_colour(pixel, palette):
    return int(((palette.astype(int) - pixel) ** 2).sum(axis=1).argmin())


def block_descriptors(rgb, palette):
    """Each 64 × 64 block every 32 pixels of one level, as shares of patterns and of colours."""
    height, width, _ = rgb.shape
    light = grey(rgb)
    bins = np.zeros((height, width), int)
    colours = np.zeros((height, width), int)
    for y in range(height):
        for x in range(width):
            bins[y, x] = uniform_bin(pattern_code(light, y, x))
            colours[y, x] = nearest_colour(rgb[y, x], palette)
    described = []
    for top in range(0, height - 63, 32):
        for left in range(0, width - 63, 32):
            block = np.zeros(59 + len(palette))
            for y in range(top, top + 64):
                for x in range(left, left + 64):
                    block[bins[y, x]] += 1 / 4096
                    block[59 + colours[y, x]] += 1 / 4096
            described.append(block)
    return np.array(described)


def nearest_word(block, codebook):
    distances = [float(((block - word.astype(float)) ** 2).sum()) for word in codebook]
    return distances.index(min(distances))


def idf(words_of_pictures, dimension):
    """d_j = -log(r_j); a word in no picture counts as in one."""
    total = len(words_of_pictures)
    share = [
        max(1, sum(j in words for words in words_of_pictures)) / total for j in range(dimension)
    ]
    return np.array([-math.log(r) for r in share])


def weigh(words, d):
    """Eq. 17, as a dense row; plain frequencies where all weights are 0."""
    frequency = [sum(word == j for word in words) for j in range(len(d))]
    weighted = [f * weight for f, weight in zip(frequency, d, strict=True)]
    if not any(weighted):
        weighted = frequency
    length = math.sqrt(sum(value**2 for value in weighted))
    return np.array([value / length for value in weighted])

"""SURF by plain sums over pixels, without a summed-area table: the slow twin of ``_fast.surf``."""

import math

import numpy as np


def area(grey, top, left, bottom, right):
    """The sum over a box, of which only what lies in the picture counts."""
    return int(grey[max(0, top) : max(0, bottom), max(0, left) : max(0, right)].sum(dtype=np.int64))


def masks(size):
    """The box filters Dxx, Dyy and Dxy as pictures of weights."""
    lobe, middle = size // 3, size // 2
    xx = np.zeros((size, size), int)
    wide = slice(middle - lobe + 1, middle + lobe)
    xx[wide, :] = 1
    xx[wide, lobe : 2 * lobe] = -2
    xy = np.zeros((size, size), int)
    before, after = slice(middle - lobe, middle), slice(middle + 1, middle + lobe + 1)
    xy[before, after] = xy[after, before] = 1
    xy[before, before] = xy[after, after] = -1
    return xx, xx.T, xy


def hessian(grey, size, step):
    height, width = grey.shape
    rows, columns = -(-height // step), -(-width // step)
    found = np.zeros((rows, columns))
    half = size // 2
    for i in range(rows):
        for j in range(columns):
            y, x = i * step, j * step
            window = grey[max(0, y - half) : y + half + 1, max(0, x - half) : x + half + 1]
            if y >= half and x >= half and window.shape == (size, size):
                xx, yy, xy = ((window * mask).sum() / size**2 for mask in masks(size))
                found[i, j] = xx * yy - (0.9 * xy) ** 2
    return found


def peaks(layers, sizes, step, threshold):
    """The maxima over 27 samples, moved to the maximum of the parabola by solving H o = −g."""
    found = []
    for k in range(1, len(layers) - 1):
        for i in range(1, layers.shape[1] - 1):
            for j in range(1, layers.shape[2] - 1):
                cube = layers[k - 1 : k + 2, i - 1 : i + 2, j - 1 : j + 2]
                value = cube[1, 1, 1]
                if value <= threshold or cube.argmax() != 13:
                    continue
                gradient = (
                    np.array(
                        [
                            cube[1, 1, 2] - cube[1, 1, 0],
                            cube[1, 2, 1] - cube[1, 0, 1],
                            cube[2, 1, 1] - cube[0, 1, 1],
                        ]
                    )
                    / 2
                )
                curve = np.zeros((3, 3))
                axes = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0]])
                for a in range(3):
                    for b in range(3):
                        if a == b:
                            up, down = 1 + axes[a], 1 - axes[a]
                            curve[a, b] = cube[tuple(up)] + cube[tuple(down)] - 2 * value
                        else:
                            curve[a, b] = (
                                sum(
                                    s * t * cube[tuple(1 + s * axes[a] + t * axes[b])]
                                    for s in (-1, 1)
                                    for t in (-1, 1)
                                )
                                / 4
                            )
                offset = np.linalg.solve(curve, -gradient)
                if (np.abs(offset) <= 1).all():
                    size = sizes[k] + offset[2] * (sizes[k + 1] - sizes[k])
                    found.append(
                        [(j + offset[0]) * step, (i + offset[1]) * step, 1.2 * size / 9, value]
                    )
    return np.array(found).reshape(-1, 4)


def haar(grey, y, x, side):
    half = side // 2
    right = area(grey, y - half, x, y + half, x + half) - area(
        grey, y - half, x - half, y + half, x
    )
    down = area(grey, y, x - half, y + half, x + half) - area(grey, y - half, x - half, y, x + half)
    return np.array([right, down], float)


def orientation(grey, x, y, scale):
    s = max(1, round(scale))
    answers = []
    for v in range(-6, 7):
        for u in range(-6, 7):
            if math.hypot(u, v) < 6:
                weight = math.exp(-(u**2 + v**2) / (2 * 2**2))
                answers.append(weight * haar(grey, round(y) + v * s, round(x) + u * s, 4 * s))
    answers = np.array(answers)
    angles = np.arctan2(answers[:, 1], answers[:, 0])
    sums = []
    for turn in range(42):
        start = 2 * math.pi * turn / 42 - math.pi
        inside = np.mod(angles - start, 2 * math.pi) < math.pi / 3
        sums.append(answers[inside].sum(axis=0))
    best = max(sums, key=lambda one: one @ one)
    return math.atan2(best[1], best[0])


def descriptor(grey, x, y, scale):
    turn = orientation(grey, x, y, scale)
    axes = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    parts = np.zeros((4, 4, 4))
    for i in range(20):
        for j in range(20):
            off = np.array([j - 9.5, i - 9.5])
            at = np.array([x, y]) + scale * (off @ axes)
            weight = math.exp(-(off @ off) / (2 * 3.3**2))
            along, across = axes @ (
                weight * haar(grey, round(at[1]), round(at[0]), 2 * max(1, round(scale)))
            )
            parts[i // 5, j // 5] += [along, abs(along), across, abs(across)]
    return parts.ravel() / np.linalg.norm(parts)

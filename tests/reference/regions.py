"""Regions, words and spatial checks as their definitions say, slowly."""

import math

import numpy as np


def determinants(image, factor):
    """Return factor · det H of each pixel; 0 at the border."""
    found = np.zeros_like(image)
    for i in range(1, image.shape[0] - 1):
        for j in range(1, image.shape[1] - 1):
            xx = image[i, j - 1] - 2 * image[i, j] + image[i, j + 1]
            yy = image[i - 1, j] - 2 * image[i, j] + image[i + 1, j]
            corners = image[i - 1, j - 1] - image[i - 1, j + 1] - image[i + 1, j - 1]
            xy = (corners + image[i + 1, j + 1]) / 4
            found[i, j] = factor * (xx * yy - xy * xy)
    return found


def extreme_samples(layers, threshold):
    """Return the samples (k, i, j) above, or below, all their 26 neighbours."""
    found = set()
    depth, height, width = layers.shape
    for k in range(1, depth - 1):
        for i in range(1, height - 1):
            for j in range(1, width - 1):
                block = layers[k - 1 : k + 2, i - 1 : i + 2, j - 1 : j + 2].ravel()
                others = np.delete(block, 13)
                value = layers[k, i, j]
                if abs(value) >= threshold and (value > others.max() or value < others.min()):
                    found.add((k, i, j))
    return found


def bilinear(image, x, y):
    """Return a picture between its pixels; past the border the last one repeats."""
    height, width = image.shape
    x, y = min(max(x, 0), width - 1), min(max(y, 0), height - 1)
    left, top = min(int(x), width - 2), min(int(y), height - 2)
    fx, fy = x - left, y - top
    upper = image[top, left] * (1 - fx) + image[top, left + 1] * fx
    lower = image[top + 1, left] * (1 - fx) + image[top + 1, left + 1] * fx
    return upper * (1 - fy) + lower * fy


def patch(image, x, y, step, side):
    """Return the patch around (x, y) whose axes are the columns of the matrix ``step``."""
    half = (side - 1) / 2
    found = np.empty((side, side))
    for i in range(side):
        for j in range(side):
            dx, dy = np.reshape(step, (2, 2)) @ [j - half, i - half]
            found[i, j] = bilinear(image, x + dx, y + dy)
    return found


def sift(patch, mask):
    """Return the 128 numbers of a patch with a border of one pixel: 4 × 4 cells, 8 directions."""
    side = len(patch) - 2
    row = np.zeros((4, 4, 8))
    for i in range(side):
        for j in range(side):
            gx = patch[i + 1, j + 2] - patch[i + 1, j]
            gy = patch[i + 2, j + 1] - patch[i, j + 1]
            size = mask[i, j] * math.hypot(gx, gy)
            place = (math.atan2(gy, gx) % (2 * math.pi)) * 8 / (2 * math.pi)
            for cell_y in range(4):
                wy = max(0, 1 - abs((i + 0.5) * 4 / side - 0.5 - cell_y))
                for cell_x in range(4):
                    wx = max(0, 1 - abs((j + 0.5) * 4 / side - 0.5 - cell_x))
                    for turn in range(8):
                        gap = abs(place - turn)
                        wt = max(0, 1 - min(gap, 8 - gap))
                        row[cell_y, cell_x, turn] += wy * wx * wt * size
    flat = row.ravel()
    for _ in range(2):
        flat = np.minimum(flat / np.linalg.norm(flat), 0.2)
    return flat / np.linalg.norm(flat)


def nearest(rows, words, count):
    """Return the nearest words of each row, nearest first."""
    squares = ((rows[:, None].astype(float) - words[None]) ** 2).sum(axis=2)
    return np.argsort(squares, axis=1, kind="stable")[:, :count]


def same_words(first, second, most):
    """Return the pairs of places with the same word, of words with at most ``most`` pairs."""
    pairs = set()
    for word in set(first) & set(second):
        own, other = np.flatnonzero(first == word), np.flatnonzero(second == word)
        if len(own) * len(other) <= most:
            pairs |= {(int(a), int(b)) for a in own for b in other}
    return pairs


def agreeing(pairs, first, second, near, hypothesis):
    """Return how many pairs agree with the affine map that one of them gives."""
    a, b = pairs[hypothesis]
    T = second.shapes[b] @ np.linalg.inv(first.shapes[a])
    shift = second.places[b] - T @ first.places[a]
    own = math.log(np.linalg.det(second.shapes[b]) / np.linalg.det(first.shapes[a]))
    count = 0
    for a, b in pairs:
        gap = np.linalg.norm(T @ first.places[a] + shift - second.places[b])
        area = math.log(np.linalg.det(second.shapes[b]) / np.linalg.det(first.shapes[a]))
        count += gap < near and abs(area - own) < 1.386
    return count


def like_signatures(one, two, ratio):
    """Return pairs that are each other's first nearest, nearer than ``ratio`` times the second."""
    bits = [[(int(a) ^ int(b)).bit_count() for b in two] for a in one]
    pairs = []
    for i, row in enumerate(bits):
        nearest, second = sorted(row)[:2]
        j = row.index(nearest)
        column = [other[j] for other in bits]
        if nearest < ratio * second and column.index(min(column)) == i:
            pairs.append((i, j))
    return pairs

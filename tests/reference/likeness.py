"""The likeness of two small pictures, cell by cell."""

import numpy as np

SIDE, CELLS, CUTS, STEP, NOISE = 32, 8, 3, 0.04, 2.0


def mean_colour(picture, top, bottom, left, right):
    """Return the mean colour of a part of a picture, whose edges may lie within pixels."""
    pixels = range(SIDE)
    high = [max(0.0, min(bottom, row + 1) - max(top, row)) for row in pixels]
    wide = [max(0.0, min(right, column + 1) - max(left, column)) for column in pixels]
    share = np.outer(high, wide)
    return (share[..., None] * picture).sum(axis=(0, 1)) / share.sum()


def cells(picture, top, bottom, left, right):
    """Return the mean colours of the cells of a part of a picture."""
    rows = np.linspace(top, bottom, CELLS + 1)
    columns = np.linspace(left, right, CELLS + 1)
    return np.array(
        [
            mean_colour(picture, rows[i], rows[i + 1], columns[j], columns[j + 1])
            for i in range(CELLS)
            for j in range(CELLS)
        ]
    ).ravel()


def alike(a, b):
    spread = ((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()
    return 1 - ((a - b) ** 2).sum() / (spread + 2 * NOISE**2 * len(a))


def parts():
    """Go over what is left of a side when it is cropped."""
    for cut in range(CUTS + 1):
        for start in range(cut + 1):
            yield SIDE * start * STEP, SIDE * (1 - (cut - start) * STEP)


def likeness(one, other):
    """Return the largest likeness, whichever of the two was cropped."""
    whole = (0, SIDE, 0, SIDE)
    return max(
        alike(cells(cropped, *rows, *columns), own)
        for cropped, own in ((one, cells(other, *whole)), (other, cells(one, *whole)))
        for rows in parts()
        for columns in parts()
    )

"""The likeness of two small pictures, cell by cell."""

import numpy as np

SIDE, CELLS, AROUND, CUTS, STEP = 32, 16, 2, 3, 0.04


def shares(start, end):
    """Return how much of each pixel of a side lies in a part of it, whose ends may lie within."""
    part = [max(0.0, min(end, pixel + 1) - max(start, pixel)) for pixel in range(SIDE)]
    return np.array(part) / sum(part)


def cells(bright, top, bottom, left, right):
    """Return the mean brightness of the cells of a part of a picture."""
    rows = np.linspace(top, bottom, CELLS + 1)
    columns = np.linspace(left, right, CELLS + 1)
    result = np.empty((CELLS, CELLS))
    for i in range(CELLS):
        for j in range(CELLS):
            high, wide = shares(rows[i], rows[i + 1]), shares(columns[j], columns[j + 1])
            result[i, j] = high @ bright @ wide
    return result


def structure(square):
    """Return how each cell differs from the mean around it; edges go on, turned about the last."""
    longer = np.pad(square, AROUND, mode="reflect", reflect_type="odd")
    fine = np.empty_like(square)
    for i in range(CELLS):
        for j in range(CELLS):
            fine[i, j] = square[i, j] - longer[i : i + 5, j : j + 5].mean()
    return fine.ravel() - fine.mean()


def alike(a, b):
    a, b = structure(a), structure(b)
    return (a @ b) / (np.linalg.norm(a) * np.linalg.norm(b))


def parts():
    """Go over what is left of a side when it is cropped."""
    for cut in range(CUTS + 1):
        for start in range(cut + 1):
            yield SIDE * start * STEP, SIDE * (1 - (cut - start) * STEP)


def likeness(one, other):
    """Return the largest likeness, whichever of the two was cropped; neither is mirrored."""
    whole = (0, SIDE, 0, SIDE)
    one, other = (picture @ np.array([0.299, 0.587, 0.114]) for picture in (one, other))
    return max(
        alike(cells(cropped, *rows, *columns), own)
        for cropped, own in ((one, cells(other, *whole)), (other, cells(one, *whole)))
        for rows in parts()
        for columns in parts()
    )

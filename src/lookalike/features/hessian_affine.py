"""Find Hessian-affine regions of a picture, and describe each by SIFT on its normalised patch."""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lookalike.features._fast.hessian import WINDOW, adapt_all, determinants, extremes
from lookalike.features._fast.patches import CELLS, PATCH, WIDTH, describe_all
from lookalike.features.descriptors.opencv import cv2

FIRST_SIGMA = 1.6
PICTURE_SIGMA = 0.5
"""The blur that a picture is assumed to have."""
STEPS = 3
"""Layers in an octave of scales."""
THRESHOLD = (8 / 3) ** 2
"""The least determinant, of a picture with values from 0 to 255."""
EDGE = 10.0
BORDER = 5
REACH = 3 * math.sqrt(3)
"""The radius of the patch that is described, in units of a region's scale."""
SMOOTH = 0.5
"""The blur of the picture a patch is taken from, in units of a region's scale."""

F32 = NDArray[np.float32]


class LocalRegions(NamedTuple):
    """Regions of a picture and their descriptors.

    Attributes
    ----------
    places : ndarray of float32, shape (n, 2)
        x and y of each centre in pixels, strongest region first.
    shapes : ndarray of float32, shape (n, 2, 2)
        The matrix that maps the circle of radius 1 to the region, its first column along the
        region's own direction.
    descriptors : ndarray of float32, shape (n, 128)
        SIFT, at unit length.
    """

    places: F32
    shapes: F32
    descriptors: F32


def hessian_affine(grey: NDArray[np.uint8], *, upright: bool, most: int) -> LocalRegions:
    """Return the Hessian-affine regions of a picture, at most ``most``, and their SIFT.

    Mikolajczyk and Schmid, *Scale and affine invariant interest point detectors* (2004): extremes
    of the determinant of the Hessian in scale space, whose shape is adapted until the second
    moments of gradients are those of a circle. Perdoch, Chum and Matas, *Efficient representation
    of local geometry for large scale object retrieval* (2009), for the sizes of windows and patch.

    Parameters
    ----------
    grey : ndarray of uint8, shape (height, width)
    upright : bool
        Whether regions keep the picture's upright, rather than the direction of their gradients.
    most : int
        How many to return; those of the strongest response.

    Notes
    -----
    *Departures.* The patch is taken from the layer of scale space with the blur it needs, rather
    than blurred by itself. Patches that reach past the picture's border are filled by its last
    pixels. A region has one orientation.

    Examples
    --------
    >>> flat = np.zeros((48, 64), np.uint8)
    >>> hessian_affine(flat, upright=True, most=10).descriptors.shape
    (0, 128)
    """
    levels, spacings, points = _points(grey.astype(np.float32))
    if not points:
        return LocalRegions(
            *(np.zeros((0, *tail), np.float32) for tail in ((2,), (2, 2), (WIDTH,)))
        )
    regions = np.concatenate(points)
    chosen = np.argsort(-np.abs(regions[:, 6]), kind="stable")[:most]
    regions = np.ascontiguousarray(regions[chosen])
    scales = np.sqrt(np.abs(regions[:, 2] * regions[:, 5] - regions[:, 3] * regions[:, 4]))
    blurs = np.array([blur for _, blur in levels])
    # Along a region's longer axis its patch is coarser; what counts is the mean.
    layer_of = np.maximum(np.searchsorted(blurs, SMOOTH * 1.2 * scales, side="right") - 1, 0)
    sizes = [picture.shape for picture, _ in levels]
    starts = np.cumsum([0, *(height * width for height, width in sizes)])[:-1]
    layers = np.array([(at, *size) for at, size in zip(starts, sizes, strict=True)], np.int64)
    pixels = np.concatenate([picture.ravel() for picture, _ in levels])
    shaped = np.ascontiguousarray(regions[:, :6])
    rows = np.empty((len(regions), WIDTH), np.float32)
    describe_all(
        pixels,
        layers,
        np.array(spacings, np.float32),
        layer_of.astype(np.int64),
        shaped,
        REACH,
        upright,
        *_tables(),
        rows,
    )
    return LocalRegions(shaped[:, :2].copy(), shaped[:, 2:].reshape(-1, 2, 2).copy(), rows)


def _points(picture: F32) -> tuple[list[tuple[F32, float]], list[float], list[F32]]:
    """Return layers with their blur, the spacing of their pixels, and x, y, shape and response."""
    finer = _blurred(picture, math.sqrt(1 - PICTURE_SIGMA**2))
    levels, spacings = [(picture, PICTURE_SIGMA), (finer, 1.0)], [1.0, 1.0]
    first = _blurred(finer, math.sqrt(FIRST_SIGMA**2 - 1))
    spacing, result = 1.0, []
    room = np.empty((4096 + picture.size // 16, 4), np.float32)
    while min(first.shape) > 2 * BORDER + 2:
        blurred = [first]
        for step in range(1, STEPS + 2):
            sigma = FIRST_SIGMA * 2 ** ((step - 1) / STEPS)
            blurred.append(_blurred(blurred[-1], sigma * math.sqrt(2 ** (2 / STEPS) - 1)))
        responses = np.empty((STEPS + 2, *first.shape), np.float32)
        for step, layer in enumerate(blurred):
            determinants(layer, (FIRST_SIGMA * 2 ** (step / STEPS)) ** 4, responses[step])
        count = extremes(responses, THRESHOLD, EDGE, BORDER, room)
        result.append(_adapted(blurred, room[:count], spacing))
        for step in range(STEPS):
            levels.append((blurred[step], spacing * FIRST_SIGMA * 2 ** (step / STEPS)))
            spacings.append(spacing)
        first = np.ascontiguousarray(blurred[STEPS][::2, ::2])
        spacing *= 2
    return levels, spacings, [some for some in result if len(some)]


def _adapted(blurred: list[F32], points: F32, spacing: float) -> F32:
    """Return x, y, the shape and the response of those points of an octave that have a shape."""
    parts = []
    layer_of = np.clip(np.rint(points[:, 2]).astype(np.int64), 1, STEPS)
    for step in range(1, STEPS + 1):
        own = points[layer_of == step]
        scaled = own[:, :3].copy()
        scaled[:, 2] = FIRST_SIGMA * 2 ** (own[:, 2] / STEPS)
        shapes = np.zeros((len(own), 4), np.float32)
        is_region = np.zeros(len(own), np.int64)
        adapt_all(blurred[step - 1], scaled, FIRST_SIGMA, _window(), shapes, is_region)
        sizes = scaled[:, 2:3] * np.float32(spacing)
        rows = np.hstack([scaled[:, :2] * np.float32(spacing), shapes * sizes, own[:, 3:]])
        parts.append(rows[is_region == 1])
    return np.concatenate(parts)


def _blurred(picture: F32, sigma: float) -> F32:
    side = 2 * math.ceil(3 * sigma) + 1
    done = cv2.GaussianBlur(picture, (side, side), sigma, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(done, np.float32)


@cache
def _window() -> F32:
    return _disc(WINDOW)


@cache
def _tables() -> tuple[F32, NDArray[np.int64], F32]:
    """Return the weight of each pixel of a patch, and the cells of each line with their shares."""
    cells, shares = np.zeros(PATCH, np.int64), np.zeros((PATCH, 2), np.float32)
    for line in range(PATCH):
        place = (line + 0.5) * CELLS / PATCH - 0.5
        low = math.floor(place)
        share = place - low
        if low < 0:
            cells[line], shares[line] = 0, (share, 0)
        elif low >= CELLS - 1:
            cells[line], shares[line] = CELLS - 2, (0, 1 - share)
        else:
            cells[line], shares[line] = low, (1 - share, share)
    return _disc(PATCH), cells, shares


def _disc(side: int) -> F32:
    """Return weights that fall off from the centre of a square, and end at its inscribed circle."""
    half = side // 2
    lines = np.arange(side) - half
    squares = (lines[:, None] ** 2 + lines**2).astype(np.float64)
    return np.where(squares < half * half, np.exp(-squares / (0.9 * half * half)), 0).astype(
        np.float32
    )

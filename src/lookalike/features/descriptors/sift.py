"""Find blobs in a picture and describe each by OpenCV's SIFT."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.features.descriptors.opencv import cv2
from lookalike.features.descriptors.pixels import Pixels
from lookalike.features.hessian_affine import hessian_affine

WIDTH = 128
MAX_POINTS = 1000

UNIT = 512
"""What descriptors at unit length are multiplied by, so that whole numbers hold them."""


def sift(pixels: Pixels) -> NDArray[np.float32]:
    """Return the 128 numbers of each point found, at most about 1,000.

    Lowe, Distinctive image features from scale-invariant keypoints (2004).

    The points are SIFT's own, the extrema of differences of Gaussians; those of paper 5 are those
    of :func:`affine_sift`.

    Examples
    --------
    >>> from PIL import Image
    >>> from lookalike.features.descriptors.pixels import pixels_of
    >>> sift(pixels_of(Image.new("RGB", (64, 48), "red"))).shape
    (0, 128)
    """
    # An object of its own: one detector must not be shared by threads.
    detector: Any = cv2.SIFT_create(nfeatures=MAX_POINTS)  # type: ignore[attr-defined]
    _, rows = detector.detectAndCompute(pixels.grey, None)
    return np.zeros((0, WIDTH), np.float32) if rows is None else np.asarray(rows, np.float32)


def affine_sift(pixels: Pixels) -> NDArray[np.float32]:
    """Return SIFT of each Hessian-affine region (paper 5, section 6.3.1), at most 1,000.

    Examples
    --------
    >>> from PIL import Image
    >>> from lookalike.features.descriptors.pixels import pixels_of
    >>> affine_sift(pixels_of(Image.new("RGB", (64, 48), "red"))).shape
    (0, 128)
    """
    regions = hessian_affine(pixels.grey, upright=False, most=MAX_POINTS)
    return np.minimum(np.rint(regions.descriptors * UNIT), 255).astype(np.float32)

"""Find blobs in a picture and describe each by OpenCV's SIFT."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.features.descriptors.opencv import cv2
from lookalike.features.descriptors.pixels import Pixels

WIDTH = 128
MAX_POINTS = 1000


def sift(pixels: Pixels) -> NDArray[np.float32]:
    """Return the 128 numbers of each point found, at most about 1,000.

    Lowe, Distinctive image features from scale-invariant keypoints (2004).

    *Departure.* Paper 5 takes regions of the Hessian-affine detector; here they are SIFT's own,
    the extrema of differences of Gaussians.

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

"""Tell copies from pictures that differ in a part, as two playing cards or phases of the moon."""

from io import BytesIO

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIDE = 96
"""The side, in pixels, that thumbnails are brought to."""

BLUR = 1.0
TOLERANCE = 0.7
"""How far, in pixels, edges may lie from where they should, since no alignment is exact."""

PART = 9
"""The side, in pixels, of the part that differs most."""

LIGHT, FAIRLY_LIGHT = 245, 180
"""What is at least so light in one picture and fairly light in the other counts for no difference:
brightening makes both white. The same holds of what is dark."""

MAX_SCALE = 1.34
ROUNDS, STOP = 60, 1e-4
UNLIKE = 9.0
"""What is said of pictures that cannot be aligned."""

MAX_AS_IT_LIES = 0.2
"""Of pictures that differ less as they lie, no better alignment is looked for."""

Grey = NDArray[np.float32]


def local_difference(one: bytes, other: bytes) -> float:
    """Return how much two thumbnails differ in the part where they differ most.

    As a share of the contrast of the first: about 0 for a picture and its copy, whether smaller,
    brighter, grey, mirrored or cropped, and .4 or more where something was added, taken away or
    moved. The other one is brought to the first by the affine transformation of largest
    correlation (Evangelidis and Psarakis, *Parametric image alignment using enhanced correlation
    coefficient maximization*, 2008), and its brightness by least squares.
    """
    first, second = _grey(one), _grey(other)
    ways = (second, np.ascontiguousarray(second[:, ::-1]))
    best = min(_difference(first, way, np.eye(2, 3, dtype=np.float32)) for way in ways)
    if best > MAX_AS_IT_LIES:
        best = min(best, *(_difference(first, way, _alignment(first, way)) for way in ways))
    return best


def _grey(jpeg: bytes) -> Grey:
    with Image.open(BytesIO(jpeg)) as image:
        image.draft("L", (2 * SIDE, 2 * SIDE))
        small = image.convert("L").resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(small, np.float32)


def _alignment(first: Grey, second: Grey) -> NDArray[np.float32] | None:
    """Return what brings the second picture onto the first; None if nothing does."""
    until = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, ROUNDS, STOP)
    start = np.eye(2, 3, dtype=np.float32)
    try:
        _, turn = cv2.findTransformECC(
            _blurred(first), _blurred(second), start, cv2.MOTION_AFFINE, until, None, 1
        )
    except cv2.error:  # too unlike to be aligned
        return None
    scale = float(np.sqrt(abs(np.linalg.det(turn[:, :2]))))
    is_copy = 1 / MAX_SCALE < scale < MAX_SCALE
    return np.asarray(turn, np.float32) if is_copy else None


def _difference(first: Grey, second: Grey, turn: NDArray[np.float32] | None) -> float:
    """Return the root mean square difference of the part that differs most."""
    if turn is None:
        return UNLIKE
    size, inverse = (SIDE, SIDE), cv2.WARP_INVERSE_MAP
    moved = cv2.warpAffine(second, turn, size, flags=cv2.INTER_LINEAR | inverse)
    inside = cv2.warpAffine(
        np.ones_like(second), turn, size, flags=cv2.INTER_NEAREST | inverse
    ).astype(np.uint8)
    shared = cv2.erode(inside, np.ones((3, 3), np.uint8)) > 0
    if shared.mean() < 0.5:
        return UNLIKE
    mine, theirs = first[shared], moved[shared]
    gain = np.mean((theirs - theirs.mean()) * (mine - mine.mean())) / max(theirs.var(), 1e-6)
    own, other = _blurred(first), _blurred(moved)
    expected = gain * (other - theirs.mean()) + mine.mean()
    edges = np.hypot(
        cv2.Sobel(own, cv2.CV_32F, 1, 0, scale=1 / 8),
        cv2.Sobel(own, cv2.CV_32F, 0, 1, scale=1 / 8),
    )
    difference = np.maximum(np.abs(own - expected) - TOLERANCE * edges, 0)
    difference[~shared | _clipped(own, other)] = 0
    worst = float(np.sqrt(cv2.blur(np.square(difference), (PART, PART)).max()))
    return worst / max(float(mine.std()), 1.0)


def _clipped(own: Grey, other: Grey) -> NDArray[np.bool_]:
    """Return where both are light, and one white; or both dark, and one black."""
    low, high = np.minimum(own, other), np.maximum(own, other)
    light = (high > LIGHT) & (low > FAIRLY_LIGHT)
    return np.asarray(light | ((low < 255 - LIGHT) & (high < 255 - FAIRLY_LIGHT)))


def _blurred(grey: Grey) -> Grey:
    return np.asarray(cv2.GaussianBlur(grey, (0, 0), BLUR), np.float32)

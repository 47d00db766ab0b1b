"""Describe a picture's texture by the shares of its uniform local binary patterns."""

import numpy as np
from numpy.typing import NDArray

from lookalike.features._fast.descriptors import pattern_counts
from lookalike.features._fast.visterms import PATTERNS
from lookalike.features.descriptors.pixels import Pixels
from lookalike.features.visterms import UNIFORM

WIDTH = PATTERNS


def lbp(pixels: Pixels) -> NDArray[np.float32]:
    """Return the shares of the 58 uniform patterns and of all others among the pixels.

    The patterns are LBP₈,₂ of Ojala et al. (2002), 8 neighbours on a circle of radius 2, as in
    :class:`~lookalike.features.Visterms`. Paper 5 gives only the number 59.

    Examples
    --------
    >>> from PIL import Image
    >>> from lookalike.features.descriptors.pixels import pixels_of
    >>> lbp(pixels_of(Image.new("RGB", (64, 48), "red"))).nonzero()[0].tolist()
    [57]
    """
    counts = np.zeros(PATTERNS, np.int64)
    pattern_counts(np.ascontiguousarray(pixels.rgb), UNIFORM, counts)
    shares: NDArray[np.float32] = (counts / counts.sum()).astype(np.float32)
    return shares

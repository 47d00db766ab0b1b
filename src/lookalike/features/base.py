"""What every feature offers: pictures in, one vector each out, and a name for the way."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from PIL import Image

Vectors: TypeAlias = NDArray[np.float32] | sp.csr_matrix
"""A row a picture: a float32 array, or a float32 CSR matrix where the feature is sparse."""


class Feature(Protocol):
    """Turn pictures into vectors of unit length.

    ``fingerprint`` names the settings and weights; vectors of two fingerprints never meet.
    ``decode_side`` is the least side a picture has to be decoded at; None is its full size.
    """

    @property
    def name(self) -> str:
        """What the feature is called."""

    @property
    def dimension(self) -> int:
        """How long a vector is."""

    @property
    def sparse(self) -> bool:
        """Whether vectors come as CSR rows."""

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits naming the settings and weights."""

    @property
    def decode_side(self) -> int | None:
        """The least side a picture has to be decoded at; None is its full size."""

    def describe(self, images: Sequence[Image.Image]) -> Vectors:
        """Describe RGB pictures, a row each; may be called from several threads at once."""

    def save(self, path: Path) -> None:
        """Write the feature to one file that :func:`lookalike.features.load_feature` reads."""


def unit_rows(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Scale each row to length 1; a row of zeros stays.

    Examples
    --------
    >>> import numpy as np
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    # Scaled by the largest entry first, so that squares neither overflow nor vanish.
    scaled = vectors / np.where(largest > 0, largest, 1)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(norms > 0, norms, 1), dtype=np.float32)

"""Iterative quantisation: principal directions, rotated to be near to the corners of a cube."""

from typing import Any

import numpy as np

from lookalike.codes.base import LinearEncoder, centred, principal
from lookalike.core.checks import check_whole
from lookalike.core.progress import Progress
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import with_settings
from lookalike.core.vectors import Vectors


@with_settings
class ITQCodes(LinearEncoder):
    """Encode principal components, rotated so that signs lose least.

    Minimise |sign(VR) − VR|² over rotations R of the principal components V: the signs for a
    rotation, then the rotation for the signs, which is a singular value decomposition (Gong and
    Lazebnik, *Iterative Quantization*, 2011). Needs no labels.

    Parameters
    ----------
    bits : int
        The length of a code. With more bits than principal components, R has orthonormal rows
        instead.
    rounds : int
        How often the rotation is improved.
    random_state : int, Generator or None
        The rotation to start from.

    Examples
    --------
    >>> codes = ITQCodes(bits=2, random_state=0).fit([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    >>> codes.encode([[1.0, 0.0]]).shape
    (1, 1)
    """

    name = "itq"

    bits: int = 64
    rounds: int = 50
    random_state: RandomState = None

    def _check_parameters(self) -> None:
        check_whole("ITQCodes", "rounds", self.rounds, 1)

    def _learn(self, vectors: Vectors, has: Any, progress: Progress) -> None:
        rng = generator(self.random_state)
        rows, mean = centred(vectors, rng)
        directions = principal(rows, self.bits)
        V = rows @ directions
        R = _nearest_rotation(rng.standard_normal((V.shape[1], self.bits)))
        for done in range(self.rounds):
            signs = np.where(V @ R > 0, 1.0, -1.0)
            R = _nearest_rotation(V.T @ signs)
            progress(done + 1, self.rounds)
        self._set((directions @ R).T, mean)


def _nearest_rotation(M: np.ndarray) -> np.ndarray:
    """Return the matrix with orthonormal rows that is nearest to a wide matrix."""
    left, _, right = np.linalg.svd(M, full_matrices=False)
    return np.asarray(left @ right)

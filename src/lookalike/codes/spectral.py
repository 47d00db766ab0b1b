"""Spectral hashing: waves along the principal directions, the slowest first."""

from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.codes.base import Encoder, centred, lengths_product, principal, stored_array
from lookalike.core.errors import NotFitted
from lookalike.core.progress import Progress
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import Arrays, Learned, with_settings
from lookalike.core.vectors import Vectors


@with_settings
class SpectralCodes(Encoder):
    """Encode by the sign of waves along principal directions.

    The eigenfunctions of the Laplacian of a uniform distribution on a box from a to b: along a
    principal direction with the coordinate z, sin(π/2 + kπ (z − a) / (b − a)) for k = 1, 2, …,
    with eigenvalues that rise with k / (b − a). The bits are those of the smallest eigenvalues of
    all directions together (Weiss, Torralba and Fergus, *Spectral Hashing*, 2008; paper 3,
    section 2). Needs no labels.

    Parameters
    ----------
    bits : int
        The length of a code.
    random_state : int, Generator or None
        Which vectors are learned from where there are more than 100,000.

    Attributes
    ----------
    components_ : float32 array of shape (bits, d)
        The direction of each bit, multiplied by its frequency.
    phases_ : float32 array of shape (bits,)

    Examples
    --------
    >>> codes = SpectralCodes(bits=3).fit([[1.0, 0.0], [0.0, 0.3], [0.0, 0.0]])
    >>> codes.encode([[1.0, 0.0]]).shape
    (1, 1)
    """

    name = "spectral"

    bits: int = 64
    random_state: RandomState = None

    components_: NDArray[np.float32] = field(init=False)
    phases_: NDArray[np.float32] = field(init=False)

    def _learn(self, vectors: Vectors, has: Any, progress: Progress) -> None:
        rows, mean = centred(vectors, generator(self.random_state))
        directions = principal(rows, self.bits)
        coordinates = rows @ directions
        low, high = coordinates.min(axis=0), coordinates.max(axis=0)
        frequencies = np.pi / (high - low)
        waves = np.arange(1, self.bits + 1)[:, None] * frequencies
        slowest = np.argsort(waves, axis=None, kind="stable")[: self.bits]
        which = slowest % len(frequencies)
        pace = waves.ravel()[slowest]
        components = directions.T[which] * pace[:, None]
        self.components_ = np.ascontiguousarray(components, np.float32)
        phases = np.pi / 2 - pace * low[which] - components @ mean
        self.phases_ = phases.astype(np.float32)
        progress(1, 1)

    def _values(self, block: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        waves: NDArray[Any] = np.sin(block @ self.components_.T + self.phases_)
        return waves, lengths_product(block, self.components_) + np.abs(self.phases_)

    def _state(self) -> tuple[Arrays, Learned]:
        if not hasattr(self, "components_"):
            raise NotFitted("SpectralCodes is not fitted; call fit first.")
        return {"components": self.components_, "phases": self.phases_}, {}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        self.components_ = stored_array(arrays, "components", (self.bits, None))
        self.phases_ = stored_array(arrays, "phases", (self.bits,))
        self.n_features_in_ = int(self.components_.shape[1])

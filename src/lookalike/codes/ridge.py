"""Ridge regression onto codes of the classes that are far from each other."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from lookalike.codes.base import LEARNED, LinearEncoder, Matrix, centred, ridge_map
from lookalike.core.checks import check_number
from lookalike.core.progress import Progress
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import with_settings
from lookalike.core.vectors import Vectors

_CANDIDATES = 200


@with_settings
class RidgeCodes(LinearEncoder):
    """Supervised linear codes: each class has a code, and pictures are regressed onto it.

    Every class gets a code of −1 and 1, of random ones the farthest from those before; a picture
    with several labels has the mean of their codes as its target T. The map minimises
    Σ |A(x − mean) − t|² + λ |A|², with λ relative to the mean squared length of x − mean.

    Parameters
    ----------
    bits : int
        The length of a code.
    regularisation : float
        λ.
    random_state : int, Generator or None
        The codes of the classes.

    Examples
    --------
    >>> X = [[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]]
    >>> codes = RidgeCodes(bits=8, random_state=0).fit(X, [*"aabb"]).encode(X)[:, 0]
    >>> bool(codes[0] == codes[1]), bool(codes[0] == codes[2])
    (True, False)
    """

    name = "ridge_codes"
    needs_labels = True

    bits: int = 64
    regularisation: float = 1.0
    random_state: RandomState = None

    def _check_parameters(self) -> None:
        check_number("RidgeCodes", "regularisation", self.regularisation)

    def _learn(self, vectors: Vectors, has: Any, progress: Progress) -> None:
        labels = sp.csr_matrix(has)
        labelled = np.flatnonzero(np.diff(labels.indptr))
        rng = generator(self.random_state)
        drawn = (
            labelled if len(labelled) <= LEARNED else np.sort(rng.choice(labelled, LEARNED, False))
        )
        rows, mean = centred(vectors[drawn], rng)
        counts = np.asarray(labels[drawn].sum(axis=1)).ravel()
        targets = (labels[drawn] @ spread_codes(labels.shape[1], self.bits, rng)) / counts[:, None]
        targets -= targets.mean(axis=0)
        self._set(ridge_map(rows, rows.T @ targets, self.regularisation), mean)
        progress(1, 1)


def spread_codes(count: int, bits: int, rng: np.random.Generator) -> Matrix:
    """Return codes of −1 and 1 that are far from each other, one row each."""
    codes = np.empty((count, bits))
    for row in range(count):
        candidates = rng.choice([-1.0, 1.0], (_CANDIDATES, bits))
        nearest = (candidates @ codes[:row].T).max(axis=1, initial=-bits)
        # Each bit should also divide the classes evenly.
        balance = np.abs(codes[:row].sum(axis=0) + candidates).mean(axis=1)
        codes[row] = candidates[np.lexsort((balance, nearest))[0]]
    for bit in np.flatnonzero(np.abs(codes.sum(axis=0)) == count):
        codes[rng.permutation(count)[: count // 2], bit] *= -1
    return codes

"""Compare vectors by the Euclidean distance between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.vectors import Vectors
from lookalike.similarity.linear_map import distance_items, distance_queries, moderate
from lookalike.similarity.unlearned import Unlearned


class Euclidean(Unlearned):
    """Rank by Euclidean distance between the vectors, without learning.

    Scores are q·p − |p|²/2 = (|q|² − |q − p|²) / 2 (paper 1, section 5.3.1, item 2). On vectors
    of unit length it ranks as OASIS does before its first step. Needs no ``fit``. Memory and time
    O(nd), and CSR items stay CSR.

    Examples
    --------
    >>> Euclidean().scores([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0], [9.0, 0.0]])
    array([[  0.5,  -0.5, -31.5]], dtype=float32)
    """

    name = "euclidean"

    def stored_vectors(self, P: ArrayLike | sp.spmatrix) -> Vectors:
        """Return [p, −|p|²/2], dense or CSR as given."""
        return distance_items(moderate("Euclidean", self._vectors(P)))

    def query_vectors(self, Q: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return [q, 1]."""
        return distance_queries(moderate("Euclidean", self._vectors(Q)))

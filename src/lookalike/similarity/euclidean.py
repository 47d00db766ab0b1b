"""Compare vectors as they are: Euclidean distance, and cosine."""

from typing import Any, Self

import scipy.sparse as sp
from numpy.typing import ArrayLike

from lookalike.similarity.base import Vectors, check_vectors
from lookalike.similarity.linear_map import LinearMap


class Euclidean(LinearMap):
    """Rank by Euclidean distance between the vectors, learning nothing.

    Scores are q·p − |p|²/2 = (|q|² − |q − p|²) / 2 (paper 1, section 5.3.1, item 2). On vectors
    of unit length it ranks as OASIS does before its first step. Memory and time O(nd), and CSR
    items stay CSR.

    Examples
    --------
    >>> Euclidean().fit([[0.0, 0.0]]).scores([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0], [9.0, 0.0]])
    array([[  0.5,  -0.5, -31.5]], dtype=float32)
    """

    def fit(self, X: ArrayLike | sp.spmatrix, y: Any = None) -> Self:
        """Note the width of the vectors; ``y`` is not looked at."""
        self.n_features_in_ = check_vectors(type(self).__name__, X).shape[1]
        return self

    def _map(self, X: ArrayLike | sp.spmatrix) -> Vectors:
        return self._moderate(self._vectors(X))


class Cosine(Euclidean):
    """Rank by the cosine of the angle between the vectors, learning nothing.

    Examples
    --------
    >>> Cosine().fit([[0.0, 0.0]]).scores([[2.0, 0.0]], [[1.0, 0.0], [0.0, 1.0], [9.0, 0.0]])
    array([[1., 0., 1.]], dtype=float32)
    """

    _cosine = True

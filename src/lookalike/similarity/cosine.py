"""Compare vectors by the cosine of the angle between them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput
from lookalike.core.vectors import Vectors, squared_lengths
from lookalike.similarity.base import Formula, scaled_rows
from lookalike.similarity.unlearned import Unlearned

MIN_LENGTH, MAX_LENGTH = 1e-37, 1e37
"""The shortest and longest items whose length float32 can divide by."""


class Cosine(Unlearned):
    """Rank by the cosine of the angle between the vectors, without learning.

    It is used where nothing was learned. Items are stored as they are and scaled by 1/|p|; a
    query is q/|q|, and stays sparse if it is. Needs no ``fit``. Time O(nd), no memory except for
    the scales.

    Examples
    --------
    >>> Cosine().scores([[2.0, 0.0]], [[1.0, 0.0], [0.0, 1.0], [9.0, 0.0]])
    array([[1., 0., 1.]], dtype=float32)
    """

    name = "cosine"

    def formula(self) -> Formula:
        """Return x·y/(|x||y|)."""
        scale = "1 / np.maximum(dot(x, x), 1e-60) ** 0.5"
        return Formula({}, scale=scale, query_scale=scale)

    def item_scales(self, P: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return 1/|p|, or 0 for a row of zeros or one too short to divide by."""
        lengths = np.sqrt(squared_lengths(self._vectors(P)))
        longest = float(lengths.max(initial=0))
        if longest > MAX_LENGTH:
            raise InvalidInput(
                f"Cosine: vectors must be no longer than {MAX_LENGTH:g}; got {longest:g}. Divide "
                f"all vectors by a constant."
            )
        return _inverse(lengths, MIN_LENGTH).astype(np.float32)

    def query_vectors(self, Q: ArrayLike | sp.spmatrix) -> Vectors:
        """Return q/|q|, dense or CSR as given; a row of zeros stays zero."""
        vectors = self._vectors(Q)
        return scaled_rows(vectors, _inverse(np.sqrt(squared_lengths(vectors)), 0))

    @property
    def learned(self) -> bool:
        """False: it ranks by cosine."""
        return False


def _inverse(lengths: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > least)

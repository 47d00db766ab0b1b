"""Arrange pictures' vectors for the compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation._fast.wsabie import Pictures
from lookalike.core import sparse as sp
from lookalike.core.checks import is_number
from lookalike.core.errors import InvalidInput
from lookalike.core.vectors import Vectors, squared_lengths

MIN_LENGTH, MAX_LENGTH = 1e-30, 1e30
"""The bounds of a mean squared length that float32 can work with."""


def lay_out(vectors: Vectors) -> Pictures:
    """Return vectors in the layout of the loops."""
    if sp.issparse(vectors):
        columns = vectors.indices
        # A view, not a copy: copying millions of values in each pass would be slow.
        unsigned = columns.view(np.uint32) if columns.dtype == np.int32 else columns.astype("u4")
        return Pictures(vectors.data, unsigned, vectors.indptr.astype(np.uint64), False)
    rows, width = vectors.shape
    indptr = np.arange(0, (rows + 1) * width, width, dtype=np.uint64)
    return Pictures(vectors.reshape(-1), np.arange(width, dtype=np.uint32), indptr, True)


def widened(vectors: Vectors, constant: float) -> Vectors:
    """Return vectors with a constant column appended; unchanged if the constant is 0."""
    if constant == 0:
        return vectors
    column = np.full((vectors.shape[0], 1), constant, np.float32)
    if sp.issparse(vectors):
        return sp.csr_matrix(sp.hstack([vectors, sp.csr_matrix(column)], format="csr"))
    return np.hstack([vectors, column])


def mean_length(who: str, vectors: Vectors) -> float:
    """Return the mean squared length of the vectors that are not zero; 1 if all are.

    Raise InvalidInput if float32 cannot square numbers of that scale.
    """
    lengths = squared_lengths(vectors)
    mean = float(lengths[lengths > 0].mean()) if lengths.any() else 1.0
    if not MIN_LENGTH < mean < MAX_LENGTH:
        raise InvalidInput(
            f"{who}: vectors must have a scale that float32 can square; got a mean squared length "
            f"of {mean:g}. Scale them to unit length."
        )
    return mean


def check_constant(who: str, constant: Any) -> float:
    """Return a constant to append to vectors, 0 for none, or raise InvalidInput."""
    if not is_number(constant) or not 0 <= constant < np.inf:
        raise InvalidInput(
            f"{who}: constant must be 0, or above 0 and finite; got {constant!r:.80}."
        )
    return float(constant)


def check_matrix(name: str, matrix: NDArray[Any], *, rows: int | None = None) -> None:
    """Raise ValueError unless an array from a file is a finite float32 matrix."""
    if matrix.dtype != np.float32 or matrix.ndim != 2 or not matrix.size:
        raise ValueError(f"{name} is {matrix.dtype} of shape {matrix.shape}, not a float32 matrix")
    if rows is not None and len(matrix) != rows:
        raise ValueError(f"{name} has {len(matrix)} rows for {rows} words")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} is not finite")

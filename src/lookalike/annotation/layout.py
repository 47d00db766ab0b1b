"""Arrange pictures' vectors for the compiled loops."""

import numpy as np
import scipy.sparse as sp

from lookalike.annotation._fast.wsabie import Pictures
from lookalike.core.vectors import Vectors


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

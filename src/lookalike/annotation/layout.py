"""Lay pictures' vectors out as the compiled loops take them."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.annotation._fast.wsabie import Pictures
from lookalike.annotation.base import blocks
from lookalike.similarity.base import Vectors

_ROWS = 1024


def lay_out(vectors: Vectors) -> Pictures:
    """Return vectors as the loops take them."""
    if sp.issparse(vectors):
        columns = vectors.indices
        # The same bytes: a copy of millions of them for each pass would be felt.
        unsigned = columns.view(np.uint32) if columns.dtype == np.int32 else columns.astype("u4")
        return Pictures(vectors.data, unsigned, vectors.indptr.astype(np.uint64), False)
    rows, width = vectors.shape
    indptr = np.arange(0, (rows + 1) * width, width, dtype=np.uint64)
    return Pictures(vectors.reshape(-1), np.arange(width, dtype=np.uint32), indptr, True)


def widened(vectors: Vectors, constant: float) -> Vectors:
    """Put a number beside the numbers of each row; 0 leaves them as they are."""
    if constant == 0:
        return vectors
    column = np.full((vectors.shape[0], 1), constant, np.float32)
    if sp.issparse(vectors):
        return sp.csr_matrix(sp.hstack([vectors, sp.csr_matrix(column)], format="csr"))
    return np.hstack([vectors, column])


def squared_lengths(vectors: Vectors) -> NDArray[np.float64]:
    """Return |x|² of each row."""
    if not sp.issparse(vectors):
        sums: NDArray[np.float64] = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        return sums
    # A few rows at a time: new memory for all of them would cost more than a pass of training.
    lengths = np.empty(vectors.shape[0])
    for some in blocks(len(lengths), _ROWS):
        ends = vectors.indptr[some.start : some.stop + 1]
        rows = np.repeat(np.arange(some.stop - some.start), np.diff(ends))
        squares = np.square(vectors.data[ends[0] : ends[-1]], dtype=np.float64)
        lengths[some] = np.bincount(rows, squares, some.stop - some.start)
    return lengths

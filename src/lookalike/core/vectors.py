"""Vectors, one row per picture: their type, how they are checked, and how they are scaled."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput

Vectors: TypeAlias = "NDArray[np.float32] | sp.csr_matrix"
"""One row per picture: a C-contiguous float32 array, or a CSR matrix with sorted float32 rows."""

_ROWS = 1024


def check_vectors(
    who: str,
    X: ArrayLike | sp.spmatrix | sp.sparray,
    *,
    width: int | None = None,
    alone: bool = False,
) -> Vectors:
    """Return ``X`` as finite float32 rows, dense or CSR, or raise InvalidInput.

    With ``alone``, a single vector counts as one row.
    """
    given: Any = X
    is_sparse: bool = sp.issparse(given)
    try:
        with np.errstate(over="ignore"):
            checked, values = _sparse_rows(given) if is_sparse else _dense_rows(given, alone)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{who}: vectors must be a matrix of numbers; {error}.") from error
    if checked.ndim != 2 or checked.shape[1] == 0:
        raise InvalidInput(
            f"{who}: vectors must be a matrix with one row per picture; "
            f"got the shape {checked.shape}."
        )
    if width is not None and checked.shape[1] != width:
        raise InvalidInput(
            f"{who}: vectors must have {width} columns, like those before; got {checked.shape[1]}."
        )
    if not np.isfinite(values).all():
        raise InvalidInput(
            f"{who}: vectors must be finite as float32; got NaN, infinity or a number beyond "
            f"3.4e38. Remove those rows first."
        )
    return checked


def _sparse_rows(given: Any) -> tuple[Vectors, NDArray[np.float32]]:
    matrix = sp.csr_matrix(given, dtype=np.float32)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix, matrix.data


def _dense_rows(given: Any, alone: bool) -> tuple[Vectors, NDArray[np.float32]]:
    array = np.ascontiguousarray(given, dtype=np.float32)
    rows = np.atleast_2d(array) if alone else array
    return rows, rows


def dense(matrix: Any) -> NDArray[np.float64]:
    """Return a dense or sparse matrix as a dense float64 array."""
    is_sparse: bool = sp.issparse(matrix)
    return np.asarray(matrix.toarray() if is_sparse else matrix, np.float64)


def squared_lengths(vectors: Vectors) -> NDArray[np.float64]:
    """Return |x|² of each row, summed in float64."""
    if not sp.issparse(vectors):
        sums: NDArray[np.float64] = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        return sums
    # A few rows at a time: allocating memory for all of them costs more than a training pass.
    lengths = np.empty(vectors.shape[0])
    for start in range(0, len(lengths), _ROWS):
        stop = min(start + _ROWS, len(lengths))
        ends = vectors.indptr[start : stop + 1]
        rows = np.repeat(np.arange(stop - start), np.diff(ends))
        squares = np.square(vectors.data[ends[0] : ends[-1]], dtype=np.float64)
        lengths[start:stop] = np.bincount(rows, squares, stop - start)
    return lengths


def unit_rows(vectors: Any) -> Any:
    """Return each row scaled to length 1, dense or CSR as given; rows of zeros stay zero.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    is_sparse: bool = sp.issparse(vectors)
    if is_sparse:
        lengths = np.sqrt(squared_lengths(vectors))
        each = np.repeat(np.where(lengths > 0, lengths, 1), np.diff(vectors.indptr))
        data = (vectors.data / each).astype(np.float32)
        return sp.csr_matrix((data, vectors.indices, vectors.indptr), shape=vectors.shape)
    units = np.empty(vectors.shape, np.float32)
    for start in range(0, len(units), _ROWS):
        some = vectors[start : start + _ROWS]
        largest = np.abs(some).max(axis=1, keepdims=True, initial=0)
        # Divide by the largest entry first, so that squares neither overflow nor underflow.
        moderate = some / np.where(largest > 0, largest, 1)
        norms = np.linalg.norm(moderate, axis=1, keepdims=True)
        units[start : start + _ROWS] = moderate / np.where(norms > 0, norms, 1)
    return units


def stack_rows(parts: list[Any]) -> Any:
    """Return vectors or matrices stacked row-wise."""
    return sp.csr_matrix(sp.vstack(parts)) if sp.issparse(parts[0]) else np.vstack(parts)

"""Convert vectors to bytes and back: records for features whose record is the vector itself.

The databases of collections contain these bytes: their layout never changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lookalike.core import sparse as sp
from lookalike.core.vectors import Vectors


def pack_vector(vector: Vectors) -> bytes:
    """Return one vector as bytes: float16, or uint32 columns and float32 values if it is CSR.

    Examples
    --------
    >>> len(pack_vector(np.ones(1280, np.float32)))
    2560
    >>> len(pack_vector(sp.csr_matrix([[0.0, 2.0, 1.0]])))
    16
    """
    if sp.issparse(vector):
        row: Any = vector
        columns, values = row.indices.astype("<u4"), row.data.astype("<f4")
        return bytes(columns.tobytes() + values.tobytes())
    return np.asarray(vector).astype("<f2").tobytes()


def unpack_vectors(records: Sequence[bytes], dimension: int, *, sparse: bool) -> Vectors:
    """Return the vectors that :func:`pack_vector` packed, one row each.

    Parameters
    ----------
    records : sequence of bytes
    dimension : int
        The length of a vector.
    sparse : bool
        Whether the vectors were CSR rows; the result is CSR, too.

    Raises
    ------
    ValueError
        If a record is damaged: of the wrong length, with a number that is not finite or a column
        beyond ``dimension``.

    Examples
    --------
    >>> unpack_vectors([pack_vector(np.array([0.5, 0.25]))], 2, sparse=False)
    array([[0.5 , 0.25]], dtype=float32)
    """
    return _sparse(records, dimension) if sparse else _dense(records, dimension)


def _dense(records: Sequence[bytes], dimension: int) -> Vectors:
    if any(len(record) != 2 * dimension for record in records):
        raise ValueError(f"a vector does not have {dimension} values")
    rows = np.frombuffer(b"".join(records), "<f2").reshape(len(records), dimension)
    if not np.isfinite(rows).all():
        raise ValueError("a value is not finite")
    return rows.astype(np.float32)


def _sparse(records: Sequence[bytes], dimension: int) -> Vectors:
    if any(len(record) % 8 for record in records):
        raise ValueError("a sparse vector is truncated")
    halves = [len(record) // 2 for record in records]
    pairs = list(zip(records, halves, strict=True))
    columns = np.frombuffer(b"".join(record[:half] for record, half in pairs), "<u4")
    values = np.frombuffer(b"".join(record[half:] for record, half in pairs), "<f4")
    if not np.isfinite(values).all():
        raise ValueError("a value is not finite")
    if columns.size and columns.max() >= dimension:
        raise ValueError(f"a sparse vector has a column beyond {dimension}")
    ends = np.cumsum([0, *halves]) // 4
    return sp.csr_matrix(
        (values.astype(np.float32), columns.astype(np.int32), ends),
        shape=(len(records), dimension),
    )

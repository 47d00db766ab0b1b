"""Records: vectors as bytes, and back."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lookalike.features import pack_vector, unpack_vectors


@settings(max_examples=50)
@given(arrays(np.float16, (4, 5), elements=st.floats(-1, 1, width=16)))
def test_vectors_come_back(values):
    dense = values.astype(np.float32)
    np.testing.assert_array_equal(
        unpack_vectors([pack_vector(row) for row in dense], 5, sparse=False), dense
    )
    matrix = sp.csr_matrix(dense)
    back = unpack_vectors([pack_vector(matrix[row]) for row in range(4)], 5, sparse=True)
    np.testing.assert_array_equal(back.toarray(), dense)
    assert back.dtype == np.float32


@pytest.mark.parametrize(
    ("record", "sparse", "why"),
    [
        (b"123", False, "does not have 5 values"),
        (b"", False, "does not have 5 values"),
        (b"\x00" * 12, False, "does not have 5 values"),
        (np.array([0, 0, np.nan, 0, 0], "<f2").tobytes(), False, "not finite"),
        (b"1234", True, "truncated"),
        (bytes([5, 0, 0, 0]) + np.float32(1).tobytes(), True, "beyond 5"),
        (bytes([4, 0, 0, 0]) + np.float32("inf").tobytes(), True, "not finite"),
    ],
)
def test_damaged_records_are_told(record, sparse, why):
    good = pack_vector(sp.csr_matrix(np.eye(5)[0]) if sparse else np.eye(5)[0])
    with pytest.raises(ValueError, match=why):
        unpack_vectors([good, record, good], 5, sparse=sparse)


def test_the_bytes_are_those_that_databases_hold():
    assert pack_vector(np.array([0.98875, 0.14378889, -0.04119794], np.float32)).hex() == (
        "e93b9a3046a9"
    )
    assert pack_vector(sp.csr_matrix([[0, 0, 1.0, 0, 0.5]])).hex() == (
        "0200000004000000" + "0000803f" + "0000003f"
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_one_s_own_to_change(sparse):
    row = sp.csr_matrix([[0.5, 0.5]]) if sparse else np.array([0.5, 0.5])
    back = unpack_vectors([pack_vector(row)], 2, sparse=sparse)
    back *= 2
    assert back.sum() == 2
    assert unpack_vectors([], 2, sparse=sparse).shape == (0, 2)

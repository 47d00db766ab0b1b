"""Vectors: their lengths, and rows of length 1."""

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.core.vectors import squared_lengths, unit_rows


@pytest.mark.parametrize("rows", [0, 1, 1023, 1024, 1025, 3000])
def test_squared_lengths_of_sparse_rows_some_of_them_empty(rows):
    X = sp.random(rows, 50, density=0.03, format="csr", random_state=1, dtype=np.float32)
    expected = np.square(X.toarray(), dtype=np.float64).sum(axis=1)
    np.testing.assert_allclose(squared_lengths(X), expected)
    np.testing.assert_allclose(squared_lengths(X.toarray()), expected)


@pytest.mark.parametrize("rows", [0, 1, 1025])
def test_unit_rows_are_as_they_were_but_for_their_length(rows):
    X = sp.random(rows, 20, density=0.1, format="csr", random_state=1, dtype=np.float32)
    sparse, dense = unit_rows(X), unit_rows(X.toarray())
    np.testing.assert_allclose(sparse.toarray(), dense, atol=1e-6)
    empty = np.diff(X.indptr) == 0
    np.testing.assert_allclose(np.linalg.norm(dense, axis=1), ~empty, atol=1e-6)
    assert (sparse.dtype, dense.dtype) == (np.float32, np.float32)


def test_neither_huge_nor_tiny_rows_lose_their_direction():
    X = np.array([[3e38, 4e37], [3e-38, 4e-39]], np.float32)
    np.testing.assert_allclose(unit_rows(X), [[0.99122, 0.132163]] * 2, rtol=1e-4)


@pytest.mark.parametrize("width", [1, 7, 64, 256, 1280])
def test_a_unit_row_has_the_same_bits_however_many_are_scaled_at_once(width):
    rows = np.random.default_rng(width).normal(size=(33, width)).astype(np.float32)
    alone = np.vstack([unit_rows(rows[place : place + 1]) for place in range(len(rows))])
    assert unit_rows(rows).tobytes() == alone.tobytes()

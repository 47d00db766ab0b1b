"""Vectors as the loops take them."""

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.annotation.layout import squared_lengths


@pytest.mark.parametrize("rows", [0, 1, 1023, 1024, 1025, 3000])
def test_squared_lengths_of_sparse_rows_some_of_them_empty(rows):
    X = sp.random(rows, 50, density=0.03, format="csr", random_state=1, dtype=np.float32)
    expected = np.square(X.toarray(), dtype=np.float64).sum(axis=1)
    np.testing.assert_allclose(squared_lengths(X), expected)
    np.testing.assert_allclose(squared_lengths(X.toarray()), expected)

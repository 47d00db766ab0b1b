"""The compiled loops of votes give what NumPy does, the same bits however many rows there are."""

import numpy as np
import pytest

from lookalike.collection.votes._fast.solving import factored, solved
from lookalike.collection.votes._fast.weights import row_products


@pytest.mark.parametrize("queries", [1, 2, 3, 4, 5, 11])
@pytest.mark.parametrize("rows", [1, 3, 8, 30])
def test_products_of_rows(queries, rows):
    rng = np.random.default_rng(queries)
    asked = rng.standard_normal((queries, 17)).astype(np.float32)
    known = rng.standard_normal((rows, 17)).astype(np.float32)
    known.flags.writeable = False
    found = row_products(asked, known)
    np.testing.assert_allclose(found, asked @ known.T, atol=1e-5)
    assert [row_products(one[None], known)[0].tolist() for one in asked] == found.tolist()


@pytest.mark.parametrize("width", [1, 2, 9, 40])
def test_equations(width):
    rng = np.random.default_rng(width)
    spread = rng.standard_normal((width, width + 3))
    M = spread @ spread.T + np.eye(width)
    rows = rng.standard_normal((5, width))
    factor = factored(M)
    np.testing.assert_allclose(factor, np.linalg.cholesky(M), atol=1e-10)
    found = solved(factor, rows)
    np.testing.assert_allclose(found, np.linalg.solve(M, rows.T).T, atol=1e-10)
    assert [solved(factor, row[None])[0].tolist() for row in rows] == found.tolist()

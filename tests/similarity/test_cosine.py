"""Cosine stands where nothing was learned: it costs next to nothing and takes any width."""

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.checks.similarity import small
from lookalike.core.errors import InvalidInput
from lookalike.similarity import Cosine


def test_items_are_stored_as_they_are():
    X, _ = small()
    assert Cosine().stored_vectors(X) is X
    rows = sp.csr_matrix(X)
    assert np.shares_memory(Cosine().stored_vectors(rows).data, rows.data)


def test_scales_divide_by_the_length():
    scales = Cosine().item_scales([[3.0, 4.0], [0.0, 0.0], [0.0, 0.5]])
    np.testing.assert_allclose(scales, [0.2, 0, 2])


def test_scores_are_cosines():
    X, _ = small()
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    units = X / np.where(lengths > 0, lengths, 1)
    np.testing.assert_allclose(Cosine().scores(X, X), units @ units.T, atol=1e-6)


def test_sparse_queries_stay_sparse():
    X, _ = small()
    queries = Cosine().query_vectors(sp.csr_matrix(X))
    assert isinstance(queries, sp.csr_matrix)
    assert queries.has_canonical_format
    np.testing.assert_allclose(queries.toarray(), Cosine().query_vectors(X), atol=1e-7)


def test_any_width_will_do_until_one_is_noted():
    X, _ = small()
    cosine = Cosine()
    assert cosine.scores(X, X).shape == cosine.scores(X[:, :2], X[:, :2]).shape
    with pytest.raises(InvalidInput, match="9 columns"):
        cosine.fit(X).scores(X[:, :2], X[:, :2])


def test_it_has_learned_nothing_before_and_after_fit():
    X, y = small()
    assert not Cosine().learned
    assert not Cosine().fit(X, y).learned


def test_what_is_saved_without_fit_takes_any_width(tmp_path):
    X, _ = small()
    Cosine().save(tmp_path / "cosine", fingerprint="abc")
    again = Cosine.load(tmp_path / "cosine")
    assert again.fingerprint_ == "abc"
    assert again.scores(X[:, :3], X[:, :3]).shape == (24, 24)


def test_lengths_beyond_float32_are_refused_or_like_nothing():
    with pytest.raises(InvalidInput, match="Divide all vectors by a constant"):
        Cosine().item_scales([[2e38, 2e38]])
    np.testing.assert_array_equal(Cosine().item_scales([[1e-40, 0.0]]), [0])
    np.testing.assert_allclose(Cosine().query_vectors([[1e-40, 0.0], [3e38, 0.0]])[:, 0], 1)

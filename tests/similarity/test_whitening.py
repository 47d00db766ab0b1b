"""The start of learning: vectors whitened by how related pictures differ."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

from lookalike.similarity.whitening import (
    PLAIN,
    RIDGE,
    ROWS,
    by_words,
    related_covariance,
    whitened,
    whitening,
)
from lookalike.supervision import Relevance


@pytest.fixture
def rows():
    """Unit vectors of six classes whose pictures differ in the first column most."""
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 6
    X = rng.normal(size=(6, 8))[labels] + rng.normal(size=(120, 8)) * ([3] + [0.3] * 7)
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), labels


def slow_covariance(X, groups):
    """The covariance within groups, pooled."""
    total, count = 0.0, 0
    for group in groups:
        apart = X[group].astype(float) - X[group].astype(float).mean(axis=0)
        total, count = total + apart.T @ apart, count + len(group) - 1
    return total / count


def test_of_classes_it_is_the_pooled_covariance(rows):
    X, labels = rows
    expected = slow_covariance(X, [np.flatnonzero(labels == k) for k in range(6)])
    np.testing.assert_allclose(related_covariance(X, Relevance.of(labels)), expected, atol=1e-6)
    times = ROWS // len(X) + 2
    many = related_covariance(np.tile(X, (times, 1)), Relevance.of(np.tile(labels, times)))
    shrunk = times * (len(X) - 6) / (times * len(X) - 6)
    np.testing.assert_allclose(many, expected * shrunk, atol=1e-6)


def test_a_picture_of_several_labels_counts_in_each(rows):
    X, labels = rows
    several = [{f"a{k}", f"b{k % 2}"} for k in labels[:-10]] + [set()] * 10
    known = labels[:-10]
    groups = [np.flatnonzero(known == k) for k in range(6)]
    groups += [np.flatnonzero(known % 2 == k) for k in range(2)]
    found = related_covariance(X, Relevance.of(several))
    np.testing.assert_allclose(found, slow_covariance(X, groups), atol=1e-6)


def test_of_pairs_every_picture_counts_the_same(rows):
    X = rows[0][:30]
    pairs = np.triu(np.random.default_rng(1).random((30, 30)) < 0.2, 1)
    weights = (pairs | pairs.T) * 2.0
    expected = np.zeros((8, 8))
    count = 0
    for i in range(30):
        related = np.flatnonzero(weights[i])
        for j in related:
            apart = X[i].astype(float) - X[j]
            expected += np.outer(apart, apart) / 2 / len(related)
        count += len(related) > 0
    found = related_covariance(X, Relevance.of(sp.csr_matrix(weights)))
    np.testing.assert_allclose(found, expected / count, atol=1e-6)


def test_what_differs_between_related_pictures_counts_less(rows):
    X, labels = rows
    A = whitening(X, Relevance.of(labels))
    np.testing.assert_allclose(A, A.T, atol=1e-9)
    assert A[0, 0] < 0.7 * np.diagonal(A)[1:].min()
    lengths = np.linalg.norm(X.astype(float) @ A, axis=1)
    np.testing.assert_allclose(np.mean(lengths**2), 1, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(whitened(X, A), axis=1), 1, rtol=1e-5)
    longer = X * np.linspace(1, 9, 120, dtype=np.float32)[:, None]
    np.testing.assert_allclose(whitening(longer, Relevance.of(labels)), A, rtol=1e-4, atol=1e-5)


def test_what_all_pictures_have_in_common_counts_less(rows):
    X, labels = rows
    same = np.hstack([X, np.full((len(X), 1), 3, np.float32)])
    A = whitening(same, Relevance.of(labels))
    assert A[8, 8] < 0.7 * np.diagonal(A)[1:8].min()


def test_pictures_that_do_not_differ_have_no_whitening(rows):
    X, labels = rows
    assert whitening(X[labels], Relevance.of(labels)) is None
    assert whitening(X[:6], Relevance.of(np.arange(6))) is None
    assert whitened(X, None) is X


def test_words_compare_as_ridge_regression_predicts_them(rows):
    X, labels = rows
    words = [{f"a{k}", f"b{k % 2}"} for k in labels]
    words[:3] = [{"alone"}, set(), set()]
    relevance = Relevance.of(words).by_rarity()
    some = np.flatnonzero(relevance.known)
    taught = [k for k, name in enumerate(relevance.labels_) if name != "alone"]
    Y = relevance.links.toarray()[np.ix_(some, taught)]
    model = Ridge(alpha=RIDGE).fit(X[some].astype(float), Y)
    B = model.coef_.T
    predicted = X[some].astype(float) @ B
    S = (1 - PLAIN) * B @ B.T / np.square(predicted).sum(axis=1).mean() + PLAIN * np.eye(8)
    A = by_words(X, relevance)
    np.testing.assert_allclose(A, A.T, atol=1e-9)
    np.testing.assert_allclose(A @ A, S, rtol=1e-4, atol=1e-5)


def test_without_a_word_on_two_pictures_there_is_no_start_by_words(rows):
    X = rows[0][:4]
    assert by_words(X, Relevance.of([{"a"}, {"b"}, {"c"}, set()])) is None

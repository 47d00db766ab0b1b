"""How sure words are among all pictures of a collection, most of which nobody tagged."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from lookalike.annotation import ANNOTATORS, Ridge
from lookalike.annotation.chances import Chances
from lookalike.core.errors import DamagedFile


@pytest.fixture(scope="module")
def digits():
    pixels, kinds = load_digits(return_X_y=True)
    vectors = (pixels - pixels.mean(axis=0)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), kinds


def tagged_by_hand(kinds, rng, taught=(0, 1, 2, 3), most=30):
    """Return rows to which some kinds were given as words; those of other kinds have none."""
    rows = [rng.permutation(np.flatnonzero(kinds == kind))[:most] for kind in taught]
    return np.sort(np.concatenate(rows))


def said(model, X, kinds, least):
    """Return which words said with a confidence are right."""
    return [
        int(tag.word) == kind
        for tags, kind in zip(model.annotate(X, 10, min_confidence=least), kinds, strict=True)
        for tag in tags
    ]


def test_words_of_pictures_that_nobody_tagged_are_believed(digits):
    X, kinds = digits
    rows = tagged_by_hand(kinds, np.random.default_rng(0))
    rest = np.setdiff1d(np.arange(len(X)), rows)
    words = [str(kind) for kind in kinds[rows]]
    model = Ridge(random_state=0, held_out=0.3).fit(X[rows], words)
    among_tagged = said(model, X[rest], kinds[rest], 0.8)
    model.learn_chances(X[rows], words, X[rest])
    right = said(model, X[rest], kinds[rest], 0.8)
    # Six of the ten digits were never taught: what is honest among tagged ones is not among all.
    assert np.mean(among_tagged) < 0.7
    assert np.mean(right) > 0.9
    assert len(right) > 60


def test_a_word_of_few_pictures_is_never_sure(digits):
    X, kinds = digits
    rng = np.random.default_rng(1)
    rows = np.r_[tagged_by_hand(kinds, rng, (0, 1)), np.flatnonzero(kinds == 6)[:2]]
    words = [str(kind) for kind in kinds[rows]]
    model = Ridge(random_state=0).fit(X[rows], words).learn_chances(X[rows], words, X)
    tags = [tag for some in model.annotate(X, 3) for tag in some]
    sure = {word: max(tag.confidence for tag in tags if tag.word == word) for word in "06"}
    assert sure["6"] <= 3 / 4
    assert 0.8 < sure["0"] <= 31 / 32


def test_where_all_are_tagged_they_stand_for_others(digits):
    X, kinds = digits
    rows = np.random.default_rng(2).permutation(len(X))
    own, rest = rows[:400], rows[400:]
    words = [str(kind) for kind in kinds[own]]
    model = Ridge(random_state=0).fit(X[own], words).learn_chances(X[own], words, X[:0])
    right = said(model, X[rest], kinds[rest], 0.8)
    assert np.mean(right) > 0.95
    assert len(right) > 500


def test_the_surest_word_comes_first_and_saved_is_the_same(digits, tmp_path):
    X, kinds = digits
    rows = tagged_by_hand(kinds, np.random.default_rng(3))
    words = [str(kind) for kind in kinds[rows]]
    model = Ridge(random_state=0).fit(X[rows], words).learn_chances(X[rows], words, X)
    tags = model.annotate(X[:50], 4)
    for some in tags:
        sure = [tag.confidence for tag in some]
        assert sure == sorted(sure, reverse=True)
    model.save(tmp_path / "model")
    again = ANNOTATORS.load(tmp_path / "model")
    assert again.annotate(X[:50], 4) == tags
    # What is learned later does not keep the chances of before.
    assert again.partial_fit(X[:5], ["x"] * 5).chances_ is None
    model.chances_ = Chances(*(one[:-1] for one in vars(model.chances_).values()))
    model.save(tmp_path / "damaged")
    with pytest.raises(DamagedFile):
        ANNOTATORS.load(tmp_path / "damaged")


def test_too_few_pictures_teach_nothing(digits):
    X, kinds = digits
    has = sp.csr_matrix(np.eye(10, dtype=np.float32)[kinds[:19]])
    assert Chances.learned(X[:19], has, X) is None
    assert Chances.learned(sp.csr_matrix((30, 5000), dtype=np.float32), has, X) is None


def test_sparse_vectors_have_the_same_chances(digits):
    X, kinds = digits
    has = sp.csr_matrix(np.eye(10, dtype=np.float32)[kinds[:200]])
    dense, sparse = (Chances.learned(it[:200], has, it[200:900]) for it in (X, sp.csr_matrix(X)))
    words = np.tile(np.arange(10), (50, 1))
    np.testing.assert_allclose(
        sparse.of(sp.csr_matrix(X[900:950]), words), dense.of(X[900:950], words), atol=1e-4
    )

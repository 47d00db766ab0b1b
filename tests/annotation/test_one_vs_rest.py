"""OneVsRest: its steps are PA-I, and no word's vector depends on another word."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from lookalike.annotation import OneVsRest
from lookalike.annotation._fast.linear import WIDE, one_vs_rest_steps
from lookalike.annotation.lessons import Lessons
from lookalike.annotation.linear import Taught
from lookalike.core.errors import InvalidInput
from tests.reference import annotation_linear as slow

FORMS = {"dense": np.asarray, "sparse": sp.csr_matrix}


def taught_of(X, true, words):
    has = sp.csr_matrix((len(true), words), dtype=np.float32).tolil()
    for row, some in enumerate(true):
        has[row, sorted(some)] = 1
    return Taught.of(Lessons(X.astype(np.float32), has.tocsr(), ("",) * words), 1.0)


@pytest.mark.parametrize("offset", [0, WIDE])
@pytest.mark.parametrize("form", FORMS)
def test_steps_equal_the_paper(form, offset):
    """Also for the second block of words, and with words before and after the block."""
    rng = np.random.default_rng(0)
    words = 3 * WIDE
    X = rng.normal(size=(15, 9)) * (rng.random((15, 9)) < 0.6)
    X[0] = 0
    true = [set(rng.integers(words, size=20).tolist()) for _ in X]
    taught = taught_of(FORMS[form](X), true, words)
    order = rng.integers(len(X), size=120).astype(np.uint32)
    block = np.zeros((9, WIDE), np.float32)
    taken = one_vs_rest_steps(
        block,
        np.uint64(offset),
        taught.pictures,
        taught.lengths,
        taught.truth,
        order,
        np.float32(0.1),
    )
    expected = np.zeros((words, 9))
    for row in order:
        if X[row].any():
            slow.one_vs_rest_step(expected, X[row], true[row], aggressiveness=0.1)
    np.testing.assert_allclose(block.T, expected[offset : offset + WIDE], atol=2e-4)
    assert 0 < taken < len(order) * WIDE


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=30)
def test_a_step_meets_its_margin(seed, has):
    """With a C that does not bind, s·wᵀx is 1 after the step, or as it was if it was more."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1, 5))
    taught = taught_of(X, [{3} if has else set()], WIDE)
    block = rng.normal(size=(5, WIDE)).astype(np.float32)
    sign = 1 if has else -1
    before = sign * block[:, 3] @ X[0]
    one_vs_rest_steps(
        block,
        np.uint64(0),
        taught.pictures,
        taught.lengths,
        taught.truth,
        np.zeros(1, np.uint32),
        np.float32(1e6),
    )
    assert sign * block[:, 3] @ X[0] == pytest.approx(max(before, 1.0), abs=1e-3)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)[:600], y[:600]


def test_words_do_not_meet(digits):
    X, y = digits
    plan = {"held_out": 0, "epochs": 3, "random_state": 0}
    everything = OneVsRest(**plan).fit(X, [str(number) for number in y])
    alone = OneVsRest(**plan).fit(X, ["3" if number == 3 else "other" for number in y])
    np.testing.assert_array_equal(
        everything.W_[everything.word_number("3")], alone.W_[alone.word_number("3")]
    )


def test_the_unit_of_the_vectors_does_not_matter(digits):
    X, y = digits
    model = OneVsRest(epochs=3, aggressiveness=0.01, random_state=0)
    small = model.fit(X[:400], y[:400]).scores(X[400:])
    large = model.fit(X[:400] * np.float32(1024), y[:400]).scores(X[400:] * np.float32(1024))
    np.testing.assert_allclose(small, large, atol=1e-3)


def test_more_words_than_one_block(digits):
    """The words of every block learn what they would learn alone."""
    X, _ = digits
    plan = {"held_out": 0, "epochs": 2, "random_state": 0}
    words = [f"word {row % (2 * WIDE + 5):03}" for row in range(len(X))]
    model = OneVsRest(**plan).fit(X, words)
    assert model.W_.shape == (2 * WIDE + 5, 64)
    for name in ("word 000", f"word {WIDE:03}", f"word {2 * WIDE + 4:03}"):
        alone = OneVsRest(**plan).fit(X, [name if word == name else "other" for word in words])
        np.testing.assert_array_equal(
            model.W_[model.word_number(name)], alone.W_[alone.word_number(name)]
        )


def test_progress_counts_the_share_of_words_done(digits):
    X, _ = digits
    seen = []
    words = [f"word {row % (2 * WIDE)}" for row in range(len(X))]
    model = OneVsRest(held_out=0, epochs=2)
    model.fit(X, words, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 1200) for done in (300, 600, 900, 1200, 1200)]


@pytest.mark.parametrize(
    ("name", "value"), [("aggressiveness", 0), ("epochs", 1.5), ("held_out", -0.1)]
)
def test_bad_parameters_are_named(digits, name, value):
    X, y = digits
    with pytest.raises(InvalidInput, match=f"OneVsRest: {name}"):
        OneVsRest(**{name: value}).fit(X, y)

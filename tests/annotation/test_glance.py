"""A glance at rounded vectors never loses one of the best words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.annotation import WSABIE
from lookalike.annotation._fast.glance import may_be_best
from lookalike.annotation.glance import Glance
from tests.reference import glance as slow

LARGE = 1 << 22
"""The numbers of words' vectors from which a few pictures are ranked by a glance."""


@given(
    seed=st.integers(0, 10_000),
    words=st.integers(1, 300),
    width=st.integers(1, 70),
    k=st.integers(1, 20),
    tail=st.sampled_from([0.5, 1.0, 4.0]),
)
def test_the_best_are_among_the_candidates(seed, words, width, k, tail):
    rng = np.random.default_rng(seed)
    vectors = (rng.standard_normal((words, width)) ** 3 * rng.random((words, 1)) ** tail).astype(
        "f4"
    )
    query = rng.standard_normal(width).astype(np.float32)
    found = Glance(vectors).candidates(query, k)
    products = vectors.astype(np.float64) @ query
    best = np.argsort(-products, kind="stable")[:k]
    assert set(best) <= set(found)
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize(("words", "k"), [(1, 1), (40, 1), (40, 7), (40, 40), (500, 10)])
def test_the_loop_equals_the_slow_twin(words, k):
    rng = np.random.default_rng(words + k)
    # Whole and half numbers, so that float32 rounds nothing, and many words are equal.
    codes = rng.integers(-3, 4, (words, 6)).astype(np.int8)
    units = rng.integers(1, 3, words).astype(np.float32)
    query = rng.integers(-2, 3, 6).astype(np.float32)
    slack = np.float32(1.5)
    room = np.empty(words, np.int64), np.empty(words, np.float32)
    best = np.full(k, -np.inf, np.float32)
    count = may_be_best(codes, units, query, slack, best, *room)
    expected = slow.may_be_best(codes, units, query, slack, k)
    np.testing.assert_array_equal(room[0][:count], expected)


def test_few_are_candidates():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((20_000, 100)).astype(np.float32)
    found = Glance(vectors).candidates(vectors[3], 10)
    assert 10 <= len(found) < 100
    assert 3 in found


@pytest.mark.parametrize("scale", [0.0, 1e-42, 1e-37, 1e-36, 1e-20, 1e15])
@pytest.mark.parametrize("length", [1e-40, 1.0, 1e37])
def test_vectors_of_any_size(scale, length):
    rng = np.random.default_rng(1)
    for _ in range(20):
        vectors = (scale * rng.standard_normal((50, 8))).astype(np.float32)
        vectors[7] = 0
        query = (length * rng.standard_normal(8)).astype(np.float32)
        products = vectors.astype(np.float64) @ query.astype(np.float64)
        best = np.argsort(-products, kind="stable")[:5]
        assert set(best) <= set(Glance(vectors).candidates(query, 5))


def test_equal_words_stay_in_order_of_their_numbers():
    vectors = np.tile(np.float32([[1, 2, 3]]), (40, 1))
    assert Glance(vectors).candidates(np.float32([1, 0, 1]), 3).tolist() == list(range(40))


def test_a_few_pictures_rank_as_many_do():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((60, 12))
    model = WSABIE(dimension=LARGE // 30, epochs=3, random_state=0).fit(
        X, [f"w{i % 30}" for i in range(60)]
    )
    together = model.rank(X, 5)
    for begin in range(0, 60, 4):
        few = model.rank(X[begin : begin + 4], 5)
        np.testing.assert_array_equal(few.words, together.words[begin : begin + 4])
        np.testing.assert_allclose(few.scores, together.scores[begin : begin + 4], rtol=1e-5)


def test_words_learned_later_are_seen():
    X = np.eye(4)
    model = WSABIE(dimension=LARGE // 3, epochs=5, random_state=0).fit(X[:3], ["a", "b", "c"])
    model.rank(X[:1], 2)
    model.partial_fit(X[3:], ["d"], epochs=30)
    assert model.words_[model.rank(X[3:], 1).words[0, 0]] == "d"


def test_rounding_at_its_worst():
    first = np.r_[127, np.full(19, 10.49)]
    second = np.r_[127, np.full(10, 10.51), np.full(9, 10.40)]
    query = np.r_[0, np.ones(19)].astype(np.float32)
    assert first @ query > second @ query
    glance = Glance(np.array([first, second], np.float32))
    assert glance.candidates(query, 1).tolist() == [0, 1]

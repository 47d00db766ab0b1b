import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.collection.votes import steps as voting
from lookalike.collection.votes.steps import (
    AGGRESSIVENESS,
    FOLDS,
    MARGIN,
    MOST_PAIRS,
    OWN,
    Geometry,
    learn,
    pairs,
)
from tests.reference.votes import learned


def geometry(query, pictures, base, W):
    return Geometry(
        base=pictures @ base @ query,
        learned=(W @ query) @ pictures.T,
        gram=pictures @ pictures.T,
        across=pictures @ query,
        square=float(query @ query),
    )


def comparisons(count):
    return st.lists(
        st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), min_size=1, max_size=9
    )


@given(st.integers(0, 10**6), comparisons(5), st.integers(0, FOLDS - 1))
def test_equals_steps_on_a_whole_matrix(seed, chosen, fold):
    rng = np.random.default_rng(seed)
    width, base = 7, np.eye(7)
    W = np.zeros((FOLDS + 1, width, width))
    votes = []
    for _ in range(3):
        query, pictures = rng.normal(size=width) / 2, rng.normal(size=(5, width)) / 2
        taught = learn(range(5), chosen, geometry(query, pictures, base, W), fold)
        for learner, weights in enumerate(taught.weights):
            across = np.outer(query, weights @ pictures)
            W[learner] += (across + across.T - OWN * (pictures.T * weights) @ pictures) / 2
        votes.append((query, [(pictures[good], pictures[bad]) for good, bad in chosen]))
    expected = learned(votes, width, AGGRESSIVENESS, MARGIN, OWN, base)
    for learner in range(FOLDS + 1):
        if learner == fold:
            assert not W[learner].any()
        else:
            np.testing.assert_allclose(W[learner], expected, atol=1e-12)


def test_a_vote_is_judged_by_a_learner_that_did_not_see_its_query():
    rng = np.random.default_rng(0)
    query, pictures = rng.normal(size=4), rng.normal(size=(3, 4))
    pictures[1] = pictures[0] + 0.1 * query
    W = np.zeros((FOLDS + 1, 4, 4))
    W[2] = np.outer(query, pictures[0] - pictures[1]) * 100
    wrong = learn(range(3), [(0, 1)], geometry(query, pictures, np.eye(4), W), fold=1)
    right = learn(range(3), [(0, 1)], geometry(query, pictures, np.eye(4), W), fold=2)
    assert wrong.right == (0.0, 0.0)
    assert right.right == (0.0, 1.0)


def test_a_step_is_never_longer_than_allowed():
    rng = np.random.default_rng(1)
    pictures = rng.normal(size=(4, 6))
    none = np.zeros((FOLDS + 1, 6, 6))
    taught = learn(range(4), [(0, 1), (2, 3)], geometry(pictures[0], pictures, np.eye(6), none), 0)
    assert np.abs(taught.weights).max() <= AGGRESSIVENESS + 1e-15
    assert abs(taught.weights.sum(axis=1)).max() < 1e-15


def test_pictures_that_are_the_same_teach_nothing():
    pictures = np.ones((2, 3))
    none = np.zeros((FOLDS + 1, 3, 3))
    taught = learn(range(2), [(0, 1)], geometry(pictures[0], pictures, np.eye(3), none), 0)
    assert not taught.weights.any()
    assert taught.right == (0.0, 0.0)


def test_what_is_picked_goes_before_what_was_passed_over():
    assert pairs([4], [2], [1, 2, 3, 4, 5]) == [(4, 2), (4, 1), (4, 3)]
    assert pairs([], [2], [1, 2]) == []
    assert pairs([9], [], [1, 2]) == []
    assert pairs([1, 2], [], [1, 2]) == []


def test_every_picture_of_a_large_vote_takes_part():
    found = pairs(list(range(10)), list(range(10, 20)), [])
    assert len(found) == MOST_PAIRS
    assert len({good for good, _ in found}) >= 5
    assert len({bad for _, bad in found}) >= 5


def test_votes_on_one_query_are_of_one_part():
    parts = [voting.fold_of(str(number)) for number in range(1000)]
    assert parts == [voting.fold_of(str(number)) for number in range(1000)]
    assert min(np.bincount(parts)) > 150
    assert voting.fold_of("1") == pytest.approx(voting.fold_of("1"))

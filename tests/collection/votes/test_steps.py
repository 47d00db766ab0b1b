import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.collection.votes import steps as voting
from lookalike.collection.votes.preferences import LIMIT
from lookalike.collection.votes.steps import (
    FOLDS,
    FROM_REJECTED,
    LONGEST,
    MARGIN,
    MOST_TAUGHT,
    OLDER_WIDTH,
    Geometry,
    Taught,
    directions,
    learn,
    sides,
)
from lookalike.core.vectors import unit_rows
from tests.reference.votes import direction, learned, turn

ALL = {1, 2, 3, 4, 5}


def vectors(rng, count, width=7):
    return unit_rows(rng.normal(size=(count, width)) + 1).astype(np.float64)


def geometry(V, turns):
    """Return the inner products of unit vectors; ``turns`` has a matrix for each learner."""
    return Geometry(near=V @ V.T, gram=V @ V.T, base=V @ V.T, learned=turns @ V.T)


def nothing(V):
    return np.zeros((FOLDS + 1, *V.shape))


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.integers(0, FOLDS - 1))
def test_equals_a_sum_written_out(seed, picked, rejected, fold):
    rng = np.random.default_rng(seed)
    votes = []
    for _ in range(3):
        V = vectors(rng, picked + rejected)
        turns = nothing(V)
        for place, vector in enumerate(V):
            turned = turn(votes, vector)
            turns[:, place] = turned * min(1, LIMIT / max(np.linalg.norm(turned), 1e-12))
        taught = learn(range(len(V)), picked, geometry(V, turns), fold, width=6.0)
        assert not taught.steps[fold].any()
        expected = learned(
            votes,
            V,
            picked,
            6.0,
            longest=LONGEST,
            margin=MARGIN,
            from_rejected=FROM_REJECTED,
            limit=LIMIT,
        )
        for learner in set(range(FOLDS + 1)) - {fold}:
            # A step is rounded, and what is near a half may go either way.
            np.testing.assert_allclose(taught.steps[learner], expected, atol=3e-4)
        votes.append((V, picked, taught.steps[-1], 6.0))


@given(st.integers(1, 6), st.integers(1, 6))
def test_directions_are_means(picked, rejected):
    V = vectors(np.random.default_rng(0), picked + rejected)
    moved = directions(len(V), picked) @ V
    expected = [direction(V, picked, place) for place in range(len(V))]
    np.testing.assert_allclose(moved, expected, atol=1e-12)


def test_a_vote_is_judged_by_a_learner_that_did_not_see_its_query():
    V = vectors(np.random.default_rng(0), 3)
    V[2] = V[0]
    turns = nothing(V)
    turns[2, 0] = 100 * (V[1] - V[2])
    wrong = learn(range(3), 2, geometry(V, turns), fold=1, width=9.0)
    right = learn(range(3), 2, geometry(V, turns), fold=2, width=9.0)
    assert wrong.right == (0.0, 0.0)
    assert right.right == (0.0, 1.0)


def test_a_step_is_never_longer_than_allowed_and_shorter_for_few_comparisons():
    V = np.vstack([np.eye(6), -np.eye(6)])[[0, 6, 7, 1, 2, 3]]
    many = learn(range(6), 3, geometry(V, nothing(V)), 0, width=9.0)
    assert 0 < np.abs(many.steps).max() <= LONGEST * 2 / 3
    few = learn(range(2), 1, geometry(V[:2], nothing(V[:2])), 0, width=9.0)
    assert np.abs(few.steps).max() <= LONGEST / 2


def test_pictures_that_are_the_same_teach_nothing():
    V = np.ones((3, 4)) / 2
    taught = learn(range(3), 2, geometry(V, nothing(V)), 0, width=9.0)
    assert not taught.steps.any()
    assert taught.right == (0.0, 0.0)


def test_what_cannot_be_compared_teaches_nothing():
    V = vectors(np.random.default_rng(0), 3)
    for picked in (0, 3):
        taught = learn(range(3), picked, geometry(V, nothing(V)), 0, width=9.0)
        assert not taught.steps.any()
        assert taught.right == (None, None)


def test_sides_of_a_vote():
    assert sides([4], [2], [1, 2, 3, 4, 5], {}, ALL) == ([4], [2])
    assert sides([], [2], [1, 2], {}, ALL) == ([], [2])
    assert sides([9], [], [1, 2], {}, ALL) == ([], [])
    assert sides([1, 2], [], [1, 2], {}, ALL) == ([1, 2], [])
    assert sides([4], [], [1, 2, 3, 4, 5], {}, ALL) == ([4], [1, 2, 3])
    assert sides([4], [], [1, 2, 3, 4, 5], {2: 1, 3: -1, 4: -1}, ALL) == ([4, 2], [3])
    good, bad = sides(list(range(99)), list(range(99, 200)), [], {}, set(range(200)))
    assert (len(good), len(bad)) == (MOST_TAUGHT, MOST_TAUGHT)


def test_written_and_read_again():
    V = vectors(np.random.default_rng(0), 4)
    taught = learn([0, 7, 8, 9], 2, geometry(V, nothing(V)), 3, width=9.0)
    again = Taught.read(taught.written())
    assert (again.pictures, again.picked, again.width) == ((0, 7, 8, 9), 2, 9.0)
    assert again.right == taught.right
    np.testing.assert_array_equal(again.steps, taught.steps)


def test_a_vote_of_an_older_log_is_read():
    weights = np.arange(2 * (FOLDS + 1.0)).reshape(FOLDS + 1, 2)
    older = Taught.read({"pictures": [3, 4], "weights": weights.tolist(), "right": [1.0, None]})
    assert (older.picked, older.width) == (None, OLDER_WIDTH)
    np.testing.assert_array_equal(older.steps, weights)


@pytest.mark.parametrize(
    "changed", [{"picked": 5}, {"picked": "x"}, {"width": -1.0}, {"steps": [[1.0]]}]
)
def test_a_damaged_vote_is_not_read(changed):
    with pytest.raises((ValueError, TypeError)):
        Taught.read(Taught.nothing().written() | {"pictures": [1]} | changed)


def test_votes_on_one_query_are_of_one_part():
    parts = [voting.fold_of(str(number)) for number in range(1000)]
    assert parts == [voting.fold_of(str(number)) for number in range(1000)]
    assert min(np.bincount(parts)) > 150

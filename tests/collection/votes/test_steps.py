from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.collection.votes import steps as voting
from lookalike.collection.votes.steps import (
    FROM_REJECTED,
    MARGIN,
    MARGIN_ALIKE,
    MAX_STEP,
    MAX_STEP_ALIKE,
    MAX_TAUGHT,
    Geometry,
    Taught,
    directions,
    sides,
)
from lookalike.collection.votes.turning import LIMIT
from lookalike.core.vectors import unit_rows
from tests.reference.votes import direction, learned, turn

ALL = {1, 2, 3, 4, 5}

learn = partial(voting.learn, is_whole=True)


def vectors(rng, count, width=7):
    return unit_rows(rng.normal(size=(count, width)) + 1).astype(np.float64)


def geometry(V, turns=0.0, others=0.0):
    """Return the inner products of unit vectors, and of turns of them."""
    G = V @ V.T
    return Geometry(G, G, G, learned=turns + np.zeros_like(V) @ V.T, others=others * G[0])


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 4))
def test_equals_a_sum_written_out(seed, picked, rejected):
    rng = np.random.default_rng(seed)
    votes = []
    for _ in range(3):
        V = vectors(rng, picked + rejected)
        turns = np.array([turn(votes, vector) for vector in V])
        turns *= np.minimum(1, LIMIT / np.maximum(np.linalg.norm(turns, axis=1), 1e-12))[:, None]
        taught = learn(range(len(V)), picked, geometry(V, turns @ V.T), width=6.0, decimals=15)
        expected = learned(
            votes,
            V,
            picked,
            6.0,
            longest=MAX_STEP,
            margin=MARGIN,
            from_rejected=FROM_REJECTED,
            limit=LIMIT,
            alike=(MAX_STEP_ALIKE, MARGIN_ALIKE),
        )
        np.testing.assert_allclose(taught.steps, expected, rtol=1e-6, atol=1e-9)
        votes.append((V, picked, taught.steps, 6.0))


@given(st.integers(1, 6), st.integers(0, 6))
def test_directions_are_means(picked, rejected):
    V = vectors(np.random.default_rng(0), picked + rejected)
    moved = directions(len(V), picked) @ V
    expected = [direction(V, picked, place) for place in range(len(V))]
    np.testing.assert_allclose(moved, expected, atol=1e-12)


def test_a_vote_is_judged_by_what_votes_of_other_parts_taught():
    V = vectors(np.random.default_rng(0), 3)
    V[2] = V[0]
    alone = geometry(V, turns=100.0)
    assert learn(range(3), 2, alone, width=9.0).right == (0.0, 0.0)
    turned = replace(alone, others=100 * (V[1] - V[2]) @ V.T)
    assert learn(range(3), 2, turned, width=9.0).right == (0.0, 1.0)


def test_a_step_is_never_longer_than_allowed_and_shorter_for_few_comparisons():
    V = np.vstack([np.eye(6), -np.eye(6)])[[0, 6, 7, 1, 2, 3]]
    many = learn(range(6), 3, geometry(V), width=9.0)
    assert 0 < np.abs(many.steps).max() <= MAX_STEP * 2 / 3
    few = learn(range(2), 1, geometry(V[:2]), width=9.0)
    assert np.abs(few.steps).max() <= MAX_STEP / 2


def test_steps_are_rounded_for_the_log():
    V = vectors(np.random.default_rng(0), 4)
    steps = learn(range(4), 2, geometry(V), width=9.0).steps
    assert steps.any()
    np.testing.assert_array_equal(steps, np.round(steps, voting.DECIMALS))


def test_pictures_that_are_the_same_teach_nothing():
    V = np.ones((3, 4)) / 2
    taught = learn(range(3), 2, geometry(V), width=9.0)
    assert not taught.steps.any()
    assert taught.right == (0.5, 0.5)


def test_what_cannot_be_compared_is_not_judged():
    V = vectors(np.random.default_rng(0), 3)
    for picked, steps in ((0, [0, 0, 0]), (3, [MAX_STEP_ALIKE] * 3)):
        taught = learn(range(3), picked, geometry(V), width=9.0)
        assert taught.steps.tolist() == steps
        assert taught.right == (None, None)


def test_sides_of_a_vote():
    assert sides([4], [2], {}, ALL) == ([4], [2])
    assert sides([], [2], {}, ALL) == ([], [2])
    assert sides([9], [], {}, ALL) == ([], [])
    assert sides([4], [], {2: 1, 3: -1, 4: -1}, ALL) == ([4, 2], [3])
    good, bad = sides(list(range(99)), list(range(99, 200)), {}, set(range(200)))
    assert (len(good), len(bad)) == (MAX_TAUGHT, MAX_TAUGHT)


def test_written_and_read_again():
    V = vectors(np.random.default_rng(0), 4)
    taught = learn([0, 7, 8, 9], 2, geometry(V), width=9.0)
    again = Taught.read(taught.written())
    assert (again.pictures, again.picked, again.width) == ((0, 7, 8, 9), 2, 9.0)
    assert again.right == taught.right
    np.testing.assert_array_equal(again.steps, taught.steps)


@pytest.mark.parametrize(
    "changed",
    [
        *({"picked": 5}, {"picked": "x"}, {"width": -1.0}, {"steps": [1.0, 2.0]}),
    ],
)
def test_a_damaged_vote_is_not_read(changed):
    with pytest.raises((ValueError, TypeError)):
        Taught.read(Taught().written() | {"pictures": [1], "steps": [0.5]} | changed)


def test_votes_on_one_query_are_of_one_part():
    parts = [voting.fold_of(str(number)) for number in range(1000)]
    assert parts == [voting.fold_of(str(number)) for number in range(1000)]
    assert min(np.bincount(parts)) > 150

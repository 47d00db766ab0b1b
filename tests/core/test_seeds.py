import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core._fast.random import next_below, next_unit, next_word
from lookalike.core.errors import InvalidInput
from lookalike.core.seeds import generator, loop_state
from tests.reference import xoshiro

words = st.integers(0, 2**64 - 1)
states = st.lists(words, min_size=4, max_size=4).filter(any)


@settings(max_examples=100)
@given(states)
def test_words_equal_the_slow_twin(start):
    fast, slow = np.array(start, np.uint64), list(start)
    for _ in range(20):
        assert int(next_word(fast)) == xoshiro.next_word(slow)
    assert fast.tolist() == slow


def test_the_published_first_words():
    state = np.array([1, 2, 3, 4], np.uint64)
    expected = [41943041, 58720359, 3588806011781223, 3591011842654386]
    assert [int(next_word(state)) for _ in expected] == expected


@settings(max_examples=100)
@given(states, st.integers(1, 2**32 - 1))
def test_draws_equal_the_slow_twin(start, bound):
    fast, slow = np.array(start, np.uint64), list(start)
    for _ in range(5):
        drawn = int(next_below(fast, np.uint64(bound)))
        assert drawn == ((xoshiro.next_word(slow) >> 32) * bound) >> 32
        assert 0 <= drawn < bound
    for _ in range(5):
        unit = next_unit(fast)
        assert unit == (xoshiro.next_word(slow) >> 11) / 2**53
        assert 0.0 <= unit < 1.0


def test_the_extremes_stay_within():
    full = 2**64 - 1
    # with s0 = s3 = 0 the word is 0; with s0 + s3 rotating to all ones and s0 = 0 it is all ones
    assert next_unit(np.array([0, 1, 1, 0], np.uint64)) == 0.0
    assert next_unit(np.array([0, 1, 1, full], np.uint64)) < 1.0
    assert next_below(np.array([0, 1, 1, full], np.uint64), np.uint64(2**32 - 1)) == 2**32 - 2


def test_draws_are_even():
    state = loop_state(generator(0))
    counts = np.bincount([int(next_below(state, np.uint64(10))) for _ in range(20_000)])
    assert abs(counts - 2000).max() < 200


def test_a_seed_repeats_and_a_generator_passes_through():
    assert generator(5).integers(1000) == generator(np.int64(5)).integers(1000)
    rng = np.random.default_rng(0)
    assert generator(rng) is rng
    assert generator(None).integers(2**62) != generator(None).integers(2**62)


@pytest.mark.parametrize("bad", [-1, 1.5, "1", True, np.random.RandomState(0)])
def test_other_seeds_are_refused(bad):
    with pytest.raises(InvalidInput, match="random_state"):
        generator(bad)


def test_loop_states_differ_and_are_never_all_zero():
    rng = generator(0)
    drawn = [loop_state(rng) for _ in range(10)]
    assert all(state.dtype == np.uint64 and state.shape == (4,) and state.all() for state in drawn)
    assert len({tuple(state) for state in drawn}) == 10

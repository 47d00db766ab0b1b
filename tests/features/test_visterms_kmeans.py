import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.features._fast.kmeans import kmeans, nearest, pack


def nothing():
    pass


@given(st.integers(0, 70), st.integers(1, 200), st.integers(1, 13), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_nearest_is_the_first_of_the_nearest(rows, words, depth, seed):
    rng = np.random.default_rng(seed)
    # Whole numbers: no rounding, and plenty of equals.
    x = rng.integers(0, 4, (rows, depth)).astype(np.float32)
    w = rng.integers(0, 4, (words, depth)).astype(np.float32)
    found, lows = nearest(x, pack(w))
    distances = ((x[:, None] - w[None]) ** 2).sum(axis=2)
    assert found.tolist() == distances.argmin(axis=1).tolist()
    np.testing.assert_array_equal(2 * lows + (x**2).sum(axis=1), distances.min(axis=1))


def test_kmeans_finds_clear_groups():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [10, 0], [0, 10], [10, 10]], np.float32)
    rows = np.repeat(centres, 3000, axis=0) + rng.normal(0, 0.1, (12000, 2)).astype(np.float32)
    words = kmeans(rows, rows[::3000] * np.float32(0.7), nothing)
    np.testing.assert_allclose(np.unique(words.round(), axis=0), np.unique(centres, axis=0))


def test_kmeans_leaves_the_means_where_they_are():
    rows = np.array([[0], [2], [10], [14]], np.float32)
    words = kmeans(rows, np.array([[1], [12]], np.float32), nothing)
    assert words.tolist() == [[1], [12]]


def test_a_word_without_rows_moves_to_the_farthest():
    rows = np.array([[10], [10], [11], [60]], np.float32)
    words = kmeans(rows, np.array([[10], [10], [11]], np.float32), nothing)
    assert sorted(words.ravel().tolist()) == [10, 11, 60]


@pytest.mark.parametrize("cores", [1, 2, 5])
def test_kmeans_is_the_same_on_any_number_of_cores(cores, monkeypatch):
    rows = np.random.default_rng(0).random((9001, 7), dtype=np.float32)
    expected = kmeans(rows, rows[:50].copy(), nothing)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    np.testing.assert_array_equal(kmeans(rows, rows[:50].copy(), nothing), expected)

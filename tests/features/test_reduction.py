"""Reduction: principal components, unit length, nothing random, nothing lost on disk."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput, NotFitted
from lookalike.features import Reduction

PARENT = "0123456789abcdef" * 2


def vectors(rows=80, width=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, width)) * np.linspace(3, 0.1, width) + 0.5
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def slow_reduction(X, Y, dimension):
    """Centre, rotate by the eigenvectors of the covariance, normalise; free of signs' choice."""
    mean = X.mean(axis=0, dtype=np.float64)
    values, axes = np.linalg.eigh(np.cov((X - mean).T))
    reduced = (Y - mean) @ axes[:, np.argsort(-values)[:dimension]]
    return reduced / np.linalg.norm(reduced, axis=1, keepdims=True)


@pytest.mark.parametrize("rows", [9, 80])
def test_it_equals_the_slow_way(rows):
    X, Y = vectors(rows), vectors(20, seed=1)
    reduced = Reduction(dimension=5).fit(X, parent=PARENT).apply(Y)
    slow = slow_reduction(X, Y, 5)
    assert reduced.dtype == np.float32
    np.testing.assert_allclose(reduced @ reduced.T, slow @ slow.T, atol=2e-5)
    np.testing.assert_allclose(np.abs(reduced), np.abs(slow), atol=2e-5)


def test_two_fits_are_the_same_to_the_bit():
    first, second = (Reduction(dimension=5).fit(vectors(), parent=PARENT) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)
    assert first.fingerprint == second.fingerprint


def test_the_fingerprint_knows_parent_and_data():
    made = [
        Reduction(dimension=5).fit(vectors(), parent=PARENT),
        Reduction(dimension=5).fit(vectors(), parent=PARENT[::-1]),
        Reduction(dimension=4).fit(vectors(), parent=PARENT),
        Reduction(dimension=5).fit(vectors(seed=2), parent=PARENT),
    ]
    assert len({reduction.fingerprint for reduction in made}) == len(made)
    assert all(len(reduction.fingerprint) == 32 for reduction in made)


def test_zeros_stay_zeros():
    X = vectors()
    X[3] = 0
    reduction = Reduction(dimension=5).fit(X, parent=PARENT)
    reduced = reduction.apply(np.vstack([X, np.zeros_like(X[:1])]))
    assert not reduced[3].any()
    assert not reduced[-1].any()
    assert np.isfinite(reduced).all()
    np.testing.assert_allclose(np.linalg.norm(np.delete(reduced, [3, 80], 0), axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("rows", [8, 40])
@pytest.mark.parametrize("value", [0.0, 0.25])
def test_vectors_that_are_all_the_same_do_no_harm(rows, value):
    X = np.full((rows, 12), value, dtype=np.float32)
    reduced = Reduction(dimension=5).fit(X, parent=PARENT).apply(X)
    assert np.isfinite(reduced).all()


@given(
    st.integers(0, 2**31),
    st.integers(3, 40),
    st.integers(2, 20),
    st.floats(-18, 18),
)
@settings(max_examples=50)
def test_rows_are_of_unit_length_whatever_the_scale(seed, rows, width, exponent):
    X = np.random.default_rng(seed).normal(size=(rows, width)) * 10.0**exponent
    reduced = Reduction(dimension=2).fit(X, parent=PARENT).apply(X)
    lengths = np.linalg.norm(reduced, axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-5)


def test_it_needs_more_vectors_than_dimensions():
    with pytest.raises(InvalidInput, match="at least 6 vectors; got 5"):
        Reduction(dimension=5).fit(vectors(5), parent=PARENT)
    assert Reduction(dimension=5).fit(vectors(6), parent=PARENT).apply(vectors(6)).shape == (6, 5)


@pytest.mark.parametrize("dimension", [0, -1, 13, 2.5, "5"])
def test_an_impossible_dimension_is_refused(dimension):
    with pytest.raises(InvalidInput, match="dimension must be"):
        Reduction(dimension=dimension).fit(vectors(), parent=PARENT)


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros(12),
        np.zeros((2, 3, 4)),
        np.full((20, 12), np.nan),
        np.full((20, 12), np.inf),
        [["a"] * 12] * 20,
        sp.csr_matrix(np.eye(12)),
    ],
)
def test_unusable_vectors_are_refused(bad):
    with pytest.raises(InvalidInput, match="Reduction: vectors must"):
        Reduction(dimension=5).fit(bad, parent=PARENT)
    with pytest.raises(InvalidInput, match="Reduction: vectors must"):
        Reduction(dimension=5).fit(vectors(), parent=PARENT).apply(bad)


def test_vectors_of_another_length_are_refused():
    reduction = Reduction(dimension=5).fit(vectors(), parent=PARENT)
    with pytest.raises(InvalidInput, match="12 columns"):
        reduction.apply(vectors(width=13))
    assert reduction.apply(np.zeros((0, 12))).shape == (0, 5)


def test_a_failed_fit_leaves_what_was_learned():
    reduction = Reduction(dimension=5).fit(vectors(), parent=PARENT)
    before = reduction.fingerprint
    with pytest.raises(InvalidInput):
        reduction.fit(vectors(3), parent="another")
    assert reduction.fingerprint == before


def test_before_fit_it_knows_nothing(tmp_path):
    reduction = Reduction()
    for ask in (
        lambda: reduction.apply(vectors()),
        lambda: reduction.fingerprint,
        lambda: reduction.save(tmp_path / "file"),
    ):
        with pytest.raises(NotFitted, match="call fit first"):
            ask()


def test_it_comes_back_from_disk(tmp_path):
    path = tmp_path / "reduction"
    reduction = Reduction(dimension=5).fit(vectors(), parent=PARENT)
    reduction.save(path)
    back = Reduction.load(path)
    assert (back.dimension, back.parent_) == (5, PARENT)
    assert back.fingerprint == reduction.fingerprint
    np.testing.assert_array_equal(back.apply(vectors()), reduction.apply(vectors()))


@pytest.mark.parametrize("harm", ["mean", "components", "short", "nan", "double", "parent"])
def test_a_damaged_file_is_refused(tmp_path, harm):
    path = tmp_path / "reduction"
    Reduction(dimension=5).fit(vectors(), parent=PARENT).save(path)
    arrays, manifest = load_arrays(path, kind="reduction/2")
    if harm in arrays:
        del arrays[harm]
    elif harm == "short":
        arrays["mean"] = arrays["mean"][:-1]
    elif harm == "nan":
        arrays["components"] = arrays["components"] * np.float32("nan")
    elif harm == "double":
        arrays["mean"] = arrays["mean"].astype(np.float64)
    else:
        del manifest["learned"]["parent"]
    save_arrays(path, arrays, kind="reduction/2", manifest=manifest)
    with pytest.raises(DamagedFile, match="not a complete Reduction"):
        Reduction.load(path)

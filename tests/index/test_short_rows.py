"""A search by the short form of vectors finds exactly what one that reads all of them would."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.index import DenseIndex, dense
from lookalike.index.short_rows import ShortRows

COUNT, WIDTH = 4000, 40


@pytest.fixture(autouse=True)
def way(set_limits):
    """Search as large collections do."""
    set_limits(small_index=-1)


@pytest.fixture
def no_scan(monkeypatch):
    """Let a scan of all vectors fail."""

    def forbid():
        def scan(*_):
            raise AssertionError("all vectors were scanned")

        monkeypatch.setattr(dense, "offer_block", scan)

    return forbid


def made(seed, scales=None, spread=0.7):
    rng = np.random.default_rng(seed)
    sizes = np.arange(1, WIDTH + 1) ** -spread
    vectors = (rng.standard_normal((COUNT, WIDTH)) * rng.permutation(sizes)).astype(np.float32)
    vectors[::50] = vectors[0]  # pictures that tie
    vectors[7] = 0
    vectors[8] *= 1e-20
    vectors[9] *= 1e4
    index = DenseIndex(WIDTH)
    index.add(vectors, scales=scales)
    index.search(vectors[1])  # the short form is made from the second search on
    return index, vectors, rng


def scanned(index):
    """Return the same index, which has not been searched."""
    other = DenseIndex(WIDTH)
    other.add(index.vectors, index.ids, scales=index.scales)
    return other


def same(one, other):
    assert one.ids.tolist() == other.ids.tolist()
    assert one.scores.tolist() == other.scores.tolist()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    spread=st.sampled_from([0.0, 0.7, 2.0]),
    length=st.sampled_from([1e-30, 1e-3, -1.0, 1.0, 1e20]),
    scaled=st.sampled_from(["one", "positive", "any"]),
    k=st.sampled_from([1, 3, 10, 300]),
)
def test_it_finds_what_a_scan_finds(seed, spread, length, scaled, k):
    rng = np.random.default_rng(seed)
    scales = {
        "one": None,
        "positive": rng.uniform(0, 2, COUNT).astype(np.float32),
        "any": rng.standard_normal(COUNT).astype(np.float32),
    }[scaled]
    index, vectors, rng = made(seed, scales, spread)
    query = np.float32(length) * (vectors[rng.integers(COUNT)] + np.float32(0.1))
    exclude = rng.integers(0, COUNT, (1, 5))
    among = rng.permutation(COUNT)[: COUNT // 2 + 1]
    for options in ({}, {"exclude": exclude}, {"among": among}, {"among": among[:200]}):
        same(index.search(query, k, **options), scanned(index).search(query, k, **options))


@given(seed=st.integers(0, 1000), factor=st.sampled_from([1e-20, 1.0, 1e15]))
def test_whole_numbers_are_as_near_as_they_promise(seed, factor):
    rng = np.random.default_rng(seed)
    vectors = (factor * rng.standard_normal((50, WIDTH))).astype(np.float32)
    vectors[3] = 0
    short = ShortRows.of(vectors)
    query = rng.standard_normal(WIDTH).astype(np.float32)
    head, tail, (step, length, tail_length, rest) = short.query(query)
    steps, rests, tails, lengths = short.bounds.rows.T.astype(np.float64)
    whole = np.hstack([short.heads.rows, short.tails.rows]).astype(np.int64)
    exact = vectors.astype(np.float64) @ query.astype(np.float64)
    slack = length * rests + rest * lengths
    assert (
        np.abs(step * steps * (whole @ np.append(head, tail).astype(np.int64)) - exact) <= slack
    ).all()
    cut = head.size
    heads = step * steps * (whole[:, :cut] @ head.astype(np.int64))
    assert (np.abs(heads - exact) <= slack + tail_length * tails).all()


def test_no_vector_is_left_out_that_a_scan_has_to_read(no_scan):
    index, vectors, _ = made(0)
    expected = scanned(index).search(vectors[4], 10, exclude=[[3, 5]])
    no_scan()
    same(index.search(vectors[4], 10, exclude=[[3, 5]]), expected)


def test_scales_may_change_between(no_scan):
    index, vectors, rng = made(1)
    index.search(vectors[3], 10)
    index.set_scales(rng.uniform(0.5, 2, COUNT))
    expected = scanned(index).search(vectors[3], 10)
    no_scan()
    same(index.search(vectors[3], 10), expected)


def test_pictures_that_came_or_went_count(no_scan):
    index, vectors, _ = made(2)
    before = index.search(vectors[3], 3)
    no_scan()
    (new,) = index.add(1e5 * vectors[3:4])
    assert index.search(vectors[3], 3).ids[0, 0] == new
    index.remove([new, before.ids[0, 0]])
    after = index.search(vectors[3], 3)
    exact = index.scores(vectors[3], index.ids)[0]
    best = np.lexsort((index.ids, -exact))[:3]
    assert after.ids[0].tolist() == index.ids[best].tolist()


def test_all_pictures_may_be_asked_for():
    index, vectors, _ = made(3)
    same(index.search(vectors[3], COUNT), scanned(index).search(vectors[3], COUNT))


def test_products_that_overflow_are_scanned_in_full():
    index, vectors, _ = made(4)
    query = np.float32(1e37) * vectors[3]
    with np.errstate(over="ignore"):
        same(index.search(query, 3), scanned(index).search(query, 3))

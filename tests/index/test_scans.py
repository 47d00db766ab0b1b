"""A query near one that was scanned finds exactly what a scan of its own would."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.index import DenseIndex, dense
from lookalike.index.scans import Scans

COUNT, WIDTH = 4000, 8


@pytest.fixture(autouse=True)
def way(set_limits):
    """Search as large collections do."""
    set_limits(small_index=-1)


@pytest.fixture
def no_scan(monkeypatch):
    """Let any further scan fail."""

    def forbid():
        def scan(*_):
            raise AssertionError("all vectors were scanned")

        monkeypatch.setattr(dense, "offer_block", scan)

    return forbid


def made(seed, scales=None):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((COUNT, WIDTH)).astype(np.float32)
    vectors[::50] = vectors[0]  # pictures that tie
    vectors[7] = 0
    index = DenseIndex(WIDTH)
    index.add(vectors, scales=scales)
    return index, vectors, rng


def scanned(index):
    """Return the same index, which remembers nothing."""
    other = DenseIndex(WIDTH)
    other.add(index.vectors, index.ids, scales=index.scales)
    return other


def same(one, other):
    assert one.ids.tolist() == other.ids.tolist()
    assert one.scores.tolist() == other.scores.tolist()


@settings(max_examples=40)
@given(
    seed=st.integers(0, 1000),
    turned=st.sampled_from([0.0, 1e-6, 0.01, 0.1, 0.3, 0.6]),
    length=st.sampled_from([1e-3, -1.0, 1.0, 40.0]),
    scaled=st.sampled_from(["one", "positive", "any"]),
    k=st.sampled_from([1, 3, 10]),
)
def test_a_turned_query_finds_what_a_scan_would(seed, turned, length, scaled, k):
    rng = np.random.default_rng(seed)
    scales = {
        "one": None,
        "positive": rng.uniform(0, 2, COUNT).astype(np.float32),
        "any": rng.standard_normal(COUNT).astype(np.float32),
    }[scaled]
    index, vectors, rng = made(seed, scales)
    first = vectors[rng.integers(COUNT)] + np.float32(0.1)
    index.search(first, k)
    query = np.float32(length) * (first + np.float32(turned) * vectors[rng.integers(COUNT)])
    exclude = rng.integers(0, COUNT, (1, 5))
    among = rng.permutation(COUNT)[: COUNT // 2 + 1]
    for options in ({}, {"exclude": exclude}, {"among": among}, {"among": among[:200]}):
        same(index.search(query, k, **options), scanned(index).search(query, k, **options))


def test_a_small_turn_needs_no_scan(no_scan):
    index, vectors, _ = made(0)
    query = vectors[3]
    index.search(query, 10)
    expected = scanned(index).search(query + np.float32(0.02), 10, exclude=[[3, 5]])
    no_scan()
    same(index.search(query + np.float32(0.02), 10, exclude=[[3, 5]]), expected)
    with pytest.raises(AssertionError, match="scanned"):
        index.search(vectors[4], 10)


def test_scales_may_change_between(no_scan):
    index, vectors, rng = made(1)
    index.search(vectors[3], 10)
    index.set_scales(rng.uniform(0.5, 2, COUNT))
    expected = scanned(index).search(vectors[3], 10)
    no_scan()
    same(index.search(vectors[3], 10), expected)


def test_pictures_that_came_or_went_count():
    index, vectors, _ = made(2)
    before = index.search(vectors[3], 3)
    (new,) = index.add(3 * vectors[3:4])
    assert index.search(vectors[3], 3).ids[0, 0] == new
    index.remove([new, before.ids[0, 0]])
    same(index.search(vectors[3], 3), scanned(index).search(vectors[3], 3))


def test_all_pictures_may_be_asked_for():
    index, vectors, _ = made(3)
    index.search(vectors[3], 10)
    same(index.search(vectors[3], COUNT), scanned(index).search(vectors[3], COUNT))


def test_products_that_overflow_say_nothing():
    index, vectors, _ = made(4)
    with np.errstate(over="ignore"):
        index.search(np.float32(1e38) * vectors[3], 3)
    same(index.search(vectors[3], 3), scanned(index).search(vectors[3], 3))


def test_what_is_scans_is_bounded():
    scans = Scans(max_bytes=4 * 100 * 5)
    for number in range(9):
        scans.keep(np.eye(9, dtype=np.float32)[number], np.zeros(100, np.float32))
    assert len(scans._scans) == 5
    assert scans.near(np.eye(9, dtype=np.float32)[0]) is None
    assert scans.near(2 * np.eye(9, dtype=np.float32)[8]) is not None
    scans.keep(np.ones(9, np.float32), np.zeros(10_000, np.float32))
    assert len(scans._scans) == 5
    scans.keep(np.zeros(9, np.float32), np.zeros(100, np.float32))
    assert len(scans._scans) == 5

"""What every reranker promises, and what query expansion does."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import InvalidInput
from lookalike.features.region_records import RegionRecord, pack_regions
from lookalike.index import INDEXES, RERANKERS, Hits, QueryExpansion, Reranker

FORMS = {"dense": np.asarray, "sparse": sp.csr_matrix}


def regions(seed):
    """Return a made-up record, of regions, since some rerankers look at them."""
    rng = np.random.default_rng(seed)
    words, places = rng.integers(0, 6, (9, 1)).astype(np.int32), 90 * rng.random((9, 2))
    shapes = np.tile(9 * np.eye(2), (9, 1, 1))
    return pack_regions(RegionRecord((99, 99), words, np.ones((9, 1)), places, shapes))


class BitQuery:
    """A query over an index of plain cosines; records are made up."""

    def __init__(self, index, vector):
        self.index = index
        self.vector = vector
        self.record = regions(0)

    def vectors(self, ids):
        return self.index.take(ids)

    def records(self, ids):
        return [regions(int(number)) for number in ids]

    def scores(self, vectors, ids):
        return self.index.scores(vectors, ids)


def asked_of(rng, form, n=40, d=6):
    """An index with gaps in its ids, and a query."""
    index = INDEXES.get(form)(d)
    index.add(FORMS[form](rng.standard_normal((n, d))), rng.permutation(3 * n)[:n])
    return BitQuery(index, FORMS[form](rng.standard_normal((1, d)).astype(np.float32)))


@pytest.fixture(params=RERANKERS.names)
def reranker(request):
    return RERANKERS.make(request.param)


@pytest.fixture(params=FORMS)
def query(request):
    return asked_of(np.random.default_rng(0), request.param)


def test_hits_stay_the_same_set_in_order(reranker, query):
    hits = query.index.search(query.vector, 30)
    found = reranker.rerank(query, hits)
    assert found.ids.shape == found.scores.shape == hits.ids.shape
    assert (found.ids.dtype, found.scores.dtype) == (np.int64, np.float32)
    assert sorted(found.ids[0]) == sorted(hits.ids[0])
    order = np.lexsort((found.ids[0], -found.scores[0]))
    assert order.tolist() == list(range(30))


def test_the_same_comes_out_again_and_nothing_given_is_changed(reranker, query):
    hits = query.index.search(query.vector, 20)
    select = hits.ids.copy(), hits.scores.copy()
    once, again = reranker.rerank(query, hits), reranker.rerank(query, hits)
    np.testing.assert_array_equal(once.ids, again.ids)
    np.testing.assert_array_equal(once.scores, again.scores)
    np.testing.assert_array_equal(hits.ids, select[0])
    np.testing.assert_array_equal(hits.scores, select[1])


def test_what_is_missing_stays_missing(reranker, query):
    hits = query.index.search(query.vector, 60)
    found = reranker.rerank(query, hits)
    assert (found.ids[0, 40:] == -1).all()
    assert np.isneginf(found.scores[0, 40:]).all()
    assert sorted(found.ids[0, :40]) == sorted(query.index.ids)


@pytest.mark.parametrize("k", [0, 1, 5])
def test_no_hits_are_no_trouble(reranker, query, k):
    nothing = Hits(np.full((1, k), -1, np.int64), np.full((1, k), -np.inf, np.float32))
    found = reranker.rerank(query, nothing)
    np.testing.assert_array_equal(found.ids, nothing.ids)
    np.testing.assert_array_equal(found.scores, nothing.scores)


def test_saved_it_does_the_same(reranker, query, tmp_path):
    reranker.save(tmp_path / "a", fingerprint="f")
    again = RERANKERS.load(tmp_path / "a")
    assert (type(again), again.fingerprint_) == (type(reranker), "f")
    assert vars(again) == {**vars(reranker), "fingerprint_": "f"}
    hits = query.index.search(query.vector, 20)
    np.testing.assert_array_equal(reranker.rerank(query, hits).ids, again.rerank(query, hits).ids)


def test_python_refuses_a_reranker_that_cannot():
    class Half(Reranker):
        name = "half"

    with pytest.raises(TypeError, match="rerank"):
        Half()


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(FORMS)), st.integers(1, 12))
def test_expansion_scores_by_the_mean_of_query_and_first_hits(seed, form, neighbours):
    rng = np.random.default_rng(seed)
    query = asked_of(rng, form, n=int(rng.integers(1, 15)))
    hits = query.index.search(query.vector, int(rng.integers(1, 15)))
    found = QueryExpansion(neighbours=neighbours).rerank(query, hits)

    def plain(vectors):
        return np.asarray(vectors.toarray() if sp.issparse(vectors) else vectors, np.float64)

    real = hits.ids[0][hits.ids[0] >= 0]
    first = plain(query.vectors(real[:neighbours]))
    mean = np.vstack([plain(query.vector), first]).mean(axis=0)
    select = found.ids[0][found.ids[0] >= 0]
    assert sorted(select) == sorted(real)
    expected = plain(query.vectors(select)) @ mean
    np.testing.assert_allclose(found.scores[0, : len(select)], expected, rtol=1e-4, atol=1e-5)


def test_expansion_brings_up_what_the_first_hits_are_like():
    index = INDEXES.get("dense")(3)
    index.add([[0.9, 0.43, 0], [0.88, 0.47, 0], [0.5, 0.86, 0], [0.55, 0, 0.83]])
    query = BitQuery(index, np.array([[1.0, 0, 0]], np.float32))
    hits = index.search(query.vector, 4)
    assert hits.ids.tolist() == [[0, 1, 3, 2]]
    assert QueryExpansion(neighbours=2).rerank(query, hits).ids.tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, None, "5"])
def test_bad_settings_are_refused(query, bad):
    with pytest.raises(InvalidInput, match="neighbours must be"):
        QueryExpansion(neighbours=bad).rerank(query, query.index.search(query.vector, 3))

"""What every reranker promises, and what query expansion does."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.checks.reranker import FORMS, PlainQuery, RerankerContract, plain_query, queries
from lookalike.core.errors import InvalidInput
from lookalike.index import INDEXES, RERANKERS, QueryExpansion, Reranker
from tests.contract import each, passes


@pytest.fixture(params=RERANKERS.names)
def reranker(request):
    return RERANKERS.make(request.param)


@each(RerankerContract)
def test_contract(reranker, rule):
    passes(rule, RerankerContract, reranker)


def test_python_refuses_a_reranker_that_cannot():
    class Half(Reranker):
        name = "half"

    with pytest.raises(TypeError, match="rerank"):
        Half()


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(FORMS)), st.integers(1, 12))
def test_expansion_scores_by_the_mean_of_query_and_first_hits(seed, form, neighbours):
    rng = np.random.default_rng(seed)
    query = plain_query(rng, form, n=int(rng.integers(1, 15)))
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
    query = PlainQuery(index, np.array([[1.0, 0, 0]], np.float32))
    hits = index.search(query.vector, 4)
    assert hits.ids.tolist() == [[0, 1, 3, 2]]
    assert QueryExpansion(neighbours=2).rerank(query, hits).ids.tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, None, "5"])
def test_bad_settings_are_refused(bad):
    query = next(queries())
    with pytest.raises(InvalidInput, match="neighbours must be"):
        QueryExpansion(neighbours=bad).rerank(query, query.index.search(query.vector, 3))

"""What every reranker must do."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.checks.contract import Contract, check_rules
from lookalike.features.region_records import RegionRecord, pack_regions
from lookalike.index import INDEXES, RERANKERS, Hits, Index, Reranker

FORMS: dict[str, Callable[[Any], Any]] = {"dense": np.asarray, "sparse": sp.csr_matrix}


def check_reranker(reranker: Reranker) -> None:
    """Raise AssertionError unless a reranker of ``RERANKERS`` does what every one must do."""
    check_rules(lambda: RerankerContract(reranker))


def _regions(seed: int) -> bytes:
    """Return a made-up record, of regions, since some rerankers look at them."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 6, (9, 1)).astype(np.int32)
    places = (90 * rng.random((9, 2))).astype(np.float32)
    shapes = np.tile(9 * np.eye(2, dtype=np.float32), (9, 1, 1))
    return pack_regions(RegionRecord((99, 99), words, np.ones((9, 1), np.float32), places, shapes))


class PlainQuery:
    """A query over an index of plain cosines; records are made up."""

    def __init__(self, index: Index, vector: Any) -> None:
        self.index = index
        self.vector = vector
        self.record = _regions(0)

    def vectors(self, ids: NDArray[np.int64]) -> Any:
        """Return the vectors of pictures."""
        return self.index.take(ids)

    def records(self, ids: NDArray[np.int64]) -> list[bytes]:
        """Return the records of pictures."""
        return [_regions(int(number)) for number in ids]

    def scores(self, vectors: Any, ids: NDArray[np.int64]) -> Any:
        """Return how alike pictures are to vectors."""
        return self.index.scores(vectors, ids)


def plain_query(rng: np.random.Generator, form: str, n: int = 40, d: int = 6) -> PlainQuery:
    """Return a query over an index with gaps in its ids."""
    index = INDEXES.get(form)(d)
    index.add(FORMS[form](rng.standard_normal((n, d))), rng.permutation(3 * n)[:n])
    return PlainQuery(index, FORMS[form](rng.standard_normal((1, d)).astype(np.float32)))


def queries() -> Iterator[PlainQuery]:
    """Return a query over dense and one over sparse vectors."""
    for form in FORMS:
        yield plain_query(np.random.default_rng(0), form)


class RerankerContract(Contract):
    """What every reranker must do."""

    def __init__(self, reranker: Reranker) -> None:
        self.reranker: Any = reranker

    def hits_stay_the_same_set_in_order(self) -> None:
        for query in queries():
            hits = query.index.search(query.vector, 30)
            result = self.reranker.rerank(query, hits)
            assert result.ids.shape == result.scores.shape == hits.ids.shape
            assert (result.ids.dtype, result.scores.dtype) == (np.int64, np.float32)
            assert sorted(result.ids[0]) == sorted(hits.ids[0])
            order = np.lexsort((result.ids[0], -result.scores[0]))
            assert order.tolist() == list(range(30))

    def the_same_comes_out_again_and_nothing_given_is_changed(self) -> None:
        for query in queries():
            hits = query.index.search(query.vector, 20)
            kept = hits.ids.copy(), hits.scores.copy()
            once, again = self.reranker.rerank(query, hits), self.reranker.rerank(query, hits)
            np.testing.assert_array_equal(once.ids, again.ids)
            np.testing.assert_array_equal(once.scores, again.scores)
            np.testing.assert_array_equal(hits.ids, kept[0])
            np.testing.assert_array_equal(hits.scores, kept[1])

    def what_is_missing_stays_missing(self) -> None:
        for query in queries():
            hits = query.index.search(query.vector, 60)
            result = self.reranker.rerank(query, hits)
            assert (result.ids[0, 40:] == -1).all()
            assert np.isneginf(result.scores[0, 40:]).all()
            assert sorted(result.ids[0, :40]) == sorted(query.index.ids)

    def no_hits_are_no_trouble(self) -> None:
        for query in queries():
            for k in (0, 1, 5):
                nothing = Hits(np.full((1, k), -1, np.int64), np.full((1, k), -np.inf, np.float32))
                result = self.reranker.rerank(query, nothing)
                np.testing.assert_array_equal(result.ids, nothing.ids)
                np.testing.assert_array_equal(result.scores, nothing.scores)

    def saved_it_does_the_same(self) -> None:
        for query in queries():
            self.reranker.save(self.folder / "a", fingerprint="f")
            again = RERANKERS.load(self.folder / "a")
            assert (type(again), again.fingerprint_) == (type(self.reranker), "f")
            assert vars(again) == {**vars(self.reranker), "fingerprint_": "f"}
            hits = query.index.search(query.vector, 20)
            np.testing.assert_array_equal(
                self.reranker.rerank(query, hits).ids, again.rerank(query, hits).ids
            )

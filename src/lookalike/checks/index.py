"""What every index must do."""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.checks.contract import Contract, check_rules, refused
from lookalike.core.errors import FingerprintMismatch, InvalidInput
from lookalike.core.vectors import dense
from lookalike.index import Index

REFUSED: tuple[tuple[Any, Any], ...] = (
    ([[1.0, 2.0]], None),
    ([[1.0, 2.0, 3.0, 4.0]], None),
    ([[[1.0, 2.0, 3.0]]], None),
    ([[1.0, np.nan, 3.0]], None),
    ([[1.0, np.inf, 3.0]], None),
    ([[1.0, 1e39, 3.0]], None),
    ([["a", "b", "c"]], None),
    (np.eye(3), [1, 2]),
    (np.eye(3), [5, 6, 5]),
    (np.eye(3), [5, 6, 0]),
    (np.eye(3), [5, 6, -1]),
    (np.eye(3), [5, 6, 2**63 - 1]),
    (np.eye(3), np.array([5, 6, 2**63], np.uint64)),
    (np.eye(3), [5.0, 6.0, 7.0]),
    (np.eye(3), [True, False, True]),
    (np.eye(3), [[5, 6, 7]]),
)
"""Vectors and ids that no index of three numbers takes."""


def check_index(
    make: type[Index],
    stored: Callable[[Any], Any] = np.asarray,
    queries: Callable[[Any], Any] = np.asarray,
) -> None:
    """Raise AssertionError unless an index does what every one must do.

    Parameters
    ----------
    make : class of indexes
        Called with a dimension.
    stored, asked : callable
        Make vectors to add, and vectors to search with, of an array:
        ``scipy.sparse.csr_matrix``, if they are sparse.
    """
    check_rules(lambda: IndexContract(make, stored, queries))


class SlowIndex:
    """A dictionary: every score by a plain sum, every answer by a full sort."""

    def __init__(self) -> None:
        self.vectors: dict[int, Any] = {}
        self.scales: dict[int, Any] = {}
        self.next_id = 0

    def add(self, vectors: Any, ids: Any = None, scales: Any = None) -> list[int]:
        """Add vectors; return their ids."""
        names = list(range(self.next_id, self.next_id + len(vectors))) if ids is None else ids
        factors = np.ones(len(vectors), np.float32) if scales is None else scales
        for name, vector, factor in zip(names, vectors, factors, strict=True):
            self.vectors[name] = vector
            self.scales[name] = factor
            self.next_id = max(self.next_id, name + 1)
        return list(names)

    def remove(self, ids: Iterable[int]) -> None:
        """Remove vectors."""
        for name in ids:
            del self.vectors[name]
            del self.scales[name]

    def search(self, query: Any, k: int, exclude: Sequence[int] = ()) -> list[tuple[int, Any]]:
        """Return the ids and scores of the best."""
        scored = []
        for name, vector in self.vectors.items():
            if name not in exclude:
                total = 0.0
                for a, b in zip(query, vector, strict=True):
                    total += float(a) * float(b)
                scored.append((-np.float32(total * float(self.scales[name])), name))
        scored.sort()
        best: list[tuple[int, Any]] = [(name, -score) for score, name in scored[:k]]
        return best + [(-1, -np.inf)] * (k - len(best))


def _numbers(vectors: Any) -> Any:
    is_sparse: bool = sp.issparse(vectors)
    return vectors.data if is_sparse else vectors


def some(rng: np.random.Generator, n: int, d: int = 5) -> NDArray[np.float32]:
    """Return small whole numbers with many zeros, so that sums are exact and ties abound."""
    return (rng.integers(-2, 3, (n, d)) * (rng.random((n, d)) < 0.6)).astype(np.float32)


def agree(
    index: Index,
    slow: SlowIndex,
    queries: Any,
    query_vectors: Callable[[Any], Any],
    k: int,
    exclude: Any = None,
    among: Any = None,
) -> None:
    """Raise AssertionError unless an index and its slow twin return the same."""
    hits = index.search(query_vectors(queries), k, exclude=exclude, among=among)
    assert hits.ids.dtype == np.int64
    assert hits.scores.dtype == np.float32
    assert hits.ids.shape == hits.scores.shape == (len(queries), k)
    for row, query in enumerate(queries):
        left_out = [] if exclude is None else np.atleast_1d(exclude[row]).tolist()
        if among is not None:
            left_out += sorted(set(slow.vectors).difference(np.asarray(among).tolist()))
        expected = slow.search(query, k, left_out)
        assert list(zip(hits.ids[row].tolist(), hits.scores[row].tolist(), strict=True)) == expected


class IndexContract(Contract):
    """What every index must do."""

    def __init__(
        self, make: type[Index], stored: Callable[[Any], Any], queries: Callable[[Any], Any]
    ) -> None:
        self.make: Any = make
        self.stored, self.asked = stored, queries

    def removed_saved_reopened_added_searched(self) -> None:
        index = self.make(3)
        index.add(self.stored(np.eye(3)))
        index.remove([2, 0])
        index.save(self.folder / "a")
        index = self.make.open(self.folder / "a")
        assert index.ids.tolist() == [1]
        assert index.add(self.stored(np.eye(3)[:1])).tolist() == [3]
        hits = index.search(self.asked(np.eye(3)), 3)
        assert hits.ids.tolist() == [[3, 1, -1], [1, 3, -1], [1, 3, -1]]
        index.remove([1, 3])
        index.save(self.folder / "a")
        assert self.make.open(self.folder / "a").add(self.stored(np.eye(3))).tolist() == [4, 5, 6]

    def ids_given_are_kept_and_fresh_ones_go_above(self) -> None:
        index = self.make(2)
        index.add(self.stored(np.eye(2)), [70, 3])
        assert index.add(self.stored(np.eye(2))).tolist() == [71, 72]
        index.remove(72)
        assert index.add(self.stored(np.eye(2)[:1])).tolist() == [73]
        index.add(self.stored(np.eye(2)[:1]), [72])
        assert index.ids.tolist() == [70, 3, 71, 73, 72]
        index.add(self.stored(np.eye(2)[:1]), [5])
        assert index.add(self.stored(np.eye(2)[:1])).tolist() == [74]
        np.testing.assert_array_equal(dense(index.take([3])).ravel(), [0, 1])
        with refused(InvalidInput, "no picture with the id 6"):
            index.take([6])

    def ties_go_by_id_not_by_place(self) -> None:
        index = self.make(4)
        index.add(self.stored(np.ones((50, 4))), np.arange(50)[::-1])
        hits = index.search(self.asked(np.ones((1, 4))), 7)
        assert hits.ids.tolist() == [list(range(7))]

    def what_was_given_out_stays_as_it_was(self) -> None:
        index = self.make(3)
        index.add(self.stored(np.arange(12.0).reshape(4, 3)))
        ids, vectors, scales = index.ids, index.vectors, index.scales
        before = dense(vectors).copy()
        index.remove([0, 2])
        index.set_scales([4.0, 5.0])
        index.add(self.stored(np.full((3, 3), 7.0)))
        assert ids.tolist() == [0, 1, 2, 3]
        assert scales.tolist() == [1.0] * 4
        np.testing.assert_array_equal(dense(vectors), before)
        assert index.ids.tolist() == [1, 3, 4, 5, 6]

    def exclude(self) -> None:
        rng = np.random.default_rng(1)
        vectors, queries = some(rng, 30), some(rng, 4)
        index, slow = self.make(5), SlowIndex()
        index.add(self.stored(vectors))
        slow.add(dense(self.stored(vectors)))
        agree(index, slow, queries, self.asked, 5, exclude=[3, -1, 7, 99])
        agree(index, slow, queries, self.asked, 30, exclude=rng.integers(-1, 30, (4, 6)))
        agree(index, slow, queries[:1], self.asked, 30, exclude=[[1, 2, 3]])
        hits = index.search(self.asked(queries[:1]), 2, exclude=[1, 2, 3])
        assert not np.isin([1, 2, 3], hits.ids).any()
        for bad in ([1, 2], [[1], [2]], [0.5] * 4, np.zeros((4, 1, 1), int)):
            with refused(InvalidInput, "exclude"):
                index.search(self.asked(queries), exclude=bad)

    def among_whatever_is_named(self) -> None:
        rng = np.random.default_rng(3)
        vectors, query = some(rng, 30), some(rng, 1)
        index, slow = self.make(5), SlowIndex()
        hits = index.search(self.asked(query), 3, among=[1, 2])
        assert hits.ids.tolist() == [[-1, -1, -1]]
        index.add(self.stored(vectors))
        slow.add(dense(self.stored(vectors)))
        scales = rng.integers(-1, 3, 30).astype(np.float32)
        index.set_scales(scales)
        slow.scales = dict(enumerate(scales))
        for among in (
            [],
            np.zeros(0, np.int64),
            [7],
            [7, 7, 3, 3, 7],
            [-1, 99, 2**62],
            [-1, 4, 99, 29, 0],
            list(range(5, 30)),
            np.array([2**64 - 1, 5], np.uint64),
            np.array([6, 2], np.int8),
            range(30),
        ):
            for k in (1, 4, 40):
                agree(index, slow, query, self.asked, k, among=among)
                agree(index, slow, query, self.asked, k, exclude=[[7, 4, -1]], among=among)
        for bad in ([0.5], [[1, 2]], 3, ["a"], [True, False], [None]):
            with refused(InvalidInput, f"{self.make.__name__}: among must be"):
                index.search(self.asked(query), among=bad)

    def scales_multiply_scores(self) -> None:
        index = self.make(2)
        index.add(self.stored([[1.0, 0.0], [1.0, 1.0]]))
        index.set_scales([5.0, 0.5])
        hits = index.search(self.asked([[1.0, 1.0]]), 2)
        assert (hits.ids.tolist(), hits.scores.tolist()) == ([[0, 1]], [[5.0, 1.0]])
        index.add(self.stored([[0.0, 1.0]]))
        assert index.scales.tolist() == [5.0, 0.5, 1.0]
        index.set_scales(None)
        assert index.search(self.asked([[1.0, 1.0]]), 1).ids.tolist() == [[1]]
        for bad in ([1.0], [1.0, np.nan, 1.0], [1e300] * 3, ["a", "b", "c"], np.ones((3, 1))):
            with refused(InvalidInput, "scales"):
                index.set_scales(bad)
        assert index.scales.tolist() == [1.0, 1.0, 1.0]

    def empty_index_and_empty_batches(self) -> None:
        index = self.make(3)
        index.save(self.folder / "a")
        index = self.make.open(self.folder / "a")
        hits = index.search(self.asked(np.ones((2, 3))), 2)
        assert hits.ids.tolist() == [[-1, -1]] * 2
        assert np.isneginf(hits.scores).all()
        assert index.add(self.stored(np.zeros((0, 3)))).tolist() == []
        index.add(self.stored(np.zeros((2, 3))))
        assert index.search(self.asked(np.zeros((0, 3))), 4).ids.shape == (0, 4)
        assert index.search(self.asked(np.zeros((1, 3))), 4).ids.tolist() == [[0, 1, -1, -1]]
        index.remove([])
        index.remove([0, 1, 1])
        assert len(index) == 0

    def a_refused_add_changes_nothing(self) -> None:
        for vectors, ids in REFUSED:
            index = self.make(3)
            index.add(self.stored(np.eye(3)[:1]))
            try:
                given_vectors = self.stored(vectors)
            except (ValueError, TypeError):
                given_vectors = vectors
            with refused(InvalidInput, self.make.__name__):
                index.add(given_vectors, ids)
            assert index.ids.tolist() == [0]
            assert index.add(self.stored(np.eye(3))).tolist() == [1, 2, 3]

    def a_refused_remove_changes_nothing(self) -> None:
        index = self.make(3)
        index.add(self.stored(np.eye(3)))
        for bad in ([0, 3], [0, -1], [0.0], ["a"], [[0]]):
            with refused(InvalidInput):
                index.remove(bad)
        with refused(InvalidInput, "id 10, 11, 12, 13, 14 and 3 more; nothing was"):
            index.remove([0, *range(10, 18)])
        assert index.ids.tolist() == [0, 1, 2]

    def bad_k_and_dimension(self) -> None:
        for bad in (0, -1, 1.5, "2", True, None):
            with refused(InvalidInput, "k must be"):
                self.make(3).search(self.asked(np.ones((1, 3))), bad)
            with refused(InvalidInput, "dimension must be"):
                self.make(bad)

    def bad_queries(self) -> None:
        index = self.make(3)
        index.add(self.stored(np.eye(3)))
        for bad in ([[1.0, 2.0]], [[1.0, 2.0, np.nan]], [[1.0, 2.0, np.inf]]):
            with refused(InvalidInput):
                index.search(self.asked(bad))

    def no_fresh_ids_beyond_the_last(self) -> None:
        index = self.make(2)
        index.add(self.stored(np.eye(2)), [2**63 - 2, 0])
        with refused(InvalidInput, "no new ids above"):
            index.add(self.stored(np.eye(2)))
        index.add(self.stored(np.eye(2)), [1, 2])

    def fingerprints_never_meet(self) -> None:
        index = self.make(2, fingerprint="abc")
        index.add(self.stored(np.eye(2)), fingerprint="abc")
        for wrong in ("abd", ""):
            with refused(FingerprintMismatch, self.make.__name__):
                index.add(self.stored(np.eye(2)), fingerprint=wrong)
            with refused(FingerprintMismatch):
                index.search(self.asked(np.eye(2)), fingerprint=wrong)
        assert len(index) == 2

    def nothing_given_out_or_taken_in_can_change_the_index(self) -> None:
        index = self.make(2)
        vectors, ids, scales = (
            self.stored(np.eye(2, dtype=np.float32)),
            np.array([4, 5]),
            np.ones(2),
        )
        queries = self.asked(np.ones((1, 2), np.float32))
        index.add(vectors, ids)
        index.set_scales(scales)
        values = _numbers(vectors)
        values[:] = 9
        ids[:] = 9
        scales[:] = 9
        hits = index.search(queries, 2)
        assert (hits.ids.tolist(), hits.scores.tolist()) == ([[4, 5]], [[1.0, 1.0]])
        for array in (index.ids, index.scales, _numbers(index.vectors)):
            with refused(ValueError, "read-only"):
                array[0] = 3

    def searches_see_the_index_whole_while_another_thread_changes_it(self) -> None:
        index = self.make(4)
        index.add(self.stored(np.ones((10, 4))), np.arange(10))
        stop = threading.Event()
        wrong = []

        def read() -> None:
            while not stop.is_set():
                hits = index.search(self.asked(np.ones((1, 4))), 40)
                result = hits.ids[hits.ids >= 0]
                if len(result) % 10 or not (hits.scores[hits.ids >= 0] == 4.0).all():
                    wrong.append(hits)

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for turn in range(60):
            names = np.arange(10) + 10 * (1 + turn % 3)
            index.add(self.stored(np.ones((10, 4))), names)
            index.remove(names)
        stop.set()
        for reader in readers:
            reader.join()
        assert not wrong

    def take_and_scores_refuse_what_is_not_there(self) -> None:
        index = self.make(2)
        for names in ([], [4, 7], [4, 7, 5]):
            index.add(self.stored(np.ones((len(names) - len(index), 2))), names[len(index) :])
            assert index.take([]).shape == (0, 2)
            for call in (
                index.take,
                lambda ids, index=index: index.scores(self.asked(np.eye(2)), ids),
            ):
                for bad, answer in (([4, 6], "6"), ([99, 0], "99, 0"), (9, "9")):
                    if 4 in names or answer != "6":
                        with refused(InvalidInput, f"no picture with the id {answer}"):
                            call(bad)
                with refused(InvalidInput, "ids must be"):
                    call([0.5])
        assert dense(index.take([5, 5, 4])).tolist() == np.ones((3, 2)).tolist()

    def a_copy_and_what_it_was_made_of_change_apart(self) -> None:
        index = self.make(2, fingerprint="f")
        for number in range(5):
            index.add(self.stored(np.full((1, 2), number)))
        twin = index.copy()
        assert type(twin) is self.make
        twin.add(self.stored(np.full((1, 2), 70)))
        index.add(self.stored(np.full((1, 2), 80)))
        twin.add(self.stored(np.full((1, 2), 71)))
        index.remove([0])
        twin.set_scales(np.full(7, 2))
        ours, theirs = (
            dense(self.stored(np.array([numbers, numbers]).T))
            for numbers in ([1, 2, 3, 4, 80], [0, 1, 2, 3, 4, 70, 71])
        )
        assert dense(index.vectors).tolist() == ours.tolist()
        assert dense(twin.vectors).tolist() == theirs.tolist()
        assert index.scales.tolist() == [1] * 5
        assert (twin.fingerprint, twin.dimension) == ("f", 2)
        twin.save(self.folder / "a")
        best = self.make.open(self.folder / "a").search(self.asked(np.ones((1, 2))), 1).scores
        assert best.tolist() == [[2 * theirs.sum(axis=1).max()]]

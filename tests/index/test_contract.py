"""What every index promises, whichever kind it is."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, FingerprintMismatch, InvalidInput
from lookalike.index import (
    INDEXES,
    BitIndex,
    DenseIndex,
    ExactIndex,
    Index,
    MappedIndex,
    SparseIndex,
)
from lookalike.index.checked_rows import seal
from lookalike.index.exact import Rows
from tests.reference.index import SlowIndex


class PlainRows(Rows):
    """An array, multiplied with the whole of it: all that an exact index has to say."""

    vectors = None

    def __init__(self, vectors):
        self.vectors = vectors.view()
        self.vectors.flags.writeable = False

    @classmethod
    def of(cls, vectors):
        return cls(vectors.copy())

    def extended(self, new):
        return type(self)(np.vstack([self.vectors, new]))

    def select(self, mask):
        return type(self)(self.vectors[mask])

    def products(self, queries, places):
        return queries.astype(np.float64) @ self.vectors[places].T.astype(np.float64)

    def arrays(self):
        return {"vectors": self.vectors}

    @classmethod
    def stored(cls, arrays, count, dimension):
        if arrays["vectors"].shape != (count, dimension) or arrays["vectors"].dtype != np.float32:
            raise InvalidInput("the vectors do not fit")
        return arrays["vectors"]


class BruteForce(ExactIndex):
    """An index of somebody's own."""

    name = "brute_force"
    rows = PlainRows


def as_bits(vectors):
    """What is above 0; what is no finite matrix of numbers is an error."""
    with np.errstate(over="ignore"):
        array = np.asarray(vectors, np.float32)
    if not np.isfinite(array).all():
        raise ValueError("not finite")
    return (array > 0).astype(np.float32)


KINDS = {
    "dense": (INDEXES.get("dense"), np.asarray, np.asarray),
    "mapped": (INDEXES.get("mapped"), np.asarray, np.asarray),
    "sparse": (INDEXES.get("sparse"), sp.csr_matrix, sp.csr_matrix),
    "sparse, asked densely": (INDEXES.get("sparse"), sp.csr_matrix, np.asarray),
    "bits": (INDEXES.get("bits"), as_bits, np.asarray),
    "one of somebody's own": (BruteForce, np.asarray, np.asarray),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def dense(vectors):
    return vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)


def some(rng, n, d=5):
    """Small whole numbers with many zeros, so that sums are exact and ties abound."""
    return (rng.integers(-2, 3, (n, d)) * (rng.random((n, d)) < 0.6)).astype(np.float32)


def agree(index, slow, queries, asked, k, exclude=None, among=None):
    hits = index.search(asked(queries), k, exclude=exclude, among=among)
    assert hits.ids.dtype == np.int64
    assert hits.scores.dtype == np.float32
    assert hits.ids.shape == hits.scores.shape == (len(queries), k)
    for row, query in enumerate(queries):
        left_out = [] if exclude is None else np.atleast_1d(exclude[row]).tolist()
        if among is not None:
            left_out += set(slow.vectors).difference(np.asarray(among).tolist())
        expected = slow.search(query, k, left_out)
        assert list(zip(hits.ids[row].tolist(), hits.scores[row].tolist(), strict=True)) == expected


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(KINDS)), st.data())
def test_any_sequence_equals_the_slow_twin(tmp_path_factory, seed, name, data):
    rng = np.random.default_rng(seed)
    make, stored, asked = KINDS[name]
    index, slow = make(5, fingerprint="f"), SlowIndex()
    path = tmp_path_factory.getbasetemp() / "sequence.index"
    steps = st.sampled_from(["add", "name", "remove", "scale", "reopen", "copy", "search"])
    for step in data.draw(st.lists(steps, min_size=1, max_size=14)):
        if step == "add":
            vectors = stored(some(rng, rng.integers(0, 6)))
            assert index.add(vectors).tolist() == slow.add(dense(vectors))
        elif step == "name":
            free = np.setdiff1d(rng.permutation(40), list(slow.vectors))
            names = rng.permutation(free)[:3].tolist()
            vectors = stored(some(rng, len(names)))
            scales = rng.integers(-1, 3, len(names)).astype(np.float32)
            index.add(vectors, names, scales=scales)
            slow.add(dense(vectors), names, scales)
        elif step == "remove":
            gone = [number for number in slow.vectors if rng.random() < 0.4]
            index.remove(gone)
            slow.remove(gone)
        elif step == "scale":
            scales = rng.integers(0, 3, len(index)).astype(np.float32)
            index.set_scales(scales)
            slow.scales = dict(zip(index.ids.tolist(), scales, strict=True))
        elif step == "reopen":
            index.save(path)
            index = make.open(path)
        elif step == "copy":
            index = index.copy()
        agree(index, slow, some(rng, 2), asked, int(rng.integers(1, 9)))
        among = rng.integers(-2, 45, rng.integers(0, 60))
        exclude = rng.integers(-1, 40, (2, 3))
        agree(index, slow, some(rng, 2), asked, int(rng.integers(1, 9)), exclude, among)
        assert len(index) == len(slow.vectors)
        assert index.ids.tolist() == list(slow.vectors)
        assert dense(index.vectors).tolist() == [v.tolist() for v in slow.vectors.values()]
        named = rng.permutation(index.ids.copy())[: rng.integers(0, 6)]
        assert dense(index.take(named)).tolist() == [slow.vectors[n].tolist() for n in named]
        assert index.scales.tolist() == list(slow.scales.values())
        assert index.fingerprint == "f"


def test_removed_saved_reopened_added_searched(kind, tmp_path):
    make, stored, asked = kind
    index = make(3)
    index.add(stored(np.eye(3)))
    index.remove([2, 0])
    index.save(tmp_path / "a")
    index = make.open(tmp_path / "a")
    assert index.ids.tolist() == [1]
    assert index.add(stored(np.eye(3)[:1])).tolist() == [3]
    hits = index.search(asked(np.eye(3)), 3)
    assert hits.ids.tolist() == [[3, 1, -1], [1, 3, -1], [1, 3, -1]]
    index.remove([1, 3])
    index.save(tmp_path / "a")
    assert make.open(tmp_path / "a").add(stored(np.eye(3))).tolist() == [4, 5, 6]


def test_ids_given_are_kept_and_fresh_ones_go_above(kind):
    make, stored, _ = kind
    index = make(2)
    index.add(stored(np.eye(2)), [70, 3])
    assert index.add(stored(np.eye(2))).tolist() == [71, 72]
    index.remove(72)
    assert index.add(stored(np.eye(2)[:1])).tolist() == [73]
    index.add(stored(np.eye(2)[:1]), [72])
    assert index.ids.tolist() == [70, 3, 71, 73, 72]
    index.add(stored(np.eye(2)[:1]), [5])
    assert index.add(stored(np.eye(2)[:1])).tolist() == [74]
    np.testing.assert_array_equal(dense(index.take([3])).ravel(), [0, 1])
    with pytest.raises(InvalidInput, match="no picture with the id 6"):
        index.take([6])


def test_ties_go_by_id_not_by_place(kind):
    make, stored, asked = kind
    index = make(4)
    index.add(stored(np.ones((50, 4))), np.arange(50)[::-1])
    hits = index.search(asked(np.ones((1, 4))), 7)
    assert hits.ids.tolist() == [list(range(7))]


@pytest.mark.parametrize("name", KINDS)
def test_equal_vectors_tie_whatever_the_batch_and_block(name, monkeypatch):
    make, stored, asked = KINDS[name]
    monkeypatch.setattr("lookalike.index.dense._PRODUCTS", 700)
    monkeypatch.setattr("lookalike.index.dense._QUERIES", 16)
    rng = np.random.default_rng(0)
    vectors = np.repeat(rng.standard_normal((90, 37)).astype(np.float32), 3, axis=0)
    order = rng.permutation(270)
    index = make(37)
    index.add(stored(vectors[order]), order)
    queries = rng.standard_normal((40, 37)).astype(np.float32)
    held = dense(stored(vectors)).astype(np.float64)
    exact = (queries.astype(np.float64) @ held.T).astype(np.float32)
    expected = np.argsort(-exact, axis=1, kind="stable")
    for k in (1, 7, 8, 28, 29, 270):
        hits = index.search(asked(queries), k)
        np.testing.assert_array_equal(hits.ids, expected[:, :k])
        np.testing.assert_array_equal(hits.scores, np.take_along_axis(exact, hits.ids, 1))
        alone = index.search(asked(queries[3:4]), k)
        np.testing.assert_array_equal(alone.ids[0], hits.ids[3])
        np.testing.assert_array_equal(alone.scores[0], hits.scores[3])


@pytest.mark.parametrize(
    ("items", "asking"),
    [
        (-38, 0),
        (-19, -19),
        (-20, -18),
        (-22, -21),
        (-22, -22),
        (-30, 0),
        (-45, 0),
        (0, 0),
        (18, 18),
        (19, 19),
        (37, 0),
    ],
)
def test_tiny_and_huge_vectors_are_ranked_exactly(kind, items, asking):
    make, stored, asked = kind
    rng = np.random.default_rng(0)
    with np.errstate(under="ignore"):
        vectors = (rng.standard_normal((300, 8)) * 10.0**items).astype(np.float32)
        queries = (rng.standard_normal((5, 8)) * 10.0**asking).astype(np.float32)
    index = make(8)
    index.add(stored(vectors))
    products = queries.astype(np.float64) @ dense(stored(vectors)).T.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        exact = products.astype(np.float32)
    hits = index.search(asked(queries), 40)
    np.testing.assert_array_equal(hits.scores, -np.sort(-exact, axis=1)[:, :40])
    np.testing.assert_array_equal(hits.ids, np.argsort(-exact, axis=1, kind="stable")[:, :40])


def test_a_sum_that_overflows_on_the_way_is_not_lost(kind):
    make, stored, asked = kind
    if make is BitIndex:
        pytest.skip("a sum of finite numbers times 0 or 1 does not overflow on the way")
    index = make(3)
    index.add(stored(np.tile([-0.8e38, 0.0, -0.8e38], (20, 1))))
    index.add(stored([[-2e38, 3e38, 0.0], [0.0, 3e38, -2e38]]))
    hits = index.search(asked([[2.0, 1.0, 2.0]]), 2)
    assert hits.ids.tolist() == [[20, 21]]
    np.testing.assert_allclose(hits.scores, [[-1e38, -1e38]], rtol=1e-6)


def test_what_was_given_out_stays_as_it_was(kind):
    make, stored, _ = kind
    index = make(3)
    index.add(stored(np.arange(12.0).reshape(4, 3)))
    ids, vectors, scales = index.ids, index.vectors, index.scales
    before = dense(vectors).copy()
    index.remove([0, 2])
    index.set_scales([4.0, 5.0])
    index.add(stored(np.full((3, 3), 7.0)))
    assert ids.tolist() == [0, 1, 2, 3]
    assert scales.tolist() == [1.0] * 4
    np.testing.assert_array_equal(dense(vectors), before)
    assert index.ids.tolist() == [1, 3, 4, 5, 6]


def test_exclude(kind):
    make, stored, asked = kind
    rng = np.random.default_rng(1)
    vectors, queries = some(rng, 30), some(rng, 4)
    index, slow = make(5), SlowIndex()
    index.add(stored(vectors))
    slow.add(dense(stored(vectors)))
    agree(index, slow, queries, asked, 5, exclude=[3, -1, 7, 99])
    agree(index, slow, queries, asked, 30, exclude=rng.integers(-1, 30, (4, 6)))
    agree(index, slow, queries[:1], asked, 30, exclude=[[1, 2, 3]])
    hits = index.search(asked(queries[:1]), 2, exclude=[1, 2, 3])
    assert not np.isin([1, 2, 3], hits.ids).any()
    for bad in ([1, 2], [[1], [2]], [0.5] * 4, np.zeros((4, 1, 1), int)):
        with pytest.raises(InvalidInput, match="exclude"):
            index.search(asked(queries), exclude=bad)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("share", [0.05, 0.3, 0.7, 1.0])
def test_among_is_a_filter_of_the_whole_ranking(name, share, monkeypatch):
    make, stored, asked = KINDS[name]
    monkeypatch.setattr("lookalike.index.dense._GATHERED", 100)
    monkeypatch.setattr("lookalike.index.dense._PRODUCTS", 700)
    monkeypatch.setattr("lookalike.index.dense._QUERIES", 16)
    monkeypatch.setattr("lookalike.index.sparse._TAIL", 30)
    rng = np.random.default_rng(2)
    names = rng.permutation(1000)[:300]
    index = make(9)
    for place in range(0, 300, 60):
        index.add(stored(rng.standard_normal((60, 9))), names[place : place + 60])
    index.set_scales(rng.uniform(-1, 2, 300))
    queries = rng.standard_normal((20, 9)).astype(np.float32)
    exclude = rng.permutation(names)[:40].reshape(20, 2)
    among = rng.permutation(names)[: int(300 * share)]
    whole = index.search(asked(queries), 300, exclude=exclude)
    hits = index.search(asked(queries), 25, exclude=exclude, among=among)
    for row in range(20):
        select = np.isin(whole.ids[row], among)
        count = min(25, int(select.sum()))
        np.testing.assert_array_equal(hits.ids[row, :count], whole.ids[row, select][:25])
        np.testing.assert_array_equal(hits.scores[row, :count], whole.scores[row, select][:25])
        assert (hits.ids[row, count:] == -1).all()
        assert np.isneginf(hits.scores[row, count:]).all()


def test_among_whatever_is_named(kind):
    make, stored, asked = kind
    rng = np.random.default_rng(3)
    vectors, query = some(rng, 30), some(rng, 1)
    index, slow = make(5), SlowIndex()
    hits = index.search(asked(query), 3, among=[1, 2])
    assert hits.ids.tolist() == [[-1, -1, -1]]
    index.add(stored(vectors))
    slow.add(dense(stored(vectors)))
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
            agree(index, slow, query, asked, k, among=among)
            agree(index, slow, query, asked, k, exclude=[[7, 4, -1]], among=among)
    for bad in ([0.5], [[1, 2]], 3, ["a"], [True, False], [None]):
        with pytest.raises(InvalidInput, match=f"{make.__name__}: among must be"):
            index.search(asked(query), among=bad)


def test_scales_multiply_scores(kind):
    make, stored, asked = kind
    index = make(2)
    index.add(stored([[1.0, 0.0], [1.0, 1.0]]))
    index.set_scales([5.0, 0.5])
    hits = index.search(asked([[1.0, 1.0]]), 2)
    assert (hits.ids.tolist(), hits.scores.tolist()) == ([[0, 1]], [[5.0, 1.0]])
    index.add(stored([[0.0, 1.0]]))
    assert index.scales.tolist() == [5.0, 0.5, 1.0]
    index.set_scales(None)
    assert index.search(asked([[1.0, 1.0]]), 1).ids.tolist() == [[1]]
    for bad in ([1.0], [1.0, np.nan, 1.0], [1e300] * 3, ["a", "b", "c"], np.ones((3, 1))):
        with pytest.raises(InvalidInput, match="scales"):
            index.set_scales(bad)
    assert index.scales.tolist() == [1.0, 1.0, 1.0]


def test_one_vector_is_a_batch_of_one():
    for make in (DenseIndex, SparseIndex, BruteForce):
        index = make(2)
        assert index.add([3.0, 4.0]).tolist() == [0]
        hits = index.search([1.0, 0.0], 1)
        assert (hits.ids.tolist(), hits.scores.tolist()) == ([[0]], [[3.0]])


def test_empty_index_and_empty_batches(kind, tmp_path):
    make, stored, asked = kind
    index = make(3)
    index.save(tmp_path / "a")
    index = make.open(tmp_path / "a")
    hits = index.search(asked(np.ones((2, 3))), 2)
    assert hits.ids.tolist() == [[-1, -1]] * 2
    assert np.isneginf(hits.scores).all()
    assert index.add(stored(np.zeros((0, 3)))).tolist() == []
    index.add(stored(np.zeros((2, 3))))
    assert index.search(asked(np.zeros((0, 3))), 4).ids.shape == (0, 4)
    assert index.search(asked(np.zeros((1, 3))), 4).ids.tolist() == [[0, 1, -1, -1]]
    index.remove([])
    index.remove([0, 1, 1])
    assert len(index) == 0


@pytest.mark.parametrize(
    ("vectors", "ids"),
    [
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
    ],
)
def test_a_refused_add_changes_nothing(kind, vectors, ids):
    make, stored, _ = kind
    index = make(3)
    index.add(stored(np.eye(3)[:1]))
    try:
        given_vectors = stored(vectors)
    except (ValueError, TypeError):
        given_vectors = vectors
    with pytest.raises(InvalidInput, match=make.__name__):
        index.add(given_vectors, ids)
    assert index.ids.tolist() == [0]
    assert index.add(stored(np.eye(3))).tolist() == [1, 2, 3]


def test_a_refused_remove_changes_nothing(kind):
    make, stored, _ = kind
    index = make(3)
    index.add(stored(np.eye(3)))
    for bad in ([0, 3], [0, -1], [0.0], ["a"], [[0]]):
        with pytest.raises(InvalidInput):
            index.remove(bad)
    with pytest.raises(InvalidInput, match="id 10, 11, 12, 13, 14 and 3 more; nothing was"):
        index.remove([0, *range(10, 18)])
    assert index.ids.tolist() == [0, 1, 2]


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", True, None])
def test_bad_k_and_dimension(kind, bad):
    make, _, asked = kind
    with pytest.raises(InvalidInput, match="k must be"):
        make(3).search(asked(np.ones((1, 3))), bad)
    with pytest.raises(InvalidInput, match="dimension must be"):
        make(bad)


def test_bad_queries(kind):
    make, stored, asked = kind
    index = make(3)
    index.add(stored(np.eye(3)))
    for bad in ([[1.0, 2.0]], [[1.0, 2.0, np.nan]], [[1.0, 2.0, np.inf]]):
        with pytest.raises(InvalidInput):
            index.search(asked(bad))


def test_no_fresh_ids_beyond_the_last(kind):
    make, stored, _ = kind
    index = make(2)
    index.add(stored(np.eye(2)), [2**63 - 2, 0])
    with pytest.raises(InvalidInput, match="no new ids above"):
        index.add(stored(np.eye(2)))
    index.add(stored(np.eye(2)), [1, 2])


def test_fingerprints_never_meet(kind):
    make, stored, asked = kind
    index = make(2, fingerprint="abc")
    index.add(stored(np.eye(2)), fingerprint="abc")
    for wrong in ("abd", ""):
        with pytest.raises(FingerprintMismatch, match=make.__name__):
            index.add(stored(np.eye(2)), fingerprint=wrong)
        with pytest.raises(FingerprintMismatch):
            index.search(asked(np.eye(2)), fingerprint=wrong)
    assert len(index) == 2


def test_nothing_given_out_or_taken_in_can_change_the_index(kind):
    make, stored, asked = kind
    index = make(2)
    vectors, ids, scales = stored(np.eye(2, dtype=np.float32)), np.array([4, 5]), np.ones(2)
    queries = asked(np.ones((1, 2), np.float32))
    index.add(vectors, ids)
    index.set_scales(scales)
    values = vectors.data if sp.issparse(vectors) else vectors
    values[:] = 9
    ids[:] = 9
    scales[:] = 9
    hits = index.search(queries, 2)
    assert (hits.ids.tolist(), hits.scores.tolist()) == ([[4, 5]], [[1.0, 1.0]])
    shown = index.vectors
    for array in (index.ids, index.scales, shown.data if sp.issparse(shown) else shown):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3


def test_searches_see_the_index_whole_while_another_thread_changes_it(kind):
    make, stored, asked = kind
    index = make(4)
    index.add(stored(np.ones((10, 4))), np.arange(10))
    stop = threading.Event()
    wrong = []

    def read():
        while not stop.is_set():
            hits = index.search(asked(np.ones((1, 4))), 40)
            found = hits.ids[hits.ids >= 0]
            if len(found) % 10 or not (hits.scores[hits.ids >= 0] == 4.0).all():
                wrong.append(hits)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(60):
        names = np.arange(10) + 10 * (1 + turn % 3)
        index.add(stored(np.ones((10, 4))), names)
        index.remove(names)
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_a_damaged_file_is_refused(kind, tmp_path):
    make, stored, _ = kind
    index = make(3, fingerprint="f")
    index.add(stored(np.eye(3)))
    path, other = tmp_path / "good", tmp_path / "bad"
    index.save(path)
    arrays, manifest = load_arrays(path, kind=make.file_kind)

    def refused(changed_arrays=None, **changed):
        parts = {**arrays, **(changed_arrays or {})}
        select = {name: array for name, array in parts.items() if array is not None}
        said = {**manifest, **changed}
        if "seal" in said and select.keys() >= {"ids", "scales"}:
            said["seal"] = seal(select, said)
        save_arrays(other, select, kind=make.file_kind, manifest=said)
        with pytest.raises(DamagedFile, match="bad"):
            make.open(other)

    for dimension in (2, 0, -1, 2**40, "3", None, [3]):
        refused(dimension=dimension)
    for next_id in (2, -1, "3", None, 2**63):
        refused(next_id=next_id)
    for name, array in arrays.items():
        refused({name: None})
        refused({name: array[:-1]})
        with np.errstate(over="ignore"):
            refused({name: array.astype(np.float16)})
        refused({name: np.concatenate([array, array])})
        # Vectors that stay in their file are not read when it is opened.
        if array.dtype.kind != "u" and not (make is MappedIndex and name == "vectors"):
            refused({name: np.full_like(array, -(2**20) if array.dtype.kind == "i" else np.nan)})
    refused({"ids": np.array([1, 1, 2])})
    with pytest.raises(DamagedFile):
        (SparseIndex if issubclass(make, DenseIndex) else DenseIndex).open(path)
    with pytest.raises(DamagedFile):
        make.open(tmp_path / "none")


def test_every_name_of_the_registry_keeps_the_contract():
    assert {make.name for make, _, _ in KINDS.values()} >= set(INDEXES.names)
    for name in INDEXES.names:
        assert INDEXES.get(name).name == name
        assert issubclass(INDEXES.get(name), Index)


def test_python_refuses_an_index_that_lacks_something():
    class Half(Index):
        def save(self, path):
            return

    with pytest.raises(TypeError, match="search"):
        Half()


@pytest.mark.parametrize("dimension", [1, 3, 8, 31, 64, 257])
def test_scores_are_those_of_a_search_to_the_last_bit(kind, dimension):
    make, stored, asked = kind
    rng = np.random.default_rng(dimension)
    index = make(dimension)
    names = rng.permutation(900)[:400]
    index.add(stored(rng.standard_normal((400, dimension))), names)
    index.set_scales(rng.uniform(-1, 2, 400))
    queries = rng.standard_normal((7, dimension)).astype(np.float32)
    hits = index.search(asked(queries), 400)
    for row in range(7):
        scores = index.scores(asked(queries[row : row + 1]), hits.ids[row])
        assert (scores.dtype, scores.shape) == (np.float32, (1, 400))
        if make is not BruteForce:
            np.testing.assert_array_equal(scores[0], hits.scores[row])
        np.testing.assert_allclose(scores[0], hits.scores[row], rtol=1e-6)
    assert index.scores(asked(queries), []).shape == (7, 0)
    assert index.scores(asked(queries[:0]), names[:3]).shape == (0, 3)


def test_take_and_scores_refuse_what_is_not_there(kind):
    make, stored, asked = kind
    index = make(2)
    for names in ([], [4, 7], [4, 7, 5]):
        index.add(stored(np.ones((len(names) - len(index), 2))), names[len(index) :])
        assert index.take([]).shape == (0, 2)
        for call in (index.take, lambda ids, index=index: index.scores(asked(np.eye(2)), ids)):
            for bad, told in (([4, 6], "6"), ([99, 0], "99, 0"), (9, "9")):
                if 4 in names or told != "6":
                    with pytest.raises(InvalidInput, match=f"no picture with the id {told}"):
                        call(bad)
            with pytest.raises(InvalidInput, match="ids must be"):
                call([0.5])
    assert dense(index.take([5, 5, 4])).tolist() == np.ones((3, 2)).tolist()


def test_a_copy_and_what_it_was_made_of_change_apart(kind, tmp_path):
    make, stored, asked = kind
    index = make(2, fingerprint="f")
    for number in range(5):
        index.add(stored(np.full((1, 2), number)))
    twin = index.copy()
    assert type(twin) is make
    twin.add(stored(np.full((1, 2), 70)))
    index.add(stored(np.full((1, 2), 80)))
    twin.add(stored(np.full((1, 2), 71)))
    index.remove([0])
    twin.set_scales(np.full(7, 2))
    ours, theirs = (
        dense(stored(np.array([numbers, numbers]).T))
        for numbers in ([1, 2, 3, 4, 80], [0, 1, 2, 3, 4, 70, 71])
    )
    assert dense(index.vectors).tolist() == ours.tolist()
    assert dense(twin.vectors).tolist() == theirs.tolist()
    assert index.scales.tolist() == [1] * 5
    assert (twin.fingerprint, twin.dimension) == ("f", 2)
    twin.save(tmp_path / "a")
    best = make.open(tmp_path / "a").search(asked(np.ones((1, 2))), 1).scores
    assert best.tolist() == [[2 * theirs.sum(axis=1).max()]]

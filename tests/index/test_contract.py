"""What every index promises, whichever kind it is."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.checks.index import IndexContract, SlowIndex, agree, some
from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput
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
from tests.contract import each, passes

pytestmark = pytest.mark.usefixtures("way")


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


@each(IndexContract)
def test_contract(kind, rule):
    passes(rule, IndexContract, *kind)


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


@pytest.mark.parametrize("name", KINDS)
def test_equal_vectors_tie_whatever_the_batch_and_block(name, set_limits):
    make, stored, asked = KINDS[name]
    set_limits(products=700, queries_at_once=16)
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


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("share", [0.05, 0.3, 0.7, 1.0])
def test_among_is_a_filter_of_the_whole_ranking(name, share, set_limits):
    make, stored, asked = KINDS[name]
    set_limits(gathered=100, products=700, queries_at_once=16, sparse_tail=30)
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


def test_one_vector_is_a_batch_of_one():
    for make in (DenseIndex, SparseIndex, BruteForce):
        index = make(2)
        assert index.add([3.0, 4.0]).tolist() == [0]
        hits = index.search([1.0, 0.0], 1)
        assert (hits.ids.tolist(), hits.scores.tolist()) == ([[0]], [[3.0]])


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

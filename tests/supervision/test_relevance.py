import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import InvalidInput
from lookalike.supervision import Relevance, clicks_to_relevance
from tests.reference.supervision import shared_labels

label_sets = st.lists(st.sets(st.integers(0, 6), max_size=4), min_size=1, max_size=20)


def rng(seed=0):
    return np.random.default_rng(seed)


@settings(max_examples=60)
@given(label_sets, st.randoms(use_true_random=False))
def test_rows_alike_and_subset_say_what_the_labels_say(y, random):
    relevance = Relevance.of(y)
    n = len(y)
    expected = shared_labels(y) > 0
    expected[np.arange(n), np.arange(n)] = [bool(labels) for labels in y]
    everything = np.arange(n)
    assert (relevance.rows(everything) == expected).all()
    queries = np.array([random.randrange(n) for _ in range(5)])
    columns = np.array([random.randrange(n) for _ in range(7)])
    assert (relevance.rows(queries, columns) == expected[np.ix_(queries, columns)]).all()
    assert relevance.alike(int(queries[0]), int(columns[0])) == expected[queries[0], columns[0]]
    part = np.array(random.sample(range(n), random.randrange(n + 1)), dtype=int)
    subset = relevance.subset(part)
    assert len(subset) == len(part)
    assert (subset.rows(np.arange(len(part))) == expected[np.ix_(part, part)]).all()
    assert set(subset.labels_) == {str(label) for i in part for label in y[i]}
    assert (subset.known == relevance.known[part]).all()


def test_pairs_are_as_given_without_the_diagonal():
    matrix = np.array([[5.0, 2.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 3.0]])
    relevance = Relevance.of(sp.csr_matrix(matrix), 3)
    assert relevance.labels_ is None
    assert (relevance.rows([0, 1, 2]) == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]).all()
    assert relevance.rows([1], [2, 2, 0]).tolist() == [[True, True, False]]
    assert relevance.alike(0, 1)
    assert not relevance.alike(1, 0)
    turned = relevance.subset([1, 0])
    assert (turned.links.toarray() == [[0, 0], [2, 0]]).all()


def test_the_callers_matrix_is_left_alone():
    matrix = sp.csr_matrix(np.array([[5.0, 0.0], [0.0, 1.0]]))
    matrix.data[1] = 0.0
    Relevance.of(matrix)
    assert matrix.nnz == 2
    matrix.data[0] = 7.0


def test_labels_of_many_kinds():
    same = [1, "1", " 1 ", 1.0, np.int64(1), np.float32(1), [1], {"1"}, (1, 1), np.array(["1"])]
    relevance = Relevance.of([*same, None, "", float("nan"), [], [None, ""], "b"], 16)
    assert relevance.labels_ == ("1", "b")
    assert relevance.known.tolist() == [True] * 10 + [False] * 5 + [True]
    assert relevance.is_single
    assert relevance.rows([0], np.arange(10)).all()
    assert Relevance.of(["u\u0308", "\u00fc"]).labels_ == ("\u00fc",)
    assert Relevance.of(np.array([2, 2, 3])).labels_ == ("2", "3")
    assert Relevance.of(np.array(["x", "y"])).labels_ == ("x", "y")
    assert Relevance.of(np.array([0.0, np.nan])).known.tolist() == [True, False]
    assert Relevance.of(relevance, 16) is relevance


def test_a_relevance_does_not_change():
    relevance = Relevance.of(["a", "a"])
    with pytest.raises(ValueError, match="read-only"):
        relevance.links.data[0] = 2
    with pytest.raises(AttributeError):
        relevance.known = None


@pytest.mark.parametrize(
    "y",
    [
        None,
        "cats",
        b"cats",
        {"a": 1},
        5,
        np.ones((3, 3)),
        ["a", 1.5, "b"],
        ["a", float("inf"), "b"],
        ["a", b"b", "c"],
        ["a", {"b": 1}, "c"],
        [["a"], [["b"]], ["c"]],
        [object(), 1, 2],
        sp.csr_matrix(np.ones((3, 2))),
        sp.csr_matrix(-np.eye(3)),
        sp.csr_matrix(np.full((3, 3), np.nan)),
        sp.csr_matrix(np.full((3, 3), np.inf)),
        sp.csr_matrix(np.full((3, 3), 1j)),
        sp.coo_matrix((np.full(2, 1e308), ([0, 0], [1, 1])), shape=(3, 3)),
    ],
)
def test_what_is_no_relevance_is_refused(y):
    with np.errstate(over="ignore"), pytest.raises(InvalidInput):
        Relevance.of(y, 3)


def test_lengths_must_agree():
    for y in (["a", "b"], sp.csr_matrix((2, 2)), Relevance.of(["a", "b"])):
        with pytest.raises(InvalidInput, match="each of the 3 pictures; got 2"):
            Relevance.of(y, 3)


@pytest.mark.parametrize("rows", [[-1], [2], [[0]], [0.5], [0, 0]])
def test_rows_that_are_not_there_are_refused(rows):
    with pytest.raises(InvalidInput, match="Relevance"):
        Relevance.of(["a", "b"]).subset(rows)


def test_nothing_is_a_relevance_too():
    empty = Relevance.of([])
    assert len(empty) == 0
    assert empty.rows([]).shape == (0, 0)
    assert len(Relevance.of(["a"]).subset([])) == 0


@settings(max_examples=100)
@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=60),
    st.floats(0.05, 0.95),
    st.integers(0, 5),
)
def test_classes_are_held_out_so_that_both_sides_work(y, fraction, seed):
    relevance = Relevance.of(y)
    kept, held = relevance.hold_out(fraction, rng(seed))
    assert sorted([*kept, *held]) == list(range(len(y)))
    assert (np.diff(held) > 0).all()
    assert (np.diff(kept) > 0).all()
    again = relevance.hold_out(fraction, rng(seed))
    assert (again[1] == held).all()
    labels = np.array(y)
    for label in set(y):
        whole, out = (labels == label).sum(), (labels[held] == label).sum()
        assert out == 0 or out >= 2
        if whole >= 4:
            assert whole - out >= 2
        else:
            assert out in (0, whole)
    if relevance.trainable() is None:
        assert relevance.subset(kept).trainable() is None
    sizes = np.bincount(labels)
    if (sizes >= 4).sum() >= 2:
        assert relevance.subset(held).trainable() is None
    usable = sizes[sizes >= 4].sum()
    if len(held) and usable == len(y):
        room = 2 * len(sizes) + 2
        assert abs(len(held) - fraction * len(y)) <= room


def test_the_share_held_out_is_about_the_fraction():
    for size, classes in [(100, 20), (5, 200), (3, 400), (2, 600)]:
        relevance = Relevance.of(np.arange(size * classes) % classes)
        _, held = relevance.hold_out(0.2, rng())
        assert len(held) == pytest.approx(0.2 * size * classes, rel=0.05)


@settings(max_examples=60)
@given(label_sets, st.floats(0.05, 0.95))
def test_many_labels_are_held_out_in_pairs(y, fraction):
    relevance = Relevance.of([*y, {"x", "y"}, {"x"}])
    kept, held = relevance.hold_out(fraction, rng())
    assert sorted([*kept, *held]) == list(range(len(relevance)))
    assert len(held) <= fraction * len(relevance) + 1.5
    assert relevance.subset(held).has_alike.all()


def test_pairs_are_held_out_in_pairs():
    n = 1000
    partner = sp.csr_matrix((np.ones(n), (np.arange(n), np.arange(n) ^ 1)), shape=(n, n))
    relevance = Relevance.of(partner)
    kept, held = relevance.hold_out(0.1, rng())
    assert len(held) == 100
    assert relevance.subset(held).has_alike.all()
    assert relevance.subset(kept).trainable() is None


def test_nothing_alike_nothing_held_out():
    for y in (["a", "b", None], sp.csr_matrix((4, 4))):
        kept, held = Relevance.of(y).hold_out(0.5, rng())
        assert len(held) == 0
        assert len(kept) == len(Relevance.of(y))


@settings(max_examples=60)
@given(label_sets, st.floats(0.05, 0.95))
def test_held_out_classes_are_never_seen(y, fraction):
    relevance = Relevance.of(y)
    members = np.bincount([label for labels in y for label in labels], minlength=1)
    if (members >= 2).sum() < 2:
        with pytest.raises(InvalidInput, match="two labels"):
            relevance.hold_out_classes(fraction, rng())
        return
    kept, held = relevance.hold_out_classes(fraction, rng())
    seen = set().union(*(y[i] for i in kept))
    unseen = set().union(*(y[i] for i in held))
    assert not seen & unseen
    assert all(y[i] for i in held)
    assert {i for i in range(len(y)) if not y[i]} <= set(kept.tolist())


def test_classes_held_out_of_single_labels():
    relevance = Relevance.of(np.arange(100) % 10)
    kept, held = relevance.hold_out_classes(0.3, rng())
    assert sorted([*kept, *held]) == list(range(100))
    assert len(set(held % 10)) == 3
    assert (relevance.hold_out_classes(0.3, rng())[1] == held).all()
    assert len(set(relevance.hold_out_classes(0.999, rng())[0] % 10)) == 2
    assert len(set(relevance.hold_out_classes(0.001, rng())[1] % 10)) == 2


def test_what_cannot_be_held_out_is_refused():
    for fraction in (0, 1, -1, 2, float("nan")):
        with pytest.raises(InvalidInput, match="fraction"):
            Relevance.of(["a", "a"]).hold_out(fraction, rng())
    with pytest.raises(InvalidInput, match="pairs have no classes"):
        Relevance.of(sp.csr_matrix((3, 3))).hold_out_classes(0.5, rng())


def test_click_lists_split_like_labels():
    clicks = sp.csr_matrix(np.kron(np.eye(4), np.ones((1, 5))))
    relevance = clicks_to_relevance(clicks)
    assert relevance.is_single
    kept, held = relevance.hold_out(0.4, rng())
    assert len(held) == 8
    assert relevance.subset(kept).trainable() is None


def test_rare_labels_count_for_more_and_one_of_all_for_nothing():
    relevance = Relevance.of([{"a", "x"}, {"a", "b", "x"}, {"b", "x"}, {"c", "b", "x"}, set()])
    rare = relevance.by_rarity()
    both = rare.values([0, 1, 2, 3])
    assert both[0, 1] == pytest.approx(np.log(4 / 2))
    assert both[1, 2] == pytest.approx(np.log(4 / 3))
    assert both[0, 2] == 0
    np.testing.assert_allclose(rare.values([1, 0])[0, 1], both[0, 1])
    with pytest.raises(InvalidInput, match="pairs have no labels"):
        Relevance.of(sp.eye(3, k=1, format="csr")).by_rarity()

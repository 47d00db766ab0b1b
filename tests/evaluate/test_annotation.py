import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_digits

from lookalike.core.errors import InvalidInput, NotFitted
from lookalike.evaluate import (
    evaluate_annotation,
    graded_precision_at_k,
    mean_average_precision,
    precision_at_k,
    sibling_precision_at_k,
)
from lookalike.supervision import Relevance, TagTree
from tests.reference.annotation_metrics import judge_words_slowly, siblings_slowly

WORDS = ("fish/tuna", "fish/salmon", "fish", "animal/cat", "animal/cat/lynx", "motorcar")
RELATIONS = {
    ("fish/tuna", "fish"),
    ("fish/salmon", "fish"),
    ("fish/cod", "fish"),
    ("animal/cat", "animal"),
    ("animal/dog", "animal"),
    ("animal/cat/lynx", "animal/cat"),
}
TREE = TagTree.from_paths([child for child, _ in sorted(RELATIONS)])
MEANINGS = {word: {word} for relation in RELATIONS for word in relation}


class Stub:
    """Scores words as it was told, a number a picture, and remembers how much was asked for."""

    def __init__(self, table, words=WORDS):
        self.table = np.asarray(table, np.float32)
        self.words_ = words
        self.asked = []

    def scores(self, X):
        self.asked.append(len(X))
        return self.table[np.asarray(X)[:, 0].astype(int)]


def siblings_at(level):
    return lambda one, other: siblings_slowly(one, other, RELATIONS, MEANINGS, level)


tables = arrays(
    np.float32, st.tuples(st.integers(1, 6), st.just(len(WORDS))), elements=st.integers(-3, 3)
)


@st.composite
def judged_words(draw, among):
    table = draw(tables)
    truths = [draw(st.sets(st.sampled_from(among), max_size=3)) for _ in table]
    truths[0] = truths[0] or {among[0]}
    return table, truths


@settings(max_examples=60)
@given(judged_words((*WORDS, "fish/cod", "animal/dog", "never seen")))
def test_figures_agree_with_the_slow_twin(drawn):
    table, truths = drawn
    cutoffs = tuple(range(1, 9))
    rows = np.arange(len(table))[:, None]
    found = evaluate_annotation(Stub(table), rows, truths, cutoffs=cutoffs, tree=TREE)
    for level in (1, 2):
        average, at, at_siblings, count = judge_words_slowly(
            table.tolist(), WORDS, truths, siblings_at(level), cutoffs
        )
        assert found.pictures == count
        assert found.mean_average_precision == pytest.approx(average)
        assert found.precision == pytest.approx(dict(zip(cutoffs, at, strict=True)))
        expected = dict(zip(cutoffs, at_siblings, strict=True))
        assert found.sibling_precision[level] == pytest.approx(expected)
        for k in cutoffs:
            assert found.sibling_precision[level][k] >= found.precision[k] - 1e-12
            assert found.sibling_precision[2][k] >= found.sibling_precision[1][k] - 1e-12


@settings(max_examples=60)
@given(judged_words(WORDS), st.integers(1, 8))
def test_sibling_precision_agrees_with_the_slow_twin(drawn, k):
    table, truths = drawn
    relevant = np.array([[word in true for word in WORDS] for true in truths])
    _, (at,), (at_siblings,), _ = judge_words_slowly(
        table.tolist(), WORDS, truths, siblings_at(1), (k,)
    )
    found = sibling_precision_at_k(table, relevant, TREE.groups(WORDS), k)
    assert found == pytest.approx(at_siblings)
    for alone in (np.eye(len(WORDS)), np.zeros((len(WORDS), 1))):
        alike = sibling_precision_at_k(table, relevant, sp.csr_matrix(alone), k)
        assert alike == pytest.approx(at)
    assert precision_at_k(table, relevant, k) == pytest.approx(at)
    assert found >= at - 1e-12


def test_the_example_of_the_paper():
    """A salmon for a tuna is almost right, a motorcar is not (section 1)."""
    groups = TREE.groups(WORDS)
    tuna = np.array([[True, False, False, False, False, False]])
    assert sibling_precision_at_k([[1, 2, 0, 0, 0, 0]], tuna, groups, 1) == 1
    assert sibling_precision_at_k([[1, 0, 0, 0, 0, 2]], tuna, groups, 1) == 0
    assert sibling_precision_at_k([[1, 3, 0, 0, 0, 2]], tuna, groups, 10) == pytest.approx(0.2)


def test_words_never_learned_count_as_never_found():
    table = [[6, 5, 4, 3, 2, 1], [6, 5, 4, 3, 2, 1], [1, 2, 3, 4, 5, 6]]
    truths = [{"fish/tuna", "ship"}, {"fish/cod"}, set()]
    found = evaluate_annotation(Stub(table), [[0], [1], [2]], truths, cutoffs=(1, 2), tree=TREE)
    assert found.pictures == 2
    assert found.mean_average_precision == pytest.approx((0.5 + 0) / 2)
    assert found.precision == {1: 0.5, 2: 0.25}
    assert found.sibling_precision[1] == {1: 1.0, 2: 1.0}


def test_words_are_the_same_in_any_case_and_form():
    model = Stub([[2, 1], [1, 2]], ("Café", "Tür"))
    found = evaluate_annotation(model, [[0], [1]], ["CAFE\u0301", ["TU\u0308R"]], cutoffs=(1,))
    assert found.precision == {1: 1.0}
    assert found.mean_average_precision == 1.0
    assert found.sibling_precision == {}


def test_pictures_are_judged_in_blocks():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, len(WORDS)))
    truths = [[WORDS[i] for i in some] for some in rng.integers(0, len(WORDS), (40, 2))]
    truths[5] = truths[6] = []
    rows = np.arange(40)[:, None]
    whole = evaluate_annotation(Stub(table), rows, truths, tree=TREE)
    model, told = Stub(table), []
    parts = evaluate_annotation(
        model,
        rows,
        truths,
        tree=TREE,
        progress=lambda *now: told.append(now),
        block_scores=65,
    )
    assert model.asked == [10, 10, 10, 8]
    assert told == [(10, 38), (20, 38), (30, 38), (38, 38)]
    assert parts.pictures == whole.pictures == 38
    assert parts.mean_average_precision == pytest.approx(whole.mean_average_precision)
    assert parts.precision == pytest.approx(whole.precision)
    for level in (1, 2):
        assert parts.sibling_precision[level] == pytest.approx(whole.sibling_precision[level])


class Centroids:
    """Scores a digit's name by the inner product with the mean of its pictures."""

    def fit(self, X, y):
        self.words_ = tuple(sorted(set(y)))
        names = np.array(y)
        self.means = np.array([X[names == word].mean(axis=0) for word in self.words_])
        self.means /= np.linalg.norm(self.means, axis=1, keepdims=True)
        return self

    def scores(self, X):
        return np.asarray(X @ self.means.T, np.float32)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_digits(form):
    X, digits = load_digits(return_X_y=True)
    names = [f"{'odd' if digit % 2 else 'even'}/{digit}" for digit in digits]
    model = Centroids().fit(X[:900], names[:900])
    tree = TagTree.from_paths(model.words_)
    found = evaluate_annotation(
        model, form(X[900:]), names[900:], cutoffs=range(1, 21), tree=tree, levels=(1,)
    )
    assert found.pictures == 897
    assert 0.75 < found.precision[1] < 0.95
    curve = found.sibling_precision[1]
    assert list(curve) == list(range(1, 21))
    assert found.precision[10] == pytest.approx(0.1)
    assert curve[10] == pytest.approx(0.5)
    assert curve[20] == pytest.approx(0.25)
    assert curve[1] > found.precision[1]
    scores = model.scores(X[900:])
    relevant = np.array(names[900:])[:, None] == np.array(model.words_)
    assert found.precision[3] == pytest.approx(precision_at_k(scores, relevant, 3))
    assert found.mean_average_precision == pytest.approx(mean_average_precision(scores, relevant))
    again = evaluate_annotation(model, X[900:], Relevance.of(names[900:]), cutoffs=(1,))
    assert again.precision[1] == pytest.approx(found.precision[1])


def test_what_cannot_be_judged_is_said():
    model = Stub([[1, 2, 3, 4, 5, 6]])
    with pytest.raises(InvalidInput, match="no picture has a word"):
        evaluate_annotation(model, [[0]], [set()])
    with pytest.raises(InvalidInput, match="one entry for each of the 1 pictures; got 2"):
        evaluate_annotation(model, [[0]], ["a", "b"])
    with pytest.raises(InvalidInput, match="cutoffs must be"):
        evaluate_annotation(model, [[0]], ["fish"], cutoffs=(0,))
    with pytest.raises(InvalidInput, match="level must be"):
        evaluate_annotation(model, [[0]], ["fish"], tree=TREE, levels=(0,))
    with pytest.raises(InvalidInput, match="must not be NaN"):
        evaluate_annotation(Stub([[np.nan] * 6]), [[0]], ["fish"])
    with pytest.raises(NotFitted, match="Centroids is not fitted"):
        evaluate_annotation(Centroids(), [[0]], ["fish"])
    groups = TREE.groups(WORDS)
    with pytest.raises(InvalidInput, match="no picture has a true word"):
        sibling_precision_at_k([[0] * 6], np.zeros((1, 6), bool), groups, 1)
    for relevant in (np.zeros((1, 5), bool), np.zeros((1, 6)), np.zeros(6, bool)):
        with pytest.raises(InvalidInput, match="one column for each of the 6 words of groups"):
            sibling_precision_at_k([[0] * 6], relevant, groups, 1)


def test_graded_precision_is_the_mean_likeness_to_the_nearest_true_word():
    rng = np.random.default_rng(0)
    table, relevant = rng.normal(size=(7, 6)), rng.random((7, 6)) < 0.4
    relevant[3] = False
    S = rng.random((6, 6))
    S = (S + S.T) / 2
    np.fill_diagonal(S, 1)
    total = []
    for row in range(7):
        true = [y for y in range(6) if relevant[row, y]]
        if true:
            order = sorted(range(6), key=lambda y: -table[row, y])
            total.append(sum(max(S[i, y] for y in true) for i in order[:4]) / 4)
    assert graded_precision_at_k(table, relevant, S, 4) == pytest.approx(np.mean(total))
    plain = graded_precision_at_k(table, relevant, np.eye(6), 4)
    groups = sp.identity(6, format="csr")
    assert plain == pytest.approx(sibling_precision_at_k(table, relevant, groups, 4))
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        graded_precision_at_k(table, relevant, 2 * S, 4)

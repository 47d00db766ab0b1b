"""SparseSimilarity: its objective, its triplets, and what it learns."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.core.errors import InvalidInput
from lookalike.core.ranking import judge
from lookalike.similarity import SparseSimilarity
from lookalike.similarity.sparse_matrix import Mask
from lookalike.similarity.sparse_objective import Objective
from lookalike.similarity.sparse_triplets import choose_queries, collect, hold_out
from lookalike.supervision import Relevance
from tests.reference import sparse_similarity as reference

WORDS = 12


def rows_of(rng, n=9, words=WORDS, share=0.5):
    X = rng.random((n, words)) * (rng.random((n, words)) < share)
    X[np.arange(n), np.arange(n) % words] += 0.5
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def neighbours_of(rng, words=WORDS, k=2):
    return np.array(
        [rng.permutation([v for v in range(words) if v != u])[:k] for u in range(words)], np.int32
    )


def objective_of(rng, margin=0.3):
    X = rows_of(rng)
    mask = Mask.of(WORDS, neighbours_of(rng))
    triplets = np.array([rng.permutation(len(X))[:3] for _ in range(20)], np.int32)
    weights = rng.random(20) + 0.1
    M = np.concatenate([rng.random(WORDS) + 0.5, rng.random(len(mask.pairs)) * 0.4])
    made = Objective.of(sp.csr_matrix(X), mask, triplets, weights, margin)
    return made, X.astype(float), mask, triplets, weights, M


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_the_objective_and_its_gradient_are_those_of_full_matrices(seed):
    made, X, mask, triplets, weights, M = objective_of(np.random.default_rng(seed))
    value, gradient, losses = made.value(M)
    given_to = X, triplets, weights, made.margin, WORDS, mask.pairs, M
    assert value == pytest.approx(reference.loss(*given_to), rel=1e-5)
    # Where a triplet is just at its margin, differences see both sides.
    if np.abs(losses).min() > 1e-4:
        np.testing.assert_allclose(gradient, reference.slopes(*given_to), atol=2e-5)


def test_active_triplets_alone_have_the_same_gradient():
    made, *_, M = objective_of(np.random.default_rng(1), margin=0.02)
    value, gradient, losses = made.value(M)
    few, part, _ = made.value(M, np.flatnonzero(losses > 0))
    assert 0 < (losses > 0).sum() < len(losses)
    assert few == pytest.approx(value)
    np.testing.assert_allclose(part, gradient, atol=1e-12)


def test_a_step_down_the_gradient_lowers_the_objective():
    made, *_, M = objective_of(np.random.default_rng(2))
    value, gradient, _ = made.value(M)
    lower = made.value(np.maximum(M - 1e-3 * gradient, 0))[0]
    assert lower < value


def test_minimising_stays_at_least_0_and_ends_when_told():
    made, *_, M = objective_of(np.random.default_rng(3))
    start = made.value(M)[0]
    found, _ = made.minimise(M, 40, lambda _: False)
    assert (found >= 0).all()
    assert made.value(found)[0] < start
    assert made.minimise(M, 40, lambda _: True)[1] == 1


def test_the_mask_is_symmetric_and_has_each_pair_once():
    neighbours = np.array([[1, 2], [0, 2], [1, 0], [0, 0]])
    mask = Mask.of(4, neighbours.astype(np.int32))
    assert mask.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2]]
    full = mask.matrix(np.arange(1.0, 9)).toarray()
    np.testing.assert_array_equal(full, full.T)
    np.testing.assert_array_equal(full, reference.full_matrix(4, mask.pairs, np.arange(1.0, 9)))
    assert Mask.of(4, None).size == 4


def test_scores_are_the_normalised_similarity():
    rng = np.random.default_rng(4)
    X, y = rows_of(rng, 12), np.repeat([0, 1, 2], 4)
    learned = SparseSimilarity(random_state=0, margin=0.2).set_neighbours(neighbours_of(rng))
    learned.fit(X, y)
    full = reference.full_matrix(WORDS, learned.mask_.pairs, learned.M_)
    expected = [[reference.similarity(X, full, i, j) for j in range(12)] for i in range(12)]
    np.testing.assert_allclose(np.square(learned.scores(X, X)), expected, atol=1e-5)
    assert set(learned.parts(X, X)) == {"same words", "near words"}


def noisy_views(rng, things=6, views=10):
    """Rows of words that are an object's, and more that are not; noisier than can be learned."""
    X = (rng.random((things * views, 40)) < 0.25).astype(np.float32)
    for row in range(len(X)):
        X[row, 3 * (row // views) + rng.integers(3)] += 1
    return X, [row // views for row in range(len(X))]


@pytest.mark.parametrize("seed", range(3))
def test_the_iterate_that_is_best_on_pictures_held_out_is_kept(seed):
    X, y = noisy_views(np.random.default_rng(seed))
    learned = SparseSimilarity(random_state=0, margin=0.5, held_out=3).fit(X, y)
    relevance = Relevance.of(y, len(X))
    held = hold_out(relevance, 3, np.random.default_rng(0))
    database = np.setdiff1d(np.arange(len(X)), held)
    own = relevance.rows(held, database)
    figure = judge(learned.scores(X[held], X[database]), own).mean_average_precision
    assert figure == pytest.approx(max(learned.history_), abs=1e-3)
    assert learned.history_[-1] < max(learned.history_)


def test_near_words_learn_to_speak_for_each_other():
    """Views of an object fall on the one or the other of two words; tf-idf sees nothing shared."""
    rng = np.random.default_rng(5)
    X, y = [], []
    for thing in range(6):
        for view in range(8):
            row = np.zeros(24)
            row[2 * thing + view % 2] = 1
            row[12 + rng.permutation(12)[:4]] = 0.5
            X.append(row)
            y.append(thing)
    X = np.array(X, np.float32)
    neighbours = np.arange(24)[:, None] ^ 1
    plain = SparseSimilarity(random_state=0, margin=0.2, held_out=2).fit(X, y)
    learned = SparseSimilarity(random_state=0, margin=0.2, held_out=2).set_neighbours(neighbours)
    learned.fit(X, y)
    assert learned.history_[0] <= max(learned.history_)
    pairs = learned.mask_.pairs
    useful = learned.M_[24:][pairs[:, 0] < 12]
    assert (useful > 0.05).all()
    gap = [
        one.scores(X[:1], X[[1]])[0, 0] - one.scores(X[:1], X[8:]).max() for one in (plain, learned)
    ]
    assert gap[1] > gap[0]
    assert gap[1] > 0


@given(st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_partial_fit_steps_as_the_reference(seed):
    rng = np.random.default_rng(seed)
    X = rows_of(rng)
    triplet = rng.permutation(len(X))[:3]
    similarity = SparseSimilarity(margin=0.4, aggressiveness=0.3)
    similarity.set_neighbours(neighbours_of(rng)).partial_fit(X, [triplet])
    mask = similarity.mask_
    start = np.concatenate([np.ones(WORDS), np.zeros(len(mask.pairs))])
    # At 0 the slope to the left does not exist for the reference; a little above it does.
    expected = reference.online_step(X.astype(float), triplet, 0.4, 0.3, WORDS, mask.pairs, start)
    np.testing.assert_allclose(similarity.M_, expected, atol=1e-4)


def test_many_online_steps_put_a_triplet_in_order():
    rng = np.random.default_rng(7)
    X = rows_of(rng)
    similarity = SparseSimilarity(margin=0.02, aggressiveness=1.0)
    scores = X @ X.T
    k, j = np.argsort(-scores[0])[[1, 4]]
    similarity.partial_fit(X, np.array([[0, j, k]] * 200))
    learned = similarity.scores(X[:1], X)[0]
    assert scores[0, j] < scores[0, k]
    assert learned[j] > learned[k]
    assert (similarity.M_ >= 0).all()


def test_hard_triplets_are_those_of_figure_1():
    rng = np.random.default_rng(8)
    X = rows_of(rng, 14)
    y = ["a"] * 4 + ["b"] * 4 + [f"background {n}" for n in range(4)] + [None, None]
    relevance = Relevance.of(y)
    rows = np.arange(14)
    queries = choose_queries(relevance, rows, 80, rng)
    assert queries.tolist() == list(range(8))
    triplets = collect(sp.csr_matrix(X), relevance, rows, queries, 10**6, 0.5, rng)
    hard = triplets.rows[: triplets.hard]
    for query in queries:
        related = relevance.rows([query])[0]
        own = {(j, k) for i, j, k in hard.tolist() if i == query}
        expected = reference.hard_triplets(X @ X[query], related, relevance.known, query)
        assert own == expected
    assert not np.isin(triplets.rows, [12, 13]).any()
    assert len(triplets.rows) > triplets.hard > 0


def test_objects_with_few_pictures_weigh_as_much():
    rng = np.random.default_rng(9)
    X = rows_of(rng, 12)
    y = ["often"] * 8 + ["seldom"] * 2 + ["x", "y"]
    relevance = Relevance.of(y)
    queries = choose_queries(relevance, np.arange(12), 80, rng)
    triplets = collect(sp.csr_matrix(X), relevance, np.arange(12), queries, 10**6, 1.0, rng)
    by_query = dict(zip(triplets.rows[:, 0].tolist(), triplets.weights.tolist(), strict=True))
    assert {by_query[row] for row in range(8)} == {1.0}
    assert {by_query[8], by_query[9]} == {4.0}


def test_limits_on_queries_and_triplets_hold():
    rng = np.random.default_rng(10)
    X = rows_of(rng, 30)
    relevance = Relevance.of(np.repeat([0, 1], 15))
    queries = choose_queries(relevance, np.arange(30), 3, rng)
    assert len(queries) == 6
    triplets = collect(sp.csr_matrix(X), relevance, np.arange(30), queries, 60, 0.25, rng)
    assert len(triplets.rows) <= 60 + len(queries)
    held = hold_out(relevance, 4, rng)
    assert len(held) == 8
    assert hold_out(Relevance.of([0, 0, 1, 1]), 4, rng).size == 0


def test_learning_does_not_depend_on_what_is_not_labelled():
    """The best iterate on held-out pictures is kept, the start among them."""
    rng = np.random.default_rng(11)
    X = rows_of(rng, 40)
    y = rng.integers(0, 3, 40)
    learned = SparseSimilarity(random_state=1, held_out=3).fit(X, y)
    assert max(learned.history_) >= learned.history_[0]


@pytest.mark.parametrize(
    ("neighbours", "words"),
    [([[1.5]], "whole"), ([1, 2], "row"), ([[0], [7]], "0 to 1"), ([[1], [0]], "12 columns")],
)
def test_neighbours_that_do_not_fit_are_refused(neighbours, words):
    X = rows_of(np.random.default_rng(0))
    with pytest.raises(InvalidInput, match=words):
        SparseSimilarity().set_neighbours(neighbours).fit(X, [0, 0, 0, 1, 1, 1, 2, 2, 2])


def test_negative_rows_are_refused():
    with pytest.raises(InvalidInput, match="at least 0"):
        SparseSimilarity().fit(-rows_of(np.random.default_rng(0)), [0, 0, 0, 1, 1, 1, 2, 2, 2])


def test_what_was_learned_comes_back_from_its_file(tmp_path):
    rng = np.random.default_rng(12)
    X = rows_of(rng, 12)
    learned = SparseSimilarity(random_state=0).set_neighbours(neighbours_of(rng))
    learned.fit(X, np.repeat([0, 1, 2], 4))
    learned.save(tmp_path / "part")
    again = SparseSimilarity.load(tmp_path / "part")
    np.testing.assert_array_equal(again.M_, learned.M_)
    np.testing.assert_array_equal(again.mask_.pairs, learned.mask_.pairs)
    np.testing.assert_array_equal(again.scores(X, X), learned.scores(X, X))

"""A blend for each query: near to what was taught it follows what was learned, elsewhere not."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile
from lookalike.core.seeds import generator
from lookalike.evaluate import evaluate_similarity
from lookalike.similarity.base import Similarity
from lookalike.similarity.cosine import Cosine
from lookalike.similarity.lda import LDA
from lookalike.similarity.oasis import OASIS
from lookalike.similarity.reach import (
    MAX_LANDMARKS,
    Placed,
    Reach,
    kinds_of,
    most_landmarks,
    nearness,
    ramp,
    scaled_landmarks,
)
from lookalike.supervision import Relevance, clicks_to_relevance


@pytest.fixture(scope="module")
def digits():
    """Digits about their mean, at unit length: 600 to learn from, 400 to test on."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.data))[:1000]
    X = (data.data[order] - data.data.mean(axis=0)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[:600], data.target[order[:600]], X[600:], data.target[order[600:]]


@pytest.fixture(scope="module")
def model(digits):
    X, y, _, _ = digits
    return OASIS(random_state=0).fit(X, y)


def slow_share(reach, q):
    """The rule of ``Reach``, one query at a time."""
    S = reach.start.astype(float)
    near = np.sort([q @ S @ one / np.sqrt(q @ S @ q) for one in reach.landmarks])[-3:].mean()
    if near <= reach.low:
        return reach.least
    if near >= reach.high:
        return reach.most
    way = (near - reach.low) / (reach.high - reach.low)
    return reach.least + way * (reach.most - reach.least)


def slow_score(model, q, p):
    """The blended score of a query and an item."""
    W, b = model.W_.astype(float), slow_share(model.reach_, q)
    S = model.reach_.start.astype(float)
    asked = (1 - b) * (S @ q) / np.sqrt(q @ S @ q) + b * (W @ q) / np.sqrt(q @ W @ q)
    return asked @ p / np.sqrt(p @ W @ p)


def test_scores_are_the_formula(digits, model):
    _, _, held, _ = digits
    assert model.reach_ is not None
    assert model.blend_ == 1.0
    Q, P = held[:6] * np.float32(3), held[6:12]
    expected = [[slow_score(model, q, p) for p in P.astype(float)] for q in Q.astype(float)]
    np.testing.assert_allclose(model.scores(Q, P), expected, rtol=1e-4)
    np.testing.assert_allclose(
        model.query_vectors(Q) @ model.item_vectors(P).T, expected, rtol=1e-4
    )
    np.testing.assert_allclose(sum(model.parts(Q, P).values()), expected, rtol=1e-4)
    shares = [slow_share(model.reach_, q) for q in Q.astype(float)]
    np.testing.assert_allclose(model.reach(Q), shares, rtol=1e-4)


@pytest.mark.parametrize(("how", "started"), [({}, False), ({}, True), ({"positive": "no"}, False)])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_exported_formula_scores_the_same(digits, how, started, sparse):
    X, y, held, _ = digits
    model = OASIS(steps=2000, blend=1.0, random_state=0, **how).fit(X, y)
    start = np.diag(np.linspace(0.5, 2, 64)).astype(np.float32) if started else None
    model.reach_ = Reach(scaled_landmarks(X[:50], start), 0.2, 0.8, 0.1, 0.9, start)
    formula = model.formula()
    Q, P = (sp.csr_matrix(it) if sparse else it for it in (held[:5], held[5:9]))

    def dot(x, y):
        product = x.multiply(y) if hasattr(x, "multiply") else x * y
        return np.asarray(product.sum(axis=1)).ravel()

    names = {"np": np, "dot": dot, "f": formula.arrays}
    asked, scale = (eval(text, {**names, "x": Q}) for text in (formula.query, formula.query_scale))
    items, item_scale = P, eval(formula.scale, {**names, "x": P})
    scores = (items @ np.asarray(asked).T).T * np.asarray(scale)[:, None] * np.asarray(item_scale)
    np.testing.assert_allclose(scores, model.scores(Q, P), rtol=1e-3, atol=1e-5)


def test_sparse_vectors_have_the_same_shares(digits, model):
    held = digits[2][:30]
    np.testing.assert_allclose(model.reach(sp.csr_matrix(held)), model.reach(held), atol=1e-5)
    np.testing.assert_allclose(
        model.query_vectors(sp.csr_matrix(held)), model.query_vectors(held), atol=1e-4
    )


def test_what_was_taught_is_followed_farther_than_what_was_not(digits, model):
    held = digits[2]
    assert model.reach(held).mean() > model.reach_.least + 0.1
    assert model.reach(-held).mean() < model.reach(held).mean()


def test_saved_is_the_same(digits, model, tmp_path):
    held = digits[2][:20]
    model.save(tmp_path / "model")
    again = OASIS.load(tmp_path / "model")
    np.testing.assert_array_equal(again.scores(held, held), model.scores(held, held))
    np.testing.assert_array_equal(again.reach(held), model.reach(held))


@pytest.mark.parametrize(
    ("rule", "landmarks"),
    [
        ({}, np.ones((3, 64), np.float32)[:, :32]),
        ({"least": 0.9}, None),
        ({"most": 1.5}, None),
        ({"low": 0.9, "high": 0.1}, None),
        ({"high": "far"}, None),
        ({}, np.ones((3, 2), np.float32)),
        ({}, np.ones((0, 64), np.float32)),
        ({}, np.full((3, 64), np.nan, np.float32)),
    ],
)
def test_a_damaged_rule_is_refused(model, tmp_path, rule, landmarks):
    model.save(tmp_path / "model")
    arrays, manifest = load_arrays(tmp_path / "model", kind="oasis/3")
    manifest["learned"]["reach_"].update(rule)
    if rule == {"least": 0.9}:
        manifest["learned"]["reach_"]["most"] = 0.1
    if landmarks is not None:
        arrays["landmarks"] = landmarks
    save_arrays(tmp_path / "model", arrays, kind="oasis/3", manifest=manifest)
    with pytest.raises(DamagedFile):
        OASIS.load(tmp_path / "model")


def test_the_shares_of_similarities(digits):
    X, y, held, _ = digits
    np.testing.assert_array_equal(Cosine().reach(held[:3]), [0, 0, 0])
    np.testing.assert_array_equal(LDA().fit(X, y).reach(held[:3]), [1, 1, 1])
    fixed = OASIS(steps=50, blend=0.3, random_state=0).fit(X, y)
    assert fixed.reach_ is None
    np.testing.assert_allclose(fixed.reach(held[:3]), 0.3)
    assert Similarity.reach is not OASIS.reach


def test_where_whitening_does_harm_learning_starts_from_the_identity(digits, monkeypatch):
    X, y, held, held_y = digits
    bad = np.diag(np.where(np.arange(64) == 20, 1.0, 1e-3))
    monkeypatch.setattr("lookalike.similarity.trials.whitening", lambda vectors, relevance: bad)
    model = OASIS(steps=3000, random_state=0).fit(X, y)
    assert model.learned
    assert model.reach_ is None or model.reach_.start is None
    found, before = (
        evaluate_similarity(one, held, held_y).mean_average_precision for one in (model, Cosine())
    )
    assert found > before


def test_clicks_are_learned_without_harm(digits):
    """Kinds of pictures are then neighbourhoods, of which some are left out."""
    X, y, held, held_y = digits
    rng = np.random.default_rng(0)
    chosen = [(y == digit) & (rng.random(len(y)) < 0.3) for digit in range(10) for _ in "ab"]
    relevance = clicks_to_relevance(sp.csr_matrix(np.stack(chosen), dtype=float))
    model = OASIS(random_state=0).fit(X, relevance)
    assert model.learned
    same = held_y[:, None] == held_y
    tables = (model.scores(held, held), held @ held.T)
    near = [np.argsort(-(it - 9 * np.eye(len(it))), axis=1)[:, :10] for it in tables]
    found, before = (np.take_along_axis(same, it, 1).mean() for it in near)
    assert found > before - 0.01


def test_several_labels_are_learned(digits):
    X, y, _, _ = digits
    several = [{str(digit), f"pair {digit // 2}"} for digit in y]
    assert OASIS(steps=3000, random_state=0).fit(X, several).learned


def test_one_blend_is_chosen_for_triplets(digits):
    X, y, _, _ = digits
    rng = np.random.default_rng(0)
    rows = [(i, rng.choice(np.flatnonzero(y == y[i])), rng.choice(np.flatnonzero(y != y[i])))
            for i in rng.integers(0, 600, 1500)]  # fmt: skip
    model = OASIS(random_state=0).fit_triplets(X, np.array(rows))
    assert model.reach_ is None
    np.testing.assert_allclose(model.reach(X[:2]), model.blend_)


def test_pictures_of_partial_fit_count_as_taught(digits, model, tmp_path):
    _, _, held, _ = digits
    model.save(tmp_path / "model")
    later = OASIS.load(tmp_path / "model")
    new = np.repeat(-held[:2], 3, axis=0)
    before = later.reach(new)
    later.partial_fit(new, [[0, 1, 3], [1, 2, 3], [2, 0, 4], [3, 4, 0]])
    assert len(later.reach_.landmarks) == len(model.reach_.landmarks) + 4
    assert (later.reach(new[:3]) == later.reach_.most).all()
    assert (later.reach(new[3:]) >= before[3:]).all()
    few = later.reach_.with_landmarks(np.ones((2 * MAX_LANDMARKS, 64), np.float32))
    assert len(few.landmarks) == MAX_LANDMARKS


def test_few_pictures_keep_the_start():
    X = np.random.default_rng(0).random((6, 8)).astype(np.float32)
    model = OASIS(random_state=0).fit(X, ["a", "a", "a", "b", "b", "b"])
    assert not model.learned or model.reach_ is not None
    same = OASIS(random_state=0).fit(np.ones((40, 8), np.float32), np.arange(40) % 2)
    assert not same.learned


@pytest.mark.parametrize("columns", [1, 2, 5, 40])
def test_nearness_is_the_mean_of_the_largest(columns):
    rng = np.random.default_rng(columns)
    cosines = rng.random((9, columns))
    cosines[rng.random(cosines.shape) < 0.4] = -np.inf
    expected = []
    for row in cosines:
        largest = sorted(value for value in row if np.isfinite(value))[-3:]
        expected.append(np.mean(largest) if largest else -np.inf)
    # Fewer than three count where only some of the three largest are finite.
    np.testing.assert_allclose(nearness(cosines), expected)


def test_strangers_see_nothing_of_their_kind(digits):
    X, y, _, _ = digits
    placed = Placed.of(64, Relevance.of(y), generator(0))
    rows = np.arange(20)
    own, strange = (placed.held_out(X, rows, np.full(20, taught)) for taught in (True, False))
    assert (strange <= own).all()
    cosines = X[rows] @ X.T
    cosines[rows, rows] = -1
    np.testing.assert_allclose(own, np.sort(cosines, axis=1)[:, -3:].mean(axis=1), atol=1e-5)
    cosines[y[rows][:, None] == y] = -1
    np.testing.assert_allclose(strange, np.sort(cosines, axis=1)[:, -3:].mean(axis=1), atol=1e-5)


def test_the_ramp_lies_above_most_strangers():
    near, taught = np.linspace(0, 1, 1001), np.arange(1001) >= 500
    assert ramp(near, taught) == pytest.approx((0.449, 0.75), abs=0.002)
    assert ramp(np.zeros(9), np.arange(9) > 4) == pytest.approx((0.0, 0.01))
    assert ramp(near, taught | True) is None
    assert ramp(np.where(taught, near, -np.inf), taught) is None


def test_a_damaged_start_is_refused(model, tmp_path):
    model.save(tmp_path / "model")
    arrays, manifest = load_arrays(tmp_path / "model", kind="oasis/3")
    arrays["start"] = arrays["start"][:, :32].copy()
    save_arrays(tmp_path / "model", arrays, kind="oasis/3", manifest=manifest)
    with pytest.raises(DamagedFile):
        OASIS.load(tmp_path / "model")


def test_kinds_are_labels_or_cells(digits):
    X, y, _, _ = digits
    labels = Relevance.of(y)
    assert kinds_of(X, labels, 10, generator(0)) is labels
    few = Relevance.of(np.where(np.arange(600) < 300, y % 2, None))
    cells = kinds_of(X, few, 10, generator(0))
    assert 10 < len(cells.labels_) <= 20
    np.testing.assert_array_equal(cells.known, few.known)


def test_landmarks_of_wide_vectors_are_few():
    assert most_landmarks(256) == MAX_LANDMARKS
    assert most_landmarks(10_000) < 1000
    assert most_landmarks(10**8) == 1


def test_a_rule_is_monotone():
    rule = Reach(np.eye(3, dtype=np.float32), 0.2, 0.6, 0.1, 0.75)
    found = rule.at(np.linspace(-1, 1, 50))
    assert (np.diff(found) >= 0).all()
    assert (found[0], found[-1]) == (np.float32(0.1), np.float32(0.75))

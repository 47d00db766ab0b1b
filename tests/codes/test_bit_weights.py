"""Algorithm 1 of paper 3, its sub-problems against a QP solver, and what a query gets."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from lookalike.codes import BitWeights
from lookalike.codes.class_weights import (
    class_regression,
    class_similarity,
    energy_of,
    learn_weights,
    water_filling,
)
from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, FingerprintMismatch, InvalidInput, NotFitted


def solved(Q, p):
    """The same by a general solver for quadratic programs."""
    d = len(Q)
    found = minimize(
        lambda a: (0.5 * Q @ a**2 + p @ a, Q * a + p),
        np.full(d, 1 / d),
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * d,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1, "jac": lambda a: np.ones(d)},
        options={"maxiter": 500, "ftol": 1e-14},
    )
    # Where it stops early it breaks the constraints.
    a = np.maximum(found.x, 0)
    return value(Q, p, a / a.sum())


def value(Q, p, a):
    return 0.5 * Q @ a**2 + p @ a


NUMBERS = st.one_of(st.just(0.0), st.floats(0.01, 10))


@settings(max_examples=80)
@given(st.data(), st.integers(1, 8))
def test_water_filling_equals_a_solver(data, d):
    Q = np.array(data.draw(st.lists(NUMBERS, min_size=d, max_size=d)))
    p = -np.array(data.draw(st.lists(NUMBERS, min_size=d, max_size=d)))
    a = water_filling(Q, p)
    assert (a >= 0).all()
    assert a.sum() == pytest.approx(1)
    assert value(Q, p, a) <= solved(Q, p) + 1e-6


@settings(max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(1, 64))
def test_water_filling_meets_the_conditions_of_an_optimum(seed, d):
    rng = np.random.default_rng(seed)
    Q = rng.exponential(size=d) * (rng.random(d) < 0.9)
    p = -rng.exponential(size=d)
    a = water_filling(Q, p)
    slope = Q * a + p
    used = a > 1e-12
    # The slope is the same wherever there is weight, and nowhere less.
    assert np.ptp(slope[used]) <= 1e-9
    assert slope.min() >= slope[used].max() - 1e-9


def example(seed=0, n=120, bits=10, classes=4):
    rng = np.random.default_rng(seed)
    centres = rng.random((classes, bits))
    y = np.arange(n) % classes
    ones = rng.random((n, bits)) < centres[y]
    X = np.eye(classes)[y] + 0.3 * rng.standard_normal((n, classes))
    return np.packbits(ones, axis=1), ones, y, X


def slow_energy(weights, ones, has, similarity, balance):
    total = 0.0
    centres = [ones[has[:, i]].mean(axis=0) for i in range(len(weights))]
    for i, a in enumerate(weights):
        for x in ones[has[:, i]]:
            total += ((a * x - a * centres[i]) ** 2).sum()
    for i, a in enumerate(weights):
        for j, b in enumerate(weights):
            total += balance * similarity[i, j] * ((a * centres[i] - b * centres[j]) ** 2).sum()
    return total


def test_the_energy_is_that_of_the_paper_and_falls_every_round():
    codes, ones, y, X = example()
    model = BitWeights(bits=10, smoothing=0, tolerance=1e-9, random_state=0).fit(codes, y, X)
    has = y[:, None] == np.arange(4)
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    similarity = np.array(
        [[(units[has[:, i]] @ units[has[:, j]].T).mean() for j in range(4)] for i in range(4)]
    )
    start = np.full((4, 10), 0.1)
    positive = np.maximum(similarity, 0)
    expected = slow_energy(start, ones.astype(float), has, positive, 1.0)
    assert model.energy_[0] == pytest.approx(expected, rel=1e-5)
    last = slow_energy(model.weights_, ones.astype(float), has, positive, 1.0)
    assert model.energy_[-1] == pytest.approx(last, rel=1e-5)
    assert (np.diff(model.energy_) <= 1e-12).all()
    assert model.energy_[-1] < 0.9 * model.energy_[0]
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1)
    assert model.weights_.min() >= 0


def test_no_neighbouring_weights_have_less_energy():
    rng = np.random.default_rng(1)
    centres, spread = rng.random((3, 6)), rng.random((3, 6)) * 5
    similarity = np.abs(rng.random((3, 3)))
    similarity = similarity + similarity.T
    given = {"balance": 0.7, "tolerance": 1e-14, "max_rounds": 500}
    weights, energy = learn_weights(centres, spread, similarity, **given)
    for _ in range(200):
        moved = np.maximum(weights + rng.normal(0, 0.01, weights.shape), 0)
        moved /= moved.sum(axis=1, keepdims=True)
        assert energy_of(moved, centres, spread, similarity, 0.7) >= energy[-1] - 1e-9


def test_pictures_of_several_classes_count_for_each():
    codes, _, y, X = example()
    labels = [{"abcd"[one], "even" if one % 2 == 0 else "odd"} for one in y]
    model = BitWeights(bits=10, random_state=0).fit(codes, labels, X)
    assert model.classes_ == ("a", "b", "c", "d", "even", "odd")
    assert model.weights_.shape == (6, 10)
    shares = model.class_shares(codes[:20], X[:20])
    assert ((shares > 0).sum(axis=1) <= 3).all()


def slow_regression(X, y, x):
    """What ridge regression with a free constant says of each class of a vector."""
    units, unit = X / np.linalg.norm(X, axis=1)[:, None], x / np.linalg.norm(x)
    mean, has = units.mean(axis=0), np.eye(y.max() + 1)[y]
    rows = units - mean
    penalty = 0.3 * np.square(rows).sum(axis=1).mean()
    stacked = np.vstack([rows, np.sqrt(penalty) * np.eye(X.shape[1])])
    targets = np.vstack([has - has.mean(axis=0), np.zeros((X.shape[1], has.shape[1]))])
    return (unit - mean) @ np.linalg.lstsq(stacked, targets)[0] + has.mean(axis=0)


def slow_shares(model, query, ones, y, said):
    """The share of each class, one neighbour at a time."""
    distances = (query != ones).sum(axis=1)
    asked = np.lexsort((model._code_order, distances))[: model.neighbours]
    votes = np.zeros(len(model.classes_))
    for row in asked:
        votes[y[row]] += np.exp(-(distances[row] - distances.min()) * 48 / model.bits)
    sure = votes.max() / votes.sum()
    best = np.lexsort((model._class_order, -votes))[: model.leading]
    shares = np.zeros(len(votes))
    if sure >= model.agreement and max(said[best[0]], 0) >= model.agreement:
        shares[best] = sure * votes[best] / votes[best].sum()
    return shares


def slow_weights(model, shares, query, ones, y):
    """The weights of a query, one bit of one class at a time."""
    mixed = np.zeros(model.bits)
    for i, share in enumerate(shares):
        for j in range(model.bits):
            own = ones[y == i, j]
            centre = own.sum() + model.smoothing * ones[:, j].mean()
            centre /= len(own) + model.smoothing
            agrees = centre if query[j] else 1 - centre
            mixed[j] += share * model.weights_[i, j] * max(0.0, 2 * agrees - 1)
    return (mixed + (1 - mixed.sum()) / model.bits) ** 2


@pytest.mark.parametrize("agreement", [0.0, 0.6])
def test_a_query_takes_the_classes_of_its_nearest_codes(agreement):
    codes, ones, y, X = example(n=400)
    settings = {"bits": 10, "neighbours": 60, "leading": 2, "agreement": agreement}
    model = BitWeights(**settings, random_state=3).fit(codes, y, X)
    queries, vectors = codes[:30], X[:30]
    shares, weights = model.class_shares(queries, vectors), model.query_weights(queries, vectors)
    for row in range(30):
        expected = slow_shares(model, ones[row], ones, y, slow_regression(X, y, X[row]))
        np.testing.assert_allclose(shares[row], expected, rtol=1e-12)
        slow = slow_weights(model, expected, ones[row], ones, y)
        np.testing.assert_allclose(weights[row], slow, rtol=1e-5)
    plain = (shares == 0).all(axis=1)
    assert plain.any() == (agreement > 0)
    assert not plain.all()
    np.testing.assert_allclose(weights[plain], 0.01, rtol=1e-6)
    # Neither the batch nor the run changes anything; another seed may.
    np.testing.assert_array_equal(model.query_weights(queries[7:8], vectors[7:8])[0], weights[7])
    twin = BitWeights(**settings, random_state=3).fit(codes, y, X)
    np.testing.assert_array_equal(twin.query_weights(queries, vectors), weights)
    other = BitWeights(**settings, random_state=4).fit(codes, y, X)
    assert (other.query_weights(queries, vectors) != weights).any()


def test_by_the_papers_rule_a_query_is_weighed_from_its_code_alone():
    codes, ones, y, X = example(n=400)
    model = BitWeights(bits=10, rule="paper", neighbours=60, leading=2, random_state=3)
    weights = model.fit(codes, y, X).query_weights(codes[:30])
    unsmoothed = BitWeights(bits=10, smoothing=0, random_state=3).fit(codes, y, X)
    np.testing.assert_array_equal(model.weights_, unsmoothed.weights_)
    for row in range(30):
        distances = (ones[row] != ones).sum(axis=1)
        nearest = np.lexsort((model._code_order, distances))[:60]
        m = np.bincount(y[nearest], minlength=4)
        T = np.lexsort((model._class_order, -m))[:2]
        a = (m[T, None] * model.weights_[T]).sum(axis=0) / m[T].sum()
        np.testing.assert_allclose(weights[row], a * a, rtol=1e-5)
    # Neither vectors nor margins have a say.
    values = np.random.default_rng(5).standard_normal((30, 10))
    np.testing.assert_array_equal(model.query_weights(codes[:30], X[:30], values), weights)
    with pytest.raises(InvalidInput, match="rule='paper'"):
        unsmoothed.query_weights(codes[:30])


def test_the_rule_that_is_best_on_pictures_held_out_is_chosen(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(600) % 4
    # Three bits a class are always 1 in it, the other 24 mean nothing: heavy bits are right.
    ones = rng.random((600, 36)) < 0.5
    for i in range(4):
        ones[y == i, 3 * i : 3 * i + 3] = True
    codes, X = np.packbits(ones, axis=1), np.eye(4)[y] + 0.1 * rng.standard_normal((600, 4))
    settings = {"bits": 36, "random_state": 0}
    model = BitWeights(**settings, rule="chosen").fit(codes, y, X)
    assert model.rule_ == "agreeing"
    # Vectors that say another class than the codes make agreement worthless, not the paper's rule.
    noise = rng.standard_normal((600, 4))
    wrong = BitWeights(**settings, rule="chosen").fit(codes, y, noise)
    assert wrong.agreement_ == 0
    wrong.save(tmp_path / "a")
    loaded = BitWeights.load(tmp_path / "a")
    assert (loaded.rule_, loaded.smoothing_) == (wrong.rule_, wrong.smoothing_)
    np.testing.assert_array_equal(
        loaded.query_weights(codes, noise), wrong.query_weights(codes, noise)
    )


def test_a_bit_in_which_the_query_differs_from_its_class_weighs_least():
    # Class a has bits 11110000, class b the reverse; the query is of class a but for one bit.
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    ones = (np.arange(8) < 4)[None] ^ (y[:, None] == 1) ^ (rng.random((200, 8)) < 0.02)
    model = BitWeights(bits=8, random_state=0).fit(np.packbits(ones, axis=1), y, np.eye(2)[y])
    [weights] = model.query_weights([[0b11100000]], [[1.0, 0.0]])
    assert weights.argmin() == 3
    assert np.delete(weights, 3).min() > 4 * weights[3]


def test_a_bit_counts_by_the_margin_of_the_query():
    codes, _, y, X = example(n=400)
    # Bits of very different size, the last one of none.
    sizes = np.r_[np.geomspace(0.01, 100, 9), 0]
    learned = np.random.default_rng(4).standard_normal((400, 10)) * sizes
    model = BitWeights(bits=10, random_state=0).fit(codes, y, X, learned)
    mean = np.where(sizes > 0, np.abs(learned).mean(axis=0), 1)
    np.testing.assert_allclose(model.margins_, mean, rtol=1e-5)
    values = np.random.default_rng(5).standard_normal((30, 10))
    weights, by_class = (
        model.query_weights(codes[:30], X[:30], values),
        model.query_weights(codes[:30], X[:30]),
    )
    in_class = model.class_shares(codes[:30], X[:30]).any(axis=1)
    assert 0 < in_class.sum() < 30
    power = np.where(in_class, 0.35, 0.7)[:, None]
    expected = by_class * (np.abs(values) / mean**0.75) ** power
    np.testing.assert_allclose(weights, expected, rtol=1e-5)
    # Queries without a class go by their margins alone.
    alone = 0.01 * model.margin_weights(values)[~in_class]
    np.testing.assert_allclose(weights[~in_class], alone, rtol=1e-5)


def test_without_values_to_learn_from_margins_are_taken_as_they_are():
    codes, _, y, X = example(n=400)
    model = BitWeights(bits=10, random_state=0).fit(codes, y, X)
    assert model.margins_ is None
    values = np.random.default_rng(5).standard_normal((30, 10))
    np.testing.assert_allclose(model.margin_weights(values), np.abs(values) ** 0.7, rtol=1e-5)


def test_the_distance_is_plain_where_the_vector_says_another_class_than_the_code():
    codes, _, y, X = example(n=400)
    model = BitWeights(bits=10, random_state=0).fit(codes, y, X)
    sure = model.class_shares(codes, X).any(axis=1)
    assert 0.3 < sure.mean() < 1
    # The same codes with vectors of the next class.
    others = np.roll(np.eye(4), 1, axis=0)[y]
    agree = model.class_shares(codes, others)
    assert agree[sure].any(axis=1).mean() < 0.2
    plain = ~agree.any(axis=1)
    np.testing.assert_allclose(model.query_weights(codes, others)[plain], 0.01, rtol=1e-6)


def test_the_regression_of_classes_takes_sparse_vectors_and_several_labels():
    rng = np.random.default_rng(0)
    has = sp.csr_matrix((rng.random((60, 3)) < 0.5).astype(float))
    units = (has @ np.eye(3, 5) + 0.1 * rng.standard_normal((60, 5))).astype(np.float32)
    A, b = class_regression(has, units, np.random.default_rng(0))
    again = class_regression(has, sp.csr_matrix(units), np.random.default_rng(0))
    np.testing.assert_allclose(A, again[0], atol=1e-6)
    np.testing.assert_allclose(b, again[1], atol=1e-6)
    assert (((units @ A.T + b) > 0.5) == has.toarray()).mean() > 0.95


def test_saved_and_loaded_it_weighs_alike(tmp_path):
    codes, _, y, X = example()
    values = np.random.default_rng(5).standard_normal((len(codes), 10)) * np.arange(1, 11)
    model = BitWeights(bits=10, random_state=0).fit(codes, y, X, values, fingerprint="model")
    model.save(tmp_path / "a")
    loaded = BitWeights.load(tmp_path / "a")
    for each in (None, values):
        np.testing.assert_array_equal(
            loaded.query_weights(codes, X, each), model.query_weights(codes, X, each)
        )
    assert loaded.classes_ == model.classes_
    assert loaded.energy_ == model.energy_
    with pytest.raises(FingerprintMismatch):
        loaded.query_weights(codes, X, fingerprint="another")
    arrays, manifest = load_arrays(tmp_path / "a", kind="bit_weights/1")
    for name, wrong in {
        "weights": -arrays["weights"],
        "codes": arrays["codes"][:, :1],
        "labels": arrays["labels"] + 9,
        "label_ends": arrays["label_ends"][:-1],
        "code_order": arrays["code_order"] * 0,
        "class_order": arrays["class_order"][:-1],
        "map": arrays["map"][:-1],
        "offsets": arrays["offsets"] * np.float32(np.nan),
        "margins": arrays["margins"] * np.float32(0),
    }.items():
        changed = {**arrays, name: wrong}
        save_arrays(tmp_path / "b", changed, kind="bit_weights/1", manifest=manifest)
        with pytest.raises(DamagedFile):
            BitWeights.load(tmp_path / "b")


def test_a_file_from_before_there_was_a_regression_goes_by_votes_alone(tmp_path):
    codes, _, y, X = example(n=400)
    model = BitWeights(bits=10, random_state=0).fit(codes, y, X)
    model.save(tmp_path / "new")
    arrays, manifest = load_arrays(tmp_path / "new", kind="bit_weights/1")
    before = {name: array for name, array in arrays.items() if name not in ("map", "offsets")}
    save_arrays(tmp_path / "old", before, kind="bit_weights/1", manifest=manifest)
    loaded = BitWeights.load(tmp_path / "old")
    shares = loaded.class_shares(codes, X)
    voted, agreed = shares.any(axis=1), model.class_shares(codes, X).any(axis=1)
    assert voted[agreed].all()
    assert voted.sum() > agreed.sum()
    loaded.save(tmp_path / "again")
    again = BitWeights.load(tmp_path / "again")
    np.testing.assert_array_equal(again.class_shares(codes, X), shares)


def test_a_file_from_before_margins_had_a_scale_takes_them_as_they_are(tmp_path):
    codes, _, y, X = example()
    values = np.random.default_rng(5).standard_normal((len(codes), 10)) * np.arange(1, 11)
    model = BitWeights(bits=10, random_state=0).fit(codes, y, X, values)
    model.save(tmp_path / "new")
    arrays, manifest = load_arrays(tmp_path / "new", kind="bit_weights/1")
    arrays.pop("margins")
    save_arrays(tmp_path / "damaged", arrays, kind="bit_weights/1", manifest=manifest)
    with pytest.raises(DamagedFile):
        BitWeights.load(tmp_path / "damaged")
    manifest["learned"].pop("margins")
    save_arrays(tmp_path / "old", arrays, kind="bit_weights/1", manifest=manifest)
    loaded = BitWeights.load(tmp_path / "old")
    assert loaded.margins_ is None
    without = BitWeights(bits=10, random_state=0).fit(codes, y, X)
    np.testing.assert_array_equal(
        loaded.query_weights(codes, X, values), without.query_weights(codes, X, values)
    )


def test_bad_input_is_refused():
    codes, _, y, X = example()
    model = BitWeights(bits=10)
    with pytest.raises(NotFitted):
        model.query_weights(codes, X)
    bad_numbers = ({"bits": 0}, {"balance": -1}, {"leading": 0}, {"agreement": 1})
    for bad in (*bad_numbers, {"smoothing": np.nan}, {"rule": "none"}):
        with pytest.raises(InvalidInput):
            BitWeights(**{"bits": 10, **bad}).fit(codes, y, X)
    with pytest.raises(InvalidInput, match="codes"):
        BitWeights(bits=20).fit(codes, y, X)
    with pytest.raises(InvalidInput, match="a row for each"):
        model.fit(codes, y, X[:-1])
    with pytest.raises(InvalidInput, match="two labels"):
        model.fit(codes, ["one"] * len(y), X)
    model.fit(codes, y, X)
    with pytest.raises(InvalidInput, match="codes"):
        model.query_weights(codes[:, :1], X)
    with pytest.raises(InvalidInput, match="columns"):
        model.query_weights(codes, X[:, :1])
    with pytest.raises(InvalidInput, match="a row for each"):
        model.query_weights(codes, X[:-1])
    values = np.ones((len(codes), 10))
    with pytest.raises(InvalidInput, match="values must have a row for each"):
        model.query_weights(codes, X, values[:-1])
    with pytest.raises(InvalidInput, match="values must have a row for each"):
        model.fit(codes, y, X, values[:-1])
    with pytest.raises(NotFitted):
        BitWeights(bits=10).margin_weights(values)
    with pytest.raises(InvalidInput, match="10 columns"):
        model.query_weights(codes, X, values[:, :-1])
    with pytest.raises(InvalidInput, match="finite"):
        model.query_weights(codes, X, values * np.nan)


def test_similar_classes_are_those_of_similar_vectors():
    units = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [-1.0, 0.0]])
    has = sp.csr_matrix(np.eye(4))
    similarity = class_similarity(has, units, np.ones(4))
    np.testing.assert_allclose(similarity, np.maximum(units @ units.T, 0))

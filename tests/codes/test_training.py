"""The mathematics of the encoders: gradients, rotations, corrected pairs, modelled data."""

import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.codes import S3PLH, DeepBeliefCodes, ITQCodes
from lookalike.codes.neighbourhood import Network, neighbour_cost
from lookalike.codes.rbm import sigmoid, train_layer
from lookalike.codes.s3plh import hashing_objective, pair_signs


def slow_cost(h, shared):
    total = 0.0
    for i in range(len(h)):
        chances = [np.exp(-((h[i] - h[j]) ** 2).sum()) if j != i else 0.0 for j in range(len(h))]
        total += sum(c for c, s in zip(chances, shared[i], strict=True) if s) / sum(chances)
    return -total / len(h)


def test_the_neighbours_cost_and_its_gradient():
    rng = np.random.default_rng(0)
    h = rng.random((9, 4))
    shared = rng.random((9, 9)) < 0.4
    shared = shared | shared.T
    np.fill_diagonal(shared, False)
    cost, gradient = neighbour_cost(h, shared)
    assert np.isclose(cost, slow_cost(h, shared))
    for i, j in ((0, 0), (3, 2), (8, 3)):
        up, down = h.copy(), h.copy()
        up[i, j] += 1e-5
        down[i, j] -= 1e-5
        expected = (slow_cost(up, shared) - slow_cost(down, shared)) / 2e-5
        assert np.isclose(gradient[i, j], expected, atol=1e-5)


def test_the_gradient_of_a_network():
    rng = np.random.default_rng(1)
    layers = [
        (rng.normal(0, 1, (3, 5)).astype(np.float32), rng.normal(0, 1, 5).astype(np.float32)),
        (rng.normal(0, 1, (5, 2)).astype(np.float32), rng.normal(0, 1, 2).astype(np.float32)),
    ]
    network = Network(layers)
    rows = rng.standard_normal((12, 3)).astype(np.float32)
    shared = np.arange(12)[:, None] % 2 == np.arange(12) % 2
    np.fill_diagonal(shared, False)
    flat = network.flat()
    assert len(flat) == 15 + 5 + 10 + 2
    _, gradient = network.loss(rows, shared)
    for place in (0, 7, 16, 21, 31):
        up, down = flat.copy(), flat.copy()
        up[place] += 1e-2
        down[place] -= 1e-2
        costs = [network.like(one).loss(rows, shared)[0] for one in (up, down)]
        assert np.isclose(gradient[place], (costs[0] - costs[1]) / 2e-2, atol=2e-4)


def test_a_layer_learns_to_reconstruct_what_it_saw():
    rng = np.random.default_rng(2)
    patterns = (rng.random((4, 12)) < 0.5).astype(np.float32)
    data = patterns[rng.integers(0, 4, 400)]
    W, b = train_layer(data, 16, 30, rng, real=False)
    hidden = sigmoid(data @ W + b)
    untrained, _ = train_layer(data, 16, 1, np.random.default_rng(2), real=False)
    between = lambda h: np.linalg.norm(h[:, None] - h[None], axis=2)  # noqa: E731
    same = (data[:50, None] == data[None, :50]).all(axis=2)
    distances = between(hidden[:50])
    assert distances[same].max() < distances[~same].min()
    flat = between(sigmoid(data[:50] @ untrained))
    assert distances[~same].mean() > 2 * flat[~same].mean()


def test_fine_tuning_lowers_the_cost():
    rng = np.random.default_rng(3)
    y = np.arange(200) % 4
    X = (0.8 * np.eye(8)[y] + 0.5 * rng.standard_normal((200, 8))).astype(np.float32)
    settings = {"bits": 8, "hidden": (20,), "epochs": 5, "random_state": 0, "batch_size": 200}
    shared = y[:, None] == y
    np.fill_diagonal(shared, False)
    costs = []
    for batches in (0, 5):
        net = DeepBeliefCodes(batches=batches, **settings).fit(X, y)
        ones = np.unpackbits(net.encode(X), axis=1).astype(float)
        costs.append(neighbour_cost(ones, shared)[0])
    assert costs[1] < costs[0] - 0.1


def test_pairs_weigh_the_same_in_all_and_wrong_ones_more():
    has = sp.csr_matrix(np.eye(3)[[0, 0, 1, 1, 2]])
    signs = pair_signs(has)
    assert np.isclose(signs[signs > 0].sum(), -signs[signs < 0].sum())
    assert (np.diag(signs) == 0).all()
    # The first direction cannot part what the second has to: without re-weighting, bits repeat.
    rng = np.random.default_rng(4)
    y = np.arange(300) % 4
    X = np.stack([3.0 * (y // 2), 1.0 * (y % 2), *rng.normal(0, 0.2, (6, 300))], axis=1)
    codes = S3PLH(bits=2, random_state=0).fit(X, y).encode(X)[:, 0]
    assert len({tuple(np.unique(codes[y == one])) for one in range(4)}) == 4


def test_the_objective_of_hashing_is_that_of_the_paper_and_learning_raises_it():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 40)
    X = (rng.normal(size=(4, 9))[y] + 0.6 * rng.normal(size=(40, 9))).astype(np.float32)
    encoder = S3PLH(bits=6, random_state=0).fit(X, y)
    H = np.unpackbits(encoder.encode(X), axis=1, count=6) * 2.0 - 1
    shared = y[:, None] == y
    expected = 0.0
    for k in range(6):
        for i in range(40):
            for j in range(i):
                expected += H[i, k] * H[j, k] * (1 if shared[i, j] else -1)
        expected += np.mean((H[:, k] - H[:, k].mean()) ** 2)
    found = hashing_objective(H, shared)
    assert found == pytest.approx(expected)
    by_chance = [hashing_objective(rng.choice([-1, 1], H.shape), shared) for _ in range(20)]
    assert found > max(by_chance)


def test_itq_rotates_to_lower_quantisation_error():
    rng = np.random.default_rng(5)
    X = (rng.integers(0, 2, (500, 6)) * 2 - 1) @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
    X = X + rng.normal(0, 0.05, X.shape)
    errors = []
    for rounds in (1, 50):
        model = ITQCodes(bits=6, rounds=rounds, random_state=1).fit(X)
        values = (X - model.mean_) @ model.components_.T
        errors.append(np.square(np.sign(values) - values).mean())
        assert np.allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-5)
    assert errors[1] < errors[0]


def test_bits_beyond_the_classes_are_settled_by_the_seed_and_not_by_rounding():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 10
    X = (np.eye(10, 40)[y] + 0.15 * rng.standard_normal((400, 40))).astype(np.float32)
    moved = (X * (1 + 1e-7 * rng.standard_normal(X.shape))).astype(np.float32)
    codes = S3PLH(bits=48, random_state=0).fit(X, y).encode(X)
    again = S3PLH(bits=48, random_state=0).fit(moved, y).encode(X)
    np.testing.assert_array_equal(codes, again)
    other = S3PLH(bits=48, random_state=1).fit(X, y).encode(X)
    assert (codes != other).any()
    ones = np.unpackbits(codes, axis=1).astype(float)
    apart = (ones[:, None] != ones).mean(axis=2)
    same = y[:, None] == y
    # Arbitrary directions would tell pictures of one class apart as often as others.
    assert apart[same].mean() < 0.4 * apart[~same].mean()
    narrow, nearly = X[:, :6], moved[:, :6]
    np.testing.assert_array_equal(
        S3PLH(bits=16, random_state=0).fit(narrow, y).encode(narrow),
        S3PLH(bits=16, random_state=0).fit(nearly, y).encode(narrow),
    )

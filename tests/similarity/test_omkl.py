"""OMKL beside paper 5, section 3.1, example by example."""

import numpy as np
import pytest

from lookalike.core.errors import InvalidInput
from lookalike.similarity.kernels import Kernel
from lookalike.similarity.omkl import learn_online


def problem(seed=0, n=60):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[:, 0] += 1.5 * y
    values = [
        Kernel.of("test", name).fitted("test", rows).square("test", rows)
        for name, rows in (("rbf:1", X), ("rbf:1", X[:, 2:]), ("linear", X[:, :2]))
    ]
    return values, y


def test_it_takes_the_steps_of_equations_3_to_5():
    values, y = problem()
    beta = 0.9
    f = [[] for _ in values]
    theta = np.ones(len(values))
    for t, sign in enumerate(y):
        for i, K in enumerate(values):
            decision = sum(y_s * K[s, t] for s, y_s in f[i])
            if sign * decision <= 0:
                f[i].append((t, sign))
                theta[i] *= beta
    learned = learn_online(values, y, discount=beta)
    np.testing.assert_allclose(learned.weights, theta / theta.sum())
    expected = np.zeros((len(values), len(y)))
    for i, support in enumerate(f):
        for t, sign in support:
            expected[i, t] = sign
    np.testing.assert_array_equal(learned.coefficients, expected)
    np.testing.assert_array_equal(learned.mistakes, [len(support) for support in f])
    signs = [
        np.sign([sum(s * K[at, t] for t, s in own) for at in range(len(y))])
        for own, K in zip(f, values, strict=True)
    ]
    np.testing.assert_allclose(learned.decide(values), theta @ signs / theta.sum())


def test_the_kernels_that_help_weigh_most_and_together_they_are_right():
    values, y = problem(n=300)
    learned = learn_online(values, y)
    assert learned.weights.argmin() == 1
    assert (np.sign(learned.decide(values)) == y).mean() > 0.85


@pytest.mark.parametrize(
    ("values", "signs", "discount"),
    [
        ([np.eye(2)], [0, 1], 0.5),
        ([np.eye(3)], [1, -1], 0.5),
        ([], [1, -1], 0.5),
        ([np.eye(2)], [1, -1], 1.0),
    ],
)
def test_what_makes_no_sense_is_refused(values, signs, discount):
    with pytest.raises(InvalidInput, match="must be"):
        learn_online(values, signs, discount=discount)

"""ΔAP against its definition, and the gains of classes."""

import numpy as np
import pytest

from lookalike.core.errors import InvalidInput
from lookalike.evaluate import class_gains, delta_average_precision


def slow(scores, relevant, own, upper):
    items = [i for i in range(len(scores)) if i != own]
    ranked = sorted(items, key=lambda i: (-scores[i], i))
    depth = max(int(np.ceil(len(ranked) * upper)), 1)
    hits, total = 0, 0.0
    for rank, item in enumerate(ranked[:depth], start=1):
        if relevant[item]:
            hits += 1
            total += hits / rank
    right = sum(relevant[i] for i in items)
    return total / min(right, depth) - right / len(items) if right else np.nan


@pytest.mark.parametrize("upper", [1.0, 0.5, 0.1])
def test_it_equals_the_definition(upper):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 5, (40, 17)).astype(float)
    relevant = rng.random((40, 17)) < rng.random((40, 1)) * 0.5
    own = rng.integers(-1, 17, 40)
    found = delta_average_precision(scores, relevant, own=own, upper=upper)
    expected = [slow(*one, upper) for one in zip(scores, relevant, own, strict=True)]
    np.testing.assert_allclose(found, expected)
    assert np.isnan(found).any() == np.isnan(expected).any()


def test_a_random_order_gains_little_and_a_perfect_one_what_is_left():
    rng = np.random.default_rng(1)
    relevant = rng.random((300, 200)) < 0.2
    chance = delta_average_precision(rng.random((300, 200)), relevant)
    assert abs(np.mean(chance)) < 0.03
    best = delta_average_precision(relevant.astype(float), relevant)
    np.testing.assert_allclose(best, 1 - relevant.mean(axis=1))


def test_gains_of_classes():
    before = np.array([0.1, 0.2, 0.3, np.nan, 0.5])
    after = np.array([0.2, 0.1, 0.5, 0.4, 0.2])
    labels = [{"a"}, {"a", "b"}, {"b"}, {"b", "c"}, {"d"}]
    gains = {gain.name: gain for gain in class_gains(before, after, labels)}
    assert sorted(gains) == ["a", "b", "d"]
    assert gains["b"].queries == 2
    assert gains["b"].gain == pytest.approx(0.05)
    assert gains["a"].error == pytest.approx(0.1)
    assert not gains["a"].worse()
    assert np.isnan(gains["d"].error)
    sure = class_gains([0.5] * 9, 0.4 + 0.01 * (np.arange(9) % 2), ["x"] * 9)
    assert sure[0].worse()


def test_bad_input():
    with pytest.raises(InvalidInput, match="upper"):
        delta_average_precision([[1.0]], np.array([[True]]), upper=0)
    with pytest.raises(InvalidInput, match="one figure for each"):
        class_gains([1.0], [1.0, 2.0], ["a"])

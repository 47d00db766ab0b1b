"""Agreement of raters and the precision of what they judged, beside plain definitions."""

import numpy as np
import pytest

from lookalike.evaluate.raters import kappa, mean_kappa, ranking_precision


def test_kappa_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    first = {(1, n): bool(rng.random() < 0.4) for n in range(60)}
    second = {key: (not value if rng.random() < 0.2 else value) for key, value in first.items()}
    second[9, 9] = True
    table = np.zeros((2, 2))
    for key, value in first.items():
        table[int(value), int(second[key])] += 1
    table /= table.sum()
    chance = table.sum(axis=0) @ table.sum(axis=1)
    assert kappa(first, second) == pytest.approx((np.trace(table) - chance) / (1 - chance))
    assert kappa(first, first) == 1
    assert kappa(first, {(2, 2): True}) is None
    assert kappa({(1, 1): True}, {(1, 1): True}) is None
    third = {(7, 7): True}
    assert mean_kappa([first, second, third]) == kappa(first, second)
    assert mean_kappa([first]) is None


def test_precision_is_the_mean_over_raters_and_then_over_queries():
    marks = [[[1, 0, 1], [0, 0, 1]], [[1, 1, 0]]]
    found = ranking_precision(marks)
    first = np.mean([[1, 1 / 2, 2 / 3], [0, 0, 1 / 3]], axis=0)
    second = [1, 1, 2 / 3]
    np.testing.assert_allclose(found.mean, np.mean([first, second], axis=0))
    np.testing.assert_allclose(found.error, np.std([first, second], axis=0, ddof=1) / np.sqrt(2))
    assert all(
        low <= mean <= high
        for low, mean, high in zip(found.low, found.mean, found.high, strict=True)
    )


def test_the_interval_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = 0
    for trial in range(60):
        marks = [[[bool(rng.random() < 0.4)]] for _ in range(40)]
        found = ranking_precision(marks, random_state=trial)
        held += found.low[0] <= 0.4 <= found.high[0]
    assert held >= 50

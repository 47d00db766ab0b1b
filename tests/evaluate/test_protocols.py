import time
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from lookalike.core.errors import InvalidInput
from lookalike.evaluate import Fold, choose, class_folds, cross_validate
from lookalike.supervision import Relevance


class Weighted(BaseEstimator):
    """Scores by the first columns only, times a sign; it learns nothing but what it was given."""

    seen: ClassVar[list] = []

    def __init__(self, columns=1, sign=1.0):
        self.columns = columns
        self.sign = sign

    def fit(self, X, y):
        Weighted.seen.append((self.columns, self.sign, X.shape[0], len(Relevance.of(y))))
        time.sleep(0.001)
        self.fitted_ = True
        return self

    def scores(self, Q, P):
        products = self.sign * (Q[:, : self.columns] @ P[:, : self.columns].T)
        return products.toarray() if sp.issparse(products) else products


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    return (np.eye(3)[y] + 0.1 * rng.random((90, 3))).astype(np.float32), y


@pytest.fixture(autouse=True)
def _forget():
    Weighted.seen.clear()


def test_folds_draw_from_each_class_and_never_overlap():
    labels = list("abc" * 70)
    folds = class_folds(labels, random_state=3)
    assert len(folds) == 5
    for fold in folds:
        for rows, count in ((fold.train_rows, 40), (fold.test_rows, 25)):
            assert rows.tolist() == sorted(rows.tolist())
            drawn = [labels[row] for row in rows]
            assert [drawn.count(name) for name in "abc"] == [count] * 3
        assert not np.intersect1d(fold.train_rows, fold.test_rows).size
    assert len({tuple(fold.test_rows) for fold in folds}) == 5
    again = class_folds(labels, random_state=3)
    assert all((a.train_rows == b.train_rows).all() for a, b in zip(folds, again, strict=True))


def test_classes_too_small_are_refused_by_name():
    labels = ["big"] * 65 + ["small"] * 64
    with pytest.raises(InvalidInput, match="1 of 2 have fewer, such as 'small' with 64"):
        class_folds(labels)
    with pytest.raises(InvalidInput, match="at least one class"):
        class_folds([])
    with pytest.raises(InvalidInput, match="test must be a whole number from 1"):
        class_folds(labels, test=0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    "told",
    [
        lambda y: y,
        lambda y: y.tolist(),
        lambda y: [{label} for label in y.tolist()],
        lambda y: sp.csr_matrix((y[:, None] == y).astype(float)),
        Relevance.of,
    ],
)
def test_the_best_on_the_part_held_out_learns_again_from_all(data, form, told):
    X, y = data
    candidates = [Weighted(3, -1.0), Weighted(1), Weighted(3), Weighted(3)]
    choice = choose(candidates, form(X), told(y), random_state=0)
    assert choice.place == 2
    assert choice.held_out[2] == choice.held_out[3] == 1.0 > choice.held_out[1]
    assert choice.model is not candidates[2]
    assert not hasattr(candidates[2], "fitted_")
    sizes = [seen[2:] for seen in Weighted.seen]
    assert sizes[:4] == [sizes[0]] * 4
    assert 65 <= sizes[0][0] == sizes[0][1] <= 76
    assert Weighted.seen[4] == (3, 1.0, 90, 90)
    assert choice.wall_seconds >= 0.001


def test_one_candidate_is_trained_once(data):
    X, y = data
    choice = choose([Weighted(3)], X, y)
    assert choice.held_out == ()
    assert len(Weighted.seen) == 1
    with pytest.raises(InvalidInput, match="at least one candidate"):
        choose([], X, y)
    with pytest.raises(InvalidInput, match="too few pictures"):
        choose([Weighted(), Weighted()], X[:3], ["a", "b", "c"])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_cross_validation_trains_and_tests_on_each_fold(data, form):
    X, y = data
    folds = class_folds(y, train=16, test=10, folds=3, random_state=0)
    told = []
    result = cross_validate(
        [Weighted(1), Weighted(3)],
        form(X),
        y,
        folds,
        cutoffs=(1, 9, 18),
        random_state=0,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert [choice.place for choice in result.choices] == [1, 1, 1]
    assert result.mean_average_precision.mean == 1.0
    assert result.mean_average_precision.deviation == 0.0
    assert result.precision_at(1).mean == 1.0
    assert [point.mean for point in result.precision_curve] == [1.0, 1.0, 0.5]
    assert result.chance.mean == pytest.approx(9 / 29)
    assert result.wall_seconds.mean >= 0.001
    assert result.cpu_seconds.count == 3
    assert {seen[2] for seen in Weighted.seen if seen[0] == 3} >= {48}


def test_the_spread_is_between_folds(data):
    X, y = data
    first = Fold(np.arange(90), np.arange(90))
    second = Fold(np.arange(90), np.arange(0, 90, 2))
    result = cross_validate([Weighted(1)], X, y, [first, second], cutoffs=[2])
    values = [judgement.mean_average_precision for judgement in result.judgements]
    assert values[0] != values[1]
    assert result.mean_average_precision.deviation == pytest.approx(np.std(values, ddof=1))
    assert result.mean_average_precision.error == pytest.approx(abs(values[0] - values[1]) / 2)
    with pytest.raises(InvalidInput, match="at least one fold"):
        cross_validate([Weighted(1)], X, y, [])

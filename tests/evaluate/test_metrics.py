import numpy as np
import pytest
import scipy.sparse as sp

from lookalike.core.errors import InvalidInput
from lookalike.evaluate import (
    evaluate_similarity,
    mean_average_precision,
    precision_at_k,
    precision_curve,
)
from lookalike.supervision import Relevance
from tests.reference.ranking import judge_slowly


class Inner:
    """Scores by the inner product, and remembers how much was asked for at once."""

    def __init__(self):
        self.asked = []

    def scores(self, Q, P):
        self.asked.append((Q.shape[0], P.shape[0]))
        products = Q @ P.T
        return products.toarray() if sp.issparse(products) else products


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.random((30, 6)).astype(np.float32), rng.integers(0, 4, 30)


def test_labels_and_a_bool_matrix_agree_with_the_slow_twin(data):
    X, y = data
    scores, alike = X @ X.T, y[:, None] == y
    slow = [judge_slowly(scores[i], alike[i], i, (3, 7)) for i in range(30)]
    for relevant, own in (
        (alike, np.arange(30)),
        (y, None),
        ([{label} for label in y.tolist()], None),
        (sp.csr_matrix(alike.astype(float)), None),
        (Relevance.of(y), None),
    ):
        figure = mean_average_precision(scores, relevant, own=own)
        assert figure == pytest.approx(np.mean([average for average, _ in slow]))
        curve = precision_curve(scores, relevant, (3, 7), own=own)
        np.testing.assert_allclose(curve, np.mean([at for _, at in slow], axis=0))
        assert precision_at_k(scores, relevant, 7, own=own) == pytest.approx(curve[1])


def test_queries_apart_from_the_items():
    relevant = np.array([[False, True, False]])
    assert mean_average_precision([[3.0, 2.0, 1.0]], relevant) == 0.5
    with pytest.raises(InvalidInput, match="square"):
        mean_average_precision([[3.0, 2.0, 1.0]], ["a", "b", "a"])
    with pytest.raises(InvalidInput, match="own needs a bool array"):
        mean_average_precision(np.eye(2), ["a", "a"], own=[0, 1])
    with pytest.raises(InvalidInput):
        mean_average_precision(np.eye(3), ["a", "a"])


def test_nothing_alike_is_said():
    with pytest.raises(InvalidInput, match="nothing to average"):
        mean_average_precision(np.eye(3), ["a", "b", "c"])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.coo_matrix])
def test_a_model_is_judged_in_blocks(data, form):
    X, y = data
    model = Inner()
    found = evaluate_similarity(model, form(X), y, cutoffs=(5,), block_scores=240)
    assert model.asked == [(8, 30)] * 3 + [(6, 30)]
    assert found.mean_average_precision == pytest.approx(mean_average_precision(X @ X.T, y))
    assert found.precision_at(5) == pytest.approx(precision_at_k(X @ X.T, y, 5))


def test_shapes_that_do_not_fit_are_refused(data):
    X, y = data
    with pytest.raises(InvalidInput):
        evaluate_similarity(Inner(), X, y[:-1])
    with pytest.raises(InvalidInput, match="matrix"):
        evaluate_similarity(Inner(), X[0], y)

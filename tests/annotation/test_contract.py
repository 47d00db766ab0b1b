"""Every annotator of the registry keeps the contract, and so does one of somebody's own."""

import numpy as np
import pytest

from lookalike.annotation import (
    ANNOTATORS,
    WSABIE,
    Annotator,
    Ensemble,
    LinearRanker,
    NearestNeighbours,
    OneVsRest,
    Ridge,
)
from lookalike.checks.annotator import AnnotatorContract
from lookalike.core.errors import MissingPart
from lookalike.core.vectors import dense
from tests.contract import each, passes


class Squares(Annotator):
    """Words by least squares, as somebody else would write it."""

    name = "squares"

    def __init__(self, *, held_out=0.2, random_state=None):
        self.held_out = held_out
        self.random_state = random_state

    def scores(self, X):
        return np.asarray(self._vectors(X) @ self.W_, np.float32)

    def word_queries(self, words):
        return self.W_.T[[self.word_number(word) for word in words]]

    def _learn(self, split, rng, progress):
        X, Y = dense(split.learned.vectors), split.learned.has.toarray()
        W = np.linalg.solve(X.T @ X + 0.1 * np.eye(X.shape[1]), X.T @ Y).astype(np.float32)
        self.W_, self.words_, self.n_features_in_ = W, split.whole.words, len(W)
        self.confidence_ = self._confidence_from(split.judged)
        progress(1, 1)

    def _own_state(self):
        return {"W": self.W_}, {}

    def _restore_own(self, arrays, learned):
        self.W_ = arrays["W"]
        self.n_features_in_ = len(self.W_)


# With precision at 1 on digits, measured with 1,200 to learn from and 597 to judge by.
KINDS = {
    "wsabie": (WSABIE(dimension=20, random_state=0), 0.945),
    "wsabie from ridge": (
        WSABIE(dimension=20, start="ridge", constant=0.3, choose_by="MAP", random_state=0),
        0.963,
    ),
    "ridge": (Ridge(random_state=0), 0.933),
    "ridge without offsets": (Ridge(constant=0, random_state=0), 0.936),
    "linear": (LinearRanker(random_state=0), 0.965),
    "linear auc": (LinearRanker(loss="auc", random_state=0), 0.951),
    "one_vs_rest": (OneVsRest(random_state=0), 0.950),
    "neighbours": (NearestNeighbours(random_state=0), 0.985),
    "neighbours by tree": (NearestNeighbours(trees=1, leaf=300, random_state=0), 0.968),
    "ensemble": (
        Ensemble([OneVsRest(random_state=1), WSABIE(dimension=20, random_state=2)], random_state=0),
        0.953,
    ),
    "squares": (Squares(random_state=0), 0.93),
}


@pytest.mark.parametrize("kind", KINDS)
@each(AnnotatorContract)
def test_contract(kind, rule, register):
    register(ANNOTATORS, Squares, "squares")
    annotator, precision = KINDS[kind]
    has_word_queries = not isinstance(annotator, NearestNeighbours)
    passes(rule, AnnotatorContract, annotator, precision, has_word_queries)


def test_every_name_keeps_the_contract():
    assert set(ANNOTATORS.names) <= set(KINDS)


def test_python_refuses_an_annotator_that_lacks_something():
    class Half(Annotator):
        def scores(self, X):
            return X

    with pytest.raises(TypeError, match="_learn"):
        Half()


def test_a_part_that_is_gone_is_named(tmp_path):
    model = Squares().fit(np.eye(4), ["a", "b", "a", "b"])
    model.save(tmp_path / "model")
    with pytest.raises(MissingPart, match="squares"):
        ANNOTATORS.load(tmp_path / "model")

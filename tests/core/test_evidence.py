import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from lookalike.collection.log.examples import Split
from lookalike.collection.training.judging import judge_similarity, paired_gain
from lookalike.core.evidence import CERTAIN, Difference, paired_difference
from lookalike.similarity.cosine import Cosine
from lookalike.similarity.lda import LDA
from lookalike.supervision import Relevance


def test_the_error_of_a_label_is_that_of_its_sums():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(5), 8)
    gains = rng.normal(size=5)[labels] + rng.normal(size=40) / 10
    found = paired_difference(np.zeros(40), gains, Relevance.of(labels).groups)
    apart = (gains - gains.mean()) / 40
    sums = [apart[labels == label].sum() for label in range(5)]
    assert found.mean == pytest.approx(gains.mean())
    assert found.error == pytest.approx(np.sqrt(np.square(sums).sum() * 5 / 4))


def test_independent_queries_count_half():
    gains = np.random.default_rng(0).normal(size=200)
    alone = sp.identity(200, format="csr")
    found = paired_difference(np.zeros(200), gains, alone)
    assert found.error == pytest.approx(np.sqrt(2) * gains.std() / np.sqrt(200))


def test_a_picture_of_several_labels_counts_once():
    labels = np.repeat(np.arange(5), 8)
    twice = Relevance.of([{f"a{k}", f"b{k}"} for k in labels])
    gains = np.random.default_rng(2).normal(size=40) + labels
    found, expected = (
        paired_difference(np.zeros(40), gains, it.groups) for it in (twice, Relevance.of(labels))
    )
    assert found.error == pytest.approx(expected.error)


def test_a_clique_of_pairs_is_a_label():
    labels = np.repeat([0, 1, 2], 6)
    gains = np.random.default_rng(1).normal(size=18) + labels
    pairs = Relevance.of(sp.csr_matrix(labels[:, None] == labels, dtype=float))
    same = [
        paired_difference(np.zeros(18), gains, it.groups) for it in (pairs, Relevance.of(labels))
    ]
    assert same[0].error == pytest.approx(same[1].error)


def test_weights_and_no_queries():
    groups = Relevance.of(["a", "a", "b", "b"]).groups
    found = paired_difference([0] * 4, [1, 1, 0, 0], groups, np.array([0.5, 0.5, 0, 0]))
    assert (found.mean, found.error) == (1.0, 0.0)
    assert paired_difference([], [], groups[:0]) == Difference(0.0, 0.0)


def test_what_counts_as_a_gain_and_as_a_loss():
    assert Difference(0.03, 0.01).is_gain
    assert not Difference(CERTAIN * 0.01, 0.01).is_gain
    assert not Difference(0.0, 0.0).is_gain
    assert Difference(-0.011, 0.01).is_loss
    assert not Difference(-0.01, 0.01).is_loss
    assert str(Difference(-0.0114, 0.01)) == "-0.011 ± 0.010"


def test_shuffled_labels_do_not_pass_the_gate_and_real_ones_do():
    """Twelve small collections of digits: 300 pictures to learn from, 60 to judge by."""
    data = load_digits()
    X = data.data.astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    passed = {"real": 0, "shuffled": 0}
    for _ in range(12):
        rows = rng.choice(len(X), 360, replace=False)
        real = data.target[rows]
        for name, labels in (("real", real), ("shuffled", rng.permutation(real))):
            learned = LDA().fit(X[rows[60:]], labels[60:])
            judges = Relevance.of(labels[:60])
            judged = tuple(judge_similarity(it, X[rows[:60]], judges) for it in (Cosine(), learned))
            held = Split(np.arange(60, 360), np.arange(60))
            passed[name] += paired_gain([judged], judges, [held]).is_certain
    assert passed["shuffled"] <= 1
    assert passed["real"] >= 8

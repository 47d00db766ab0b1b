"""The publish gate weighs evidence: gains beyond chance pass, and no more."""

import numpy as np
import pytest

from lookalike.collection.training.gate import Gain
from lookalike.core.evidence import Difference
from tests.collection.training.test_learning import CLICKS, labels, stripes

__all__ = ["stripes"]

pytestmark = pytest.mark.usefixtures("real_gate")


@pytest.mark.parametrize(
    ("mean", "first", "passes", "why"),
    [
        ((0.09, 0.02), (-0.004, 0.005), True, "ranks better and is now in use"),
        ((0.09, 0.02), (-0.02, 0.005), False, "loses too many first matches"),
        ((0.02, 0.02), (0.1, 0.005), False, "no better than chance"),
        ((0.0, 0.0), (0.0, 0.0), False, "no better than chance"),
        ((-0.05, 0.02), (0.0, 0.005), False, "ranks worse than the one in use"),
    ],
)
def test_a_gain_passes_by_its_evidence(mean, first, passes, why):
    gain = Gain(Difference(*mean), Difference(*first))
    assert gain.passes is passes
    assert why in gain.reason
    assert f"mean average precision {mean[0]:+.3f} ± {mean[1]:.3f}" in gain.reason
    assert f"precision at 1 {first[0]:+.3f} ± {first[1]:.3f}." in gain.reason


def test_a_clear_gain_is_published_and_the_same_again_is_not(stripes):
    first = stripes.learn(labels()).similarity
    assert first.published, first.reason
    assert "precision at 1" in first.reason
    again = stripes.learn(labels()).similarity
    assert not again.published
    assert "no better than chance" in again.reason


def test_shuffled_labels_are_not_published(stripes):
    rng = np.random.default_rng(0)
    names = list(labels().values())
    for seed in range(4):
        order = rng.permutation(len(names))
        given = {f"{number}.png": names[place] for number, place in enumerate(order)}
        assert not stripes.learn(given, random_state=seed).similarity.published


def test_clicks_pass_the_same_gate(stripes):
    learned = stripes.learn(clicks=CLICKS).similarity
    assert " ± " in learned.reason or "did not improve" in learned.reason

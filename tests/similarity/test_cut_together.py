import numpy as np
import pytest

from lookalike.similarity.operator import Axes, cut_together


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([0.5, 0.5, 0.0], [25, 25, 0]),
        ([0.9, 0.05, 0.05], [30, 10, 10]),
        # What weighs next to nothing takes no room, even where there is some.
        ([1.0, 1e-200, 1e-320], [30, 0, 0]),
        ([1.0, 1e-12, 1e-300], [30, 0, 0]),
    ],
)
def test_axes_are_shared_by_weight_however_far_weights_are_apart(weights, expected):
    axes = [Axes(np.ones((4, 30), np.float32), None, np.ones(30)) for _ in weights]
    assert [one.width for one in cut_together(axes, np.array(weights), 50)] == expected

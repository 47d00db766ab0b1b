"""Where a joint embedding starts, and how much of that is kept."""

import numpy as np
import pytest

from lookalike.annotation import WSABIE
from lookalike.annotation import wsabie as module
from lookalike.annotation.start import KEPT, with_start


@pytest.mark.parametrize(("d", "Y", "D"), [(6, 9, 12), (12, 5, 6), (7, 7, 7)])
def test_a_share_of_the_start_is_kept(d, Y, D):
    rng = np.random.default_rng(0)
    shapes = [(d, D), (Y, D)] * 2
    V0, W0, V, W = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    mixed_V, mixed_W = with_start((V0, W0), V, W)
    assert (mixed_V.shape, mixed_W.shape) == (V.shape, W.shape)
    expected = KEPT * V0 @ W0.T + (1 - KEPT) * V @ W.T
    np.testing.assert_allclose(mixed_V @ mixed_W.T, expected, atol=1e-4)


def test_what_does_not_fit_the_dimension_is_the_least():
    rng = np.random.default_rng(1)
    V0, W0, V, W = (rng.normal(size=(20, 3)).astype(np.float32) for _ in range(4))
    mixed_V, mixed_W = with_start((V0, W0), V, W)
    expected = KEPT * V0 @ W0.T + (1 - KEPT) * V @ W.T
    left_out = np.linalg.svd(expected, compute_uv=False)[3:]
    assert np.linalg.norm(mixed_V @ mixed_W.T - expected) == pytest.approx(
        np.linalg.norm(left_out), rel=1e-4
    )


@pytest.mark.parametrize("start", ["ridge", "random"])
def test_only_of_the_ridge_solution(start, monkeypatch):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 5)), [str(row % 3) for row in range(60)]
    asked = []
    monkeypatch.setattr(module, "with_start", lambda *given: asked.append(given) or given[1:])
    WSABIE(dimension=4, start=start, epochs=2, random_state=0).fit(X, y)
    assert bool(asked) == (start == "ridge")
    for (V0, _), V, _ in asked:
        assert not np.array_equal(V0, V), "the start is not what was learned from there"

"""How far queries follow what was learned is chosen by what taught and left-out kinds gain."""

from types import SimpleNamespace

import numpy as np
import pytest

from lookalike.core import sparse as sp
from lookalike.similarity.choosing import choose_reach
from lookalike.similarity.held_out import Verdict

QUERIES = 400
STRANGE = np.arange(QUERIES) >= QUERIES // 4


def verdict(taught, strange):
    """Return average precisions that differ from .5 by what taught and left-out kinds gain."""
    noise = np.random.default_rng(0).uniform(-0.01, 0.01, QUERIES)
    each = 0.5 + np.where(STRANGE, strange, taught) + noise
    weights = np.full(QUERIES, 1 / QUERIES)
    return Verdict(each, weights, np.full(QUERIES, 0.5), sp.csr_matrix(sp.eye(QUERIES)))


def chosen(gains):
    """Return the shares chosen where each pair of shares has such gains."""

    def judge(shares):
        near, far = shares[0], shares[-1]
        return verdict(*gains.get((round(float(far), 3), round(float(near), 3)), (0.0, 0.0)))

    trial = SimpleNamespace(
        path=SimpleNamespace(at=lambda point: None),
        judge=SimpleNamespace(
            judged_taught=~STRANGE,
            taught=~STRANGE,
            blended=lambda W, form: lambda shares: shares,
            judge=judge,
        ),
        before=verdict(0.0, 0.0),
        near=np.where(STRANGE, 0.1, 0.9),
    )
    point, rule = choose_reach([trial], "normalized", [(0.0, 0.0), *gains])
    return point, rule[2:]


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        # However many pictures of left-out kinds are judged, taught ones count for more.
        ({(0.1, 0.75): (0.03, 0.04), (0.25, 1.0): (0.06, 0.01)}, (0.25, 1.0)),
        ({(0.1, 0.75): (0.03, 0.04), (0.25, 1.0): (0.04, 0.01)}, (0.1, 0.75)),
        # What left-out kinds lose counts three times more than what the others gain.
        ({(0.1, 0.75): (0.03, 0.0), (0.25, 1.0): (0.06, -0.01)}, (0.1, 0.75)),
        ({(0.1, 0.75): (0.03, 0.0), (0.25, 1.0): (0.12, -0.01)}, (0.25, 1.0)),
    ],
)
def test_taught_kinds_count_more_unless_others_lose(gains, expected):
    assert chosen(gains) == (1.0, expected)

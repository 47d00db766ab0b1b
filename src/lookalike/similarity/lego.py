"""Learn a metric online with the LogDet divergence (LEGO)."""

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lookalike.core.checks import check_number, check_whole
from lookalike.core.progress import Progress
from lookalike.core.seeds import RandomState, generator, loop_state
from lookalike.core.stored import with_settings
from lookalike.core.vectors import Vectors
from lookalike.similarity._fast.lego import learn
from lookalike.similarity.linear_map import LearnedMap, LinearMap, Rotated

ROUND = 1000
"""Steps between two progress reports."""


@with_settings
class LEGO(LinearMap):
    """LogDet exact gradient online: keep pairs of a class near and others far, one at a time.

    For a pair with z = x_i − x_j, distance ŷ = zᵀAz and the distance y it should have, the step

        A ← argmin_A D_ld(A, A_t) + (η/2) (zᵀAz − y)²
          = A_t − η(ȳ − y) / (1 + η(ȳ − y)ŷ) · A_t z zᵀ A_t,
        ȳ = (ηyŷ − 1 + √((ηyŷ − 1)² + 4ηŷ²)) / (2ηŷ)

    has a closed form, where ȳ = zᵀA_{t+1}z is the distance after it (Jain, Kulis, Dhillon and
    Grauman, 2008, Eq. 2 and 3). Since 1 + η(ȳ − y)ŷ = ŷ/ȳ > 0, A stays positive definite. As in
    paper 1, section 5.3.1, item 5, a step is taken only for a pair of one class farther than
    ``near`` (then y = near) and a pair of two classes nearer than ``far`` (then y = far); these
    are the 5th and the 95th percentile of the distances before learning.

    Memory O(nd + d²), time O(k²) per step, where k ≤ min(n − 1, d) is the dimension the vectors
    span.

    Parameters
    ----------
    regularization : float
        η. The paper chose from 0.02, 0.08 and 0.32 by cross-validation.
    steps : int
        Pairs drawn, half of one class and half of two. The paper stopped early by
        cross-validation.
    random_state : int, Generator or None
        Makes a run repeatable.

    Attributes
    ----------
    components_ : ndarray of shape (d, d)
        The root of A; outside the span of the training vectors, A stays the identity.
    moved_ : int
        How many of the pairs violated their limit.

    Notes
    -----
    Departures: vectors are rotated to their span and scaled to a mean squared distance of 1, so
    that η does not depend on their unit.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.1, 5.0], [1.0, 0.0], [1.1, 5.0]]
    >>> learned = LEGO(random_state=0).fit(X, ["left", "left", "right", "right"])
    >>> int(learned.scores([[0.0, 5.0]], X[:1] + X[3:]).argmax())
    0
    """

    name = "lego"
    _numbers: ClassVar[Mapping[str, type]] = {"moved_": int}

    regularization: float = 0.08
    steps: int = 30_000
    random_state: RandomState = None

    moved_: int = field(init=False)

    def _check_parameters(self) -> None:
        check_number("LEGO", "regularization", self.regularization)
        check_whole("LEGO", "steps", self.steps, 1)
        generator(self.random_state)

    def _learn(self, vectors: Vectors, codes: NDArray[np.int64], progress: Progress) -> LearnedMap:
        rng = generator(self.random_state)
        eta, steps = float(self.regularization), int(self.steps)
        rotated = Rotated.of("LEGO", vectors)
        Z = rotated.Z

        left, right = rng.integers(len(Z), size=(2, 20_000))
        apart = left != right
        differences = Z[left[apart]] - Z[right[apart]]
        near, far = np.percentile(np.einsum("ij,ij->i", differences, differences), [5, 95])

        members = np.argsort(codes, kind="stable").astype(np.uint32)
        starts = np.concatenate([[0], np.cumsum(np.bincount(codes))]).astype(np.uint32)
        state = loop_state(rng)
        A = np.eye(Z.shape[1])
        moved = 0
        for done in range(0, steps, ROUND):
            count = min(ROUND, steps - done)
            moved += learn(
                A, Z, codes.astype(np.uint32), members, starts, near, far, eta, count, state
            )
            progress(done + count, steps)
        return rotated.whole(A, moved_=int(moved))

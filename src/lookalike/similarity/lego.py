"""Learn a metric online with the LogDet divergence (LEGO)."""

from collections.abc import Mapping
from dataclasses import field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lookalike.core.checks import check_number, check_whole
from lookalike.core.progress import Progress, silent
from lookalike.core.seeds import RandomState, generator, loop_state
from lookalike.core.stored import with_settings
from lookalike.core.vectors import Vectors
from lookalike.similarity._fast.lego import learn
from lookalike.similarity.linear_map import LearnedMap, LinearMap, Matrix, Rotated

ROUND = 64
"""Moved pairs whose changes are added up before they go into the matrix of inner products."""

MIN_AXIS = 1e-5
"""The least deviation of an axis that is learned on, as a share of the largest."""


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

    What is kept is not A but the n × n inner products G = Z A Zᵀ of the pictures, of which a step
    is G − c·g gᵀ with g the difference of two columns: a pair that meets its limit costs O(1), and
    those that move it go in together. Memory O(n² + nd + d²), time O(n²) per moved pair at the
    speed of a matrix product.

    Parameters
    ----------
    regularization : float
        η. The paper chose from 0.02, 0.08 and 0.32 by cross-validation.
    steps : int
        Pairs drawn, half of one class and half of two. The paper stopped early by
        cross-validation; on its 10 classes what is learned grows until about 600,000.
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
    that η does not depend on their unit; along axes that vary less than 1e-5 of the first, A stays
    the identity.

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
    steps: int = 600_000
    random_state: RandomState = None

    moved_: int = field(init=False)

    def _check_parameters(self) -> None:
        check_number("LEGO", "regularization", self.regularization)
        check_whole("LEGO", "steps", self.steps, 1)
        generator(self.random_state)

    def _learn(self, vectors: Vectors, codes: NDArray[np.int64], progress: Progress) -> LearnedMap:
        rng = generator(self.random_state)
        eta, steps = float(self.regularization), int(self.steps)
        rotated = Rotated.of("LEGO", vectors).without_small_axes(MIN_AXIS)
        Z = rotated.Z
        left, right = rng.integers(len(Z), size=(2, 20_000))
        apart = left != right
        differences = Z[left[apart]] - Z[right[apart]]
        near, far = np.percentile(np.einsum("ij,ij->i", differences, differences), [5, 95])
        G, moved = learn_products(Z @ Z.T, codes, near, far, eta, steps, loop_state(rng), progress)
        # The columns of Z are at right angles: Z A Zᵀ gives A column by column.
        inverse = Z / np.einsum("ij,ij->j", Z, Z)
        return rotated.whole(inverse.T @ G @ inverse, moved_=moved)


def learn_products(
    start: Matrix,
    codes: NDArray[np.int64],
    near: float,
    far: float,
    eta: float,
    steps: int,
    state: NDArray[np.uint64],
    progress: Progress = silent,
) -> tuple[Matrix, int]:
    """Return the inner products of pictures after so many pairs, and how many pairs moved them."""
    G = np.array(start, dtype=np.float64)
    members = np.argsort(codes, kind="stable").astype(np.uint32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes))]).astype(np.uint32)
    rows, changes = np.empty((ROUND, len(G))), np.empty(ROUND)
    own = codes.astype(np.uint32)
    done = total = 0
    while done < steps:
        taken, moved = learn(
            G, rows, changes, own, members, starts, near, far, eta, steps - done, state
        )
        G -= (rows[:moved].T * changes[:moved]) @ rows[:moved]
        done, total = done + taken, total + moved
        progress(done, steps)
    return G, total

"""Learn a positive semidefinite metric by projected gradient steps from the identity."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol, TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from lookalike.core.checks import check_number, check_whole
from lookalike.core.progress import Progress
from lookalike.core.vectors import Vectors
from lookalike.similarity.linear_map import LearnedMap, LinearMap, Matrix, Rotated

ROUND = 10
"""Iterations per round: between progress reports, and between choices of active pairs."""

MEMORY = 5
"""How many previous losses bound the next in :func:`descend`."""

Objective: TypeAlias = Callable[[Matrix], tuple[float, Matrix]]


class Loss(Protocol):
    """A convex loss of a metric M over the training vectors."""

    def activate(self, M: Matrix) -> int:
        """Choose what :meth:`loss` covers in the next round; return how much of it is new."""

    def loss(self, M: Matrix) -> tuple[float, Matrix]:
        """Return the loss and its gradient in M."""


class Descent(LinearMap):
    """A map learned by minimising a loss over metrics, in rounds.

    It stops after ``max_iterations`` evaluations of the gradient, or when a step lowers the loss
    by less than a fraction ``tolerance`` and a new round brings nothing new.

    Attributes
    ----------
    components_ : ndarray of shape (d, d)
        The root of M; outside the span of the training vectors, M stays the identity.
    n_iter_ : int
        Iterations used.

    Notes
    -----
    Departures of those that descend: the step is Barzilai and Borwein's; vectors are first rotated
    to their principal components without reduction, as in paper 1, and scaled to a mean squared
    distance of 1, which is where M = I starts and what a change of their unit does not touch.
    """

    _numbers: ClassVar[Mapping[str, type]] = {"n_iter_": int}

    max_iterations: int
    tolerance: float
    n_iter_: int

    @abstractmethod
    def _loss(self, Z: Matrix, codes: NDArray[np.int64]) -> Loss:
        """Return the loss over rotated vectors and their classes."""

    def _check_parameters(self) -> None:
        who = type(self).__name__
        check_whole(who, "max_iterations", self.max_iterations, 1)
        check_number(who, "tolerance", self.tolerance)

    def _learn(self, vectors: Vectors, codes: NDArray[np.int64], progress: Progress) -> LearnedMap:
        rotated = Rotated.of(type(self).__name__, vectors)
        loss = self._loss(rotated.Z, codes)
        iterations = int(self.max_iterations)
        M, step = np.eye(rotated.Z.shape[1]), 1.0 / len(rotated.Z)
        used, converged = 0, False
        while used < iterations and not (loss.activate(M) == 0 and converged):
            M, step, more, converged = descend(
                loss.loss,
                M,
                step=step,
                iterations=min(ROUND, iterations - used),
                tolerance=float(self.tolerance),
            )
            used += more
            progress(used, iterations)
        progress(iterations, iterations)
        return rotated.whole(M, n_iter_=used)


def descend(
    objective: Objective, M: Matrix, *, step: float, iterations: int, tolerance: float
) -> tuple[Matrix, float, int, bool]:
    """Minimise a convex function over positive semidefinite matrices by projected gradient.

    M ← Π(M − step · G), where Π sets negative eigenvalues to zero. The step is that of Barzilai and
    Borwein, <S, S> / <S, Y> with the last change S of M and Y of G, and is quartered while the
    loss would rise above the largest of the last few (Birgin, Martínez and Raydan, 2000). Each
    iteration is one evaluation and one eigendecomposition, O(k³).

    Returns
    -------
    M : ndarray
        The best found: its loss is never above that of the start.
    step : float
        The last step, to continue with.
    used : int
        Evaluations after the first.
    converged : bool
        Whether the last few steps together lowered the loss by less than a fraction ``tolerance``.
    """
    here, pace = M, step
    loss, G = objective(here)
    best, least = here, loss
    recent, lows = [loss] * MEMORY, [loss] * MEMORY
    for used in range(1, iterations + 1):
        candidate = positive_part(here - pace * G)
        new_loss, new_G = objective(candidate)
        if new_loss <= max(recent[-MEMORY:]):
            S, Y = candidate - here, new_G - G
            curvature = float(np.vdot(S, Y))
            pace = float(np.vdot(S, S)) / curvature if curvature > 0 else 2 * pace
            here, G = candidate, new_G
            recent.append(new_loss)
            if new_loss < least:
                best, least = candidate, new_loss
        else:
            pace /= 4
        lows.append(least)
        if used >= MEMORY and lows[-1 - MEMORY] - least <= tolerance * abs(least):
            return best, pace, used, True
    return best, pace, iterations, False


def positive_part(M: Matrix) -> Matrix:
    """Project a symmetric matrix onto the positive semidefinite ones."""
    values, vectors = scipy.linalg.eigh((M + M.T) / 2)
    # Rebuild from the smaller side, which often has only a few columns.
    positive = values > 0
    if np.count_nonzero(positive) * 2 > len(values):
        return (M + M.T) / 2 - (vectors[:, ~positive] * values[~positive]) @ vectors[:, ~positive].T
    return (vectors[:, positive] * values[positive]) @ vectors[:, positive].T

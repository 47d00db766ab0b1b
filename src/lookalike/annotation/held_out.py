"""Hold pictures out of training, and evaluate on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.lessons import Lessons, blocks
from lookalike.core import sparse as sp
from lookalike.core.ranking import Judgement, judge

MAX_HELD_OUT = 2000
"""The most pictures to hold out: precision is then known to about 1 %."""

_SCORES = 1 << 22

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Split:
    """Pictures split for training.

    Attributes
    ----------
    whole : Lessons
        All pictures to learn from.
    learned : Lessons
        Those that are not held out.
    judged : Lessons or None
        Those to evaluate on, if there are any.
    """

    whole: Lessons
    learned: Lessons
    judged: Lessons | None


def hold_out(lessons: Lessons, share: float, rng: np.random.Generator) -> Split:
    """Return pictures split into those to learn from and those to evaluate on, if possible.

    A picture may be held out if each of its words has another picture that is not.
    """
    has = lessons.has
    wanted = min(round(share * has.shape[0]), MAX_HELD_OUT)
    uses = np.bincount(has.indices, minlength=has.shape[1])
    held = np.zeros(has.shape[0], bool)
    for row in rng.permutation(has.shape[0]).tolist():
        if wanted <= 0:
            break
        words = has.indices[has.indptr[row] : has.indptr[row + 1]]
        if (uses[words] > 1).all():
            uses[words] -= 1
            held[row] = True
            wanted -= 1
    if not held.any():
        return Split(lessons, lessons, None)
    kept, judged = (lessons.only(np.flatnonzero(rows)) for rows in (~held, held))
    return Split(lessons, kept, judged)


def precision(score: Callable[[slice], Matrix], has: sp.csr_matrix) -> tuple[float, float]:
    """Return the mean precision at 1 and at 10, scoring a few rows of ``has`` at a time."""
    outcome = _judged(score, has)
    return outcome.precision_at(1), outcome.precision_at(10)


def average_precision(
    score: Callable[[slice], Matrix], has: sp.csr_matrix
) -> tuple[float, float, float]:
    """Return mean average precision, precision at 1, and the standard error of the first."""
    outcome = _judged(score, has)
    spread = float(outcome.average_precision.std()) / np.sqrt(has.shape[0])
    return outcome.mean_average_precision, outcome.precision_at(1), spread


def clearly_worse(figure: float, most: float, count: int) -> bool:
    """Return whether a precision at 1 is below another by more than the other's standard error.

    Among dozens of passes evaluated on few pictures, the highest figure is mostly luck.
    """
    return bool(figure < most - standard_error(most, count))


def standard_error(share: float, count: int) -> float:
    """Return the standard error of a share of ``count`` pictures, such as precision at 1."""
    return float(np.sqrt(share * (1 - share) / count))


def _judged(score: Callable[[slice], Matrix], has: sp.csr_matrix) -> Judgement:
    return Judgement.joined(
        [
            judge(score(rows), has[rows].toarray() > 0, cutoffs=(1, 10))
            for rows in blocks(has.shape[0], max(1, _SCORES // has.shape[1]))
        ]
    )

"""Hold pictures out of learning, and judge by them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.annotation.base import Lessons, blocks
from lookalike.annotation.words import read_words
from lookalike.core.errors import InvalidInput
from lookalike.core.ranking import judge
from lookalike.similarity.base import check_vectors

MOST_HELD_OUT = 2000
"""Pictures held out at most: precision is then known to about one in a hundred."""

_SCORES = 1 << 22

Matrix = NDArray[np.float32]


def hold_out(
    lessons: Lessons, share: float, rng: np.random.Generator
) -> tuple[Lessons, Lessons | None]:
    """Split pictures into those to learn from and those to judge by, if any can be spared.

    A picture is spared if each of its words has another that is learned from.
    """
    has = lessons.has
    wanted = min(round(share * has.shape[0]), MOST_HELD_OUT)
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
        return lessons, None
    return _only(lessons, ~held), _only(lessons, held)


def judged_by(who: str, lessons: Lessons, X: ArrayLike | sp.spmatrix, y: Any) -> Lessons:
    """Check pictures given to judge by; words that are not learned do not count."""
    vectors = check_vectors(who, X, width=lessons.vectors.shape[1])
    has, words = read_words(who, y, vectors.shape[0], lessons.words)
    judged = Lessons(vectors, has[:, : len(lessons.words)], words[: len(lessons.words)])
    some = np.diff(judged.has.indptr) > 0
    if not some.any():
        raise InvalidInput(
            f"{who}: the pictures of validation must show words that are learned; none does."
        )
    return _only(judged, some)


def precision(score: Callable[[slice], Matrix], has: sp.csr_matrix) -> tuple[float, float]:
    """Return the mean precision at 1 and at 10, scoring a few rows of ``has`` at a time."""
    sums = np.zeros(2)
    for rows in blocks(has.shape[0], max(1, _SCORES // has.shape[1])):
        truth = has[rows].toarray() > 0
        sums += judge(score(rows), truth, cutoffs=(1, 10)).precision.sum(axis=0)
    at_1, at_10 = (sums / has.shape[0]).tolist()
    return at_1, at_10


def clearly_worse(figure: float, most: float, count: int) -> bool:
    """Return whether a precision at 1 is below another by more than the other's standard error.

    Among dozens of passes judged by few pictures the highest figure is mostly luck.
    """
    return bool(figure < most - np.sqrt(most * (1 - most) / count))


def check_share(who: str, share: Any) -> float:
    """Return the share to hold out, from 0 to below 1, or say what is wrong with it."""
    number = isinstance(share, int | float | np.number) and not isinstance(share, bool)
    if not number or not 0 <= share < 1:
        raise InvalidInput(f"{who}: held_out must be from 0 to below 1; got {share!r}.")
    return float(share)


def _only(lessons: Lessons, rows: NDArray[np.bool_]) -> Lessons:
    chosen = np.flatnonzero(rows)
    return Lessons(lessons.vectors[chosen], lessons.has[chosen], lessons.words)

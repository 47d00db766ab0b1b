"""Turn a vote into passive-aggressive steps, and judge it by what was known before.

A vote picks some pictures shown for a query and rejects others. Of what it says, three things are
stored with it in the log: which pictures it moves and how far, so that reading the log again gives
the same numbers without computing them; and whether searches had its comparisons right, without
votes and with what votes on other queries have taught.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDS = 5
"""Votes are divided by their queries; for each part there is a learner that never sees it."""

AGGRESSIVENESS = 0.06
"""C of paper 1, Eq. 6: the longest step."""

MARGIN = 0.6
"""By how much what is right is to score above what is wrong; scores are cosines at the start."""

OWN = 0.75
"""How much of a picture's own part of Eq. 22 a step keeps: 0 is the step of Eq. 8."""

MOST_PAIRS = 16
"""Comparisons that one vote may teach, so that none weighs too much."""

MOST_WEIGHT = 2000 * MOST_PAIRS * AGGRESSIVENESS
"""How far all votes of one person may go together."""

_SMALLEST = 1e-9

Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Geometry:
    """The inner products a vote is made of, for its query a and its pictures x.

    Attributes
    ----------
    base : array of shape (j,)
        The score of each picture as it is without votes.
    learned : array of shape (FOLDS + 1, j)
        What each learner, the last of all votes, adds to it.
    gram : array of shape (j, j)
        x·x'.
    across : array of shape (j,)
        a·x.
    square : float
        a·a.
    """

    base: Weights
    learned: Weights
    gram: Weights
    across: Weights
    square: float


@dataclass(frozen=True, slots=True)
class Taught:
    """What a vote came to.

    Attributes
    ----------
    weights : array of shape (FOLDS + 1, j)
        How far each picture is moved, by each learner.
    right_before, right_after : float or None
        The share of its comparisons in the right order; None where it compares nothing.
    """

    weights: Weights
    right_before: float | None
    right_after: float | None


def fold_of(subject: str) -> int:
    """Return the part that votes on a query belong to, the same on every machine."""
    return hashlib.blake2b(subject.encode(), digest_size=8).digest()[0] % FOLDS


def pairs(
    picked: Sequence[int], rejected: Sequence[int], shown: Sequence[int]
) -> list[tuple[int, int]]:
    """Return what a vote says as (more alike, less alike), at most as many as may count.

    Picked pictures go before rejected ones, and before those shown above them that were left
    alone: whoever picks the third has seen the first two.

    Examples
    --------
    >>> pairs([3], [5], shown=[1, 5, 3, 4])
    [(3, 5), (3, 1)]
    """
    said = {*picked, *rejected}
    sure = sorted(
        product(range(len(picked)), range(len(rejected))), key=lambda places: (sum(places), places)
    )
    found = [(picked[row], rejected[column]) for row, column in sure]
    for good in picked:
        above = shown[: shown.index(good)] if good in shown else []
        found += [(good, other) for other in above if other not in said]
    return found[:MOST_PAIRS]


def learn(
    comparisons: Sequence[tuple[int, int]], geometry: Geometry, fold: int, *, judge: bool = True
) -> Taught:
    """Take a step for each comparison, by every learner but that of the vote's own part.

    For a query a, a picture p over n and the similarity S of a learner, the step lies between
    the symmetric one of Eq. 8 (λ = 0) and that of Dissim-OASIS, Eq. 22 (λ = 1; paper 1, section
    6.1), which draws a to p and away from n:

        W ← W + τ/2·[a(p − n)ᵀ + (p − n)aᵀ − λ(ppᵀ − nnᵀ)],
        τ = min(C, l / |a(p − n)ᵀ|²),   l = max(0, margin − S(a, p) + S(a, n)).

    A vote's steps share a and together are ½ Σ w(a xᵀ + x aᵀ − λ x xᵀ) over its pictures x,
    whose weights w are given.

    *Departures.* The distance of Eq. 22 has a part xᵀWx that changes for every picture stored;
    searches score by aᵀWx, so that only the query changes, and the loss is that of this score. λ,
    C and the margin were chosen on half of each picture set (decision 7): the step of Eq. 8 alone
    makes a few pictures near everything, and that of Eq. 22 learns less from the same votes.

    Parameters
    ----------
    comparisons : sequence of (int, int)
        Places in ``geometry``: more alike, less alike.
    geometry : Geometry
    fold : int
        The part of the vote; see :func:`fold_of`.
    judge : bool
        Whether the vote says anything of how well searches rank.
    """
    learners = np.arange(FOLDS + 1) != fold
    learned, weights = geometry.learned.copy(), np.zeros_like(geometry.learned)
    for good, bad in comparisons:
        margins = geometry.base[good] - geometry.base[bad] + learned[:, good] - learned[:, bad]
        apart = geometry.gram[good] - geometry.gram[bad]
        length = geometry.square * (apart[good] - apart[bad])
        if length <= _SMALLEST:
            continue
        steps = learners * np.minimum(AGGRESSIVENESS, np.maximum(0.0, MARGIN - margins) / length)
        weights[:, good] += steps
        weights[:, bad] -= steps
        across, gram = geometry.across, geometry.gram
        change = geometry.square * apart + (across[good] - across[bad]) * across
        change += OWN * (across[bad] * gram[bad] - across[good] * gram[good])
        learned += steps[:, None] / 2 * change
    if not judge or not comparisons:
        return Taught(weights, None, None)
    good, bad = np.array(comparisons).T
    before = geometry.base[good] - geometry.base[bad]
    after = before + geometry.learned[fold, good] - geometry.learned[fold, bad]
    return Taught(weights, float((before > 0).mean()), float((after > 0).mean()))


def stored(pictures: Sequence[int], taught: Taught) -> dict[str, Any]:
    """Return what a vote taught as the log keeps it."""
    return {
        "pictures": list(pictures),
        "weights": taught.weights.tolist(),
        "right": [taught.right_before, taught.right_after],
    }

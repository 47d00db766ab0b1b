"""Turn a vote into passive-aggressive steps, and judge it by what was known before.

A vote picks some pictures shown for a query and rejects others. Of what it says, three things are
stored with it in the log: which pictures it moves and how far, so that reading the log again gives
the same numbers without computing them; and whether searches had its comparisons right, without
votes and with what votes on other queries have taught.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
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
    """What a vote taught a ranker.

    Attributes
    ----------
    pictures : tuple of int
        The j pictures it moves; 0 stands for the query itself.
    weights : array of shape (FOLDS + 1, j)
        How far each picture is moved, by each learner.
    right : (float or None, float or None)
        The share of its comparisons that were in the right order without votes, and with what
        votes on other queries had taught; None where it compares nothing.
    """

    pictures: tuple[int, ...]
    weights: Weights
    right: tuple[float | None, float | None]

    @property
    def reach(self) -> float:
        """How far it goes, all its steps together."""
        return float(np.abs(self.weights[-1]).sum()) / 2

    @classmethod
    def nothing(cls) -> "Taught":
        """Return what a vote taught that moves no picture."""
        return cls((), np.zeros((FOLDS + 1, 0)), (None, None))

    def written(self) -> dict[str, Any]:
        """Return what the log keeps of it."""
        return {
            "pictures": list(self.pictures),
            "weights": self.weights.tolist(),
            "right": list(self.right),
        }

    @classmethod
    def read(cls, written: dict[str, Any]) -> "Taught":
        """Return what :meth:`written` gave; ValueError, TypeError or KeyError for anything else."""
        pictures = tuple(map(int, written["pictures"]))
        weights = np.array(written["weights"], np.float64).reshape(FOLDS + 1, len(pictures))
        if not np.isfinite(weights).all():
            raise ValueError("a weight is not finite")
        before, after = written["right"]
        return cls(pictures, weights, (before, after))


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


def comparisons(
    picked: Sequence[int],
    rejected: Sequence[int],
    shown: Sequence[int],
    earlier: Mapping[int, int],
    known: Collection[int],
) -> tuple[list[tuple[int, int]], bool]:
    """Return what a vote compares, with what was said of the same query before.

    Parameters
    ----------
    picked, rejected, shown : sequence of int
        The vote.
    earlier : mapping from picture to +1 or -1
        The verdicts before it.
    known : collection of int
        The pictures there are: others may have been deleted since they were shown.

    Returns
    -------
    pairs : list of (int, int)
        More alike, less alike. With nothing picked, 0, the query itself, stands above what is
        rejected.
    judges : bool
        Whether the vote says anything of how well searches rank.
    """
    now = {*picked, *rejected}
    against = [p for p, sign in earlier.items() if sign < 0 and p not in now]
    chosen = [p for p, sign in earlier.items() if sign > 0 and p not in now]
    found = pairs(picked, [*rejected, *against], shown)
    found += [(p, n) for p in chosen for n in rejected]
    found = [(p, n) for p, n in found if p in known and n in known][:MOST_PAIRS]
    if found:
        return found, True
    return [(0, n) for n in rejected if n in known][:MOST_PAIRS], False


def learn(
    pictures: Sequence[int],
    found: Sequence[tuple[int, int]],
    geometry: Geometry,
    fold: int,
    *,
    judge: bool = True,
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
    pictures : sequence of int
        Those that ``geometry`` is of.
    found : sequence of (int, int)
        What is compared, among ``pictures``: more alike, less alike.
    geometry : Geometry
    fold : int
        The part of the vote; see :func:`fold_of`.
    judge : bool
        Whether the vote says anything of how well searches rank.
    """
    place = {picture: k for k, picture in enumerate(pictures)}
    pairs_of = [(place[good], place[bad]) for good, bad in found]
    learners = np.arange(FOLDS + 1) != fold
    learned, weights = geometry.learned.copy(), np.zeros_like(geometry.learned)
    for good, bad in pairs_of:
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
    if not judge or not pairs_of:
        return Taught(tuple(pictures), weights, (None, None))
    good, bad = np.array(pairs_of).T
    before = geometry.base[good] - geometry.base[bad]
    after = before + geometry.learned[fold, good] - geometry.learned[fold, bad]
    return Taught(tuple(pictures), weights, (float((before > 0).mean()), float((after > 0).mean())))

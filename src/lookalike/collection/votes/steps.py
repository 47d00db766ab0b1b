"""Turn a vote into passive-aggressive steps, and judge it by what was known before.

A vote picks some pictures found for a query and rejects others. Stored with it in the log are the
lengths of its steps, so that reading the log again gives the same numbers without computing them,
and whether searches had its pictures in the right order, without votes and with what votes on other
queries of other parts had taught.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.log.votes import Taught

FOLDS = 5
"""Votes are divided by their queries; a vote is judged by what those of other parts taught."""

MAX_STEP = 2.0
"""C of paper 5, Algorithm 1: the longest step."""

MARGIN = 0.8
"""By how much what is right is to score above what is wrong, in units of a cosine."""

FROM_REJECTED = 0.6
"""How long the step of a rejected picture is beside that of the query or a picked one."""

MAX_STEP_ALIKE = 1.0
"""The longest step of a vote that rejects nothing."""

MARGIN_ALIKE = 1.5
"""What its pictures are to score for each other, in units of a cosine."""

MAX_TAUGHT = 16
"""Picked pictures, and rejected ones, that one vote may teach with."""

DECIMALS = 4
"""Digits of a step that are kept: the log stays short, and replays round nothing."""

_MIN_LENGTH = 1e-9

Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Geometry:
    """The inner products a vote is made of, among its query and its pictures x.

    Scores are in units of a cosine: over the length of the query's vector and the items'.

    Attributes
    ----------
    near : array of shape (j, j)
        The cosines by which a step fades.
    gram : array of shape (j, j)
        The cosines of the items.
    base : array of shape (j, j)
        The score of each as a query (row) with each as an item (column), without votes.
    learned : array of shape (j, j)
        What all votes add to it.
    others : array of shape (j,)
        What votes of other parts add to the scores of the query itself.
    """

    near: Weights
    gram: Weights
    base: Weights
    learned: Weights
    others: Weights


def fold_of(subject: str) -> int:
    """Return the part that votes on a query belong to, the same on every machine."""
    return hashlib.blake2b(subject.encode(), digest_size=8).digest()[0] % FOLDS


def sides(
    picked: Sequence[int],
    rejected: Sequence[int],
    earlier: Mapping[int, int],
    known: Collection[int],
) -> tuple[list[int], list[int]]:
    """Return the pictures that a vote puts above others, and those others.

    What was shown and left alone counts for neither: in a good search most of it is right.

    Parameters
    ----------
    picked, rejected : sequence of int
        The vote.
    earlier : mapping from picture to +1 or -1
        What was said of the same query before; it counts with the vote.
    known : collection of int
        The pictures there are: others may have been deleted since they were shown.

    Examples
    --------
    >>> sides([3], [], earlier={5: -1, 4: 1}, known={3, 4, 5})
    ([3, 4], [5])
    """
    now = {*picked, *rejected}
    good = [*picked, *(p for p, sign in earlier.items() if sign > 0 and p not in now)]
    bad = [*rejected, *(p for p, sign in earlier.items() if sign < 0 and p not in now)]
    good, bad = ([p for p in side if p in known][:MAX_TAUGHT] for side in (good, bad))
    return good, bad


def directions(count: int, picked: int) -> Weights:
    """Return which pictures each picture's step moves it towards and away from, a row each.

    The query and the picked pictures, the first ``picked`` of ``count``, are alike: each moves
    towards the mean of the others and away from the mean of the rejected ones. A rejected picture
    moves away from the mean of those. A query without picked pictures moves away from the
    rejected ones; pictures without rejected ones just move towards each other.

    Examples
    --------
    >>> directions(3, 2)
    array([[ 0. ,  1. , -1. ],
           [ 1. ,  0. , -1. ],
           [-0.5, -0.5,  1. ]])
    """
    rejected = count - picked
    moves = np.zeros((count, count))
    if not picked:
        return moves
    moves[:picked, :picked] = (1 - np.eye(picked)) / (picked - 1) if picked > 1 else 1.0
    if not rejected:
        return moves
    moves[:picked, picked:] = -1 / rejected
    moves[picked:, :picked] = -1 / picked
    moves[picked:, picked:] = np.eye(rejected)
    return moves


def learn(
    pictures: Sequence[int],
    picked: int,
    geometry: Geometry,
    width: float,
    *,
    is_whole: bool,
    decimals: int = DECIMALS,
) -> Taught:
    """Take a step at each picture of a vote.

    A step at a picture a changes the score of every query q with every item p by

        τ·k(q, a)·(d·p),   k(q, a) = exp(−(γ(1 − cos(q, a)))²),   τ = min(C, l / |d|²),

    where d is what :func:`directions` says and l = max(0, margin − S(a, d)). This is Algorithm 1
    of paper 5 (OKS) with the kernel k on the query's side and the inner product on the item's, so
    that only queries change.

    *Departures.* A step takes the mean of all comparisons of a picture instead of one triplet at a
    time, which is steadier where some votes are mistaken; C is shorter for few comparisons;
    pictures that were picked or rejected have steps as well as the query; and a vote that rejects
    nothing takes steps towards what it picks. All numbers were chosen
    on half of each picture set (decision 13).

    Parameters
    ----------
    pictures : sequence of int
        Those that ``geometry`` is of: 0, the query itself, the picked ones, and the rejected ones.
    picked : int
        How many of them stand before the rejected ones.
    geometry : Geometry
    width : float
        γ.
    is_whole : bool
        Whether all that was shown was judged: whoever judges only some chooses by what is wrong,
        so how searches rank that says nothing of how they rank.
    """
    count = len(pictures)
    moves = directions(count, picked)
    kernel = np.exp(-((width * (1 - np.minimum(geometry.near, 1.0))) ** 2))
    least = min(max(picked - 1, 1), count - picked)
    margin, longest = MARGIN_ALIKE, MAX_STEP_ALIKE
    if least:
        margin, longest = MARGIN, MAX_STEP * least / (least + 1)
    scores, steps = geometry.base + geometry.learned, np.zeros(count)
    changes = moves @ geometry.gram
    lengths = (changes * moves).sum(axis=1)
    for place in range(count):
        if lengths[place] <= _MIN_LENGTH:
            continue
        loss = max(0.0, margin - float(scores[place] @ moves[place]))
        taken = min(longest, loss / float(lengths[place]))
        steps[place] = round(taken * (1.0 if place < picked else FROM_REJECTED), decimals)
        scores += (steps[place] * kernel[:, place, None]) * changes[place]
    return Taught(tuple(pictures), picked, steps, width, _right(geometry, picked, is_whole))


def _right(geometry: Geometry, picked: int, is_whole: bool) -> tuple[float | None, float | None]:
    """Return how many comparisons of the query were right, without votes and with others'."""
    if picked < 2 or picked == len(geometry.base):
        return None, None
    before = geometry.base[0]
    after = _in_order(before + geometry.others, picked) if is_whole else None
    return _in_order(before, picked), after


def _in_order(scores: Weights, picked: int) -> float:
    """Return the share of picked pictures that score above rejected ones; half of the ties."""
    apart = scores[1:picked, None] - scores[None, picked:]
    return float((1 + np.sign(apart).mean()) / 2)

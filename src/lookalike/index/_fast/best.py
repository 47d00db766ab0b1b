"""Keep the k best of a stream: a heap whose root is the worst kept.

A hit is better with the higher score, then the lower id. Free slots contain -inf and FREE.
"""

import numpy as np

from lookalike.core._fast import F32, I64, LOOP, njit

FREE = np.iinfo(np.int64).max
"""The id of a free slot, worse than any real one."""


@njit(**LOOP)
def offer(scores: F32, ids: I64, score: np.float32, number: np.int64) -> None:
    """Replace the heap's root by a hit if that is better."""
    if not (score > scores[0] or (score == scores[0] and number < ids[0])):
        return
    k = scores.size
    place = 0
    while True:
        child = 2 * place + 1
        if child >= k:
            break
        other = child + 1
        if other < k and (
            scores[other] < scores[child]
            or (scores[other] == scores[child] and ids[other] > ids[child])
        ):
            child = other
        if score < scores[child] or (score == scores[child] and number > ids[child]):
            break
        scores[place] = scores[child]
        ids[place] = ids[child]
        place = child
    scores[place] = score
    ids[place] = number


@njit(**LOOP)
def is_among(number: np.int64, excluded: I64) -> bool:
    """Return whether ``number`` is among a few excluded ids."""
    is_found = False
    for other in excluded:
        is_found |= other == number
    return is_found

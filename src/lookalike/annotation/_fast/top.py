"""Keep the best words of each picture."""

import numpy as np

from lookalike.core._fast import F32, I64, LOOP, njit, uint64


@njit(**LOOP)
def keep_top(scores: F32, offset: int, best: F32, words: I64) -> None:
    """Merge a block of scores, one row per picture, into the best so far.

    ``best`` decreases along each row and ``words`` are the indices of those words; the first
    column of ``scores`` is the word ``offset``. A score equal to one kept before comes after it.
    Few scores exceed the least one kept, so a block costs little more than one comparison each.
    """
    k = uint64(best.shape[1])
    for row in range(uint64(scores.shape[0])):
        least = best[row, k - uint64(1)]
        for column in range(uint64(scores.shape[1])):
            score = scores[row, column]
            if score > least:
                place = k - uint64(1)
                while place > uint64(0) and best[row, place - uint64(1)] < score:
                    best[row, place] = best[row, place - uint64(1)]
                    words[row, place] = words[row, place - uint64(1)]
                    place -= uint64(1)
                best[row, place] = score
                words[row, place] = offset + np.int64(column)
                least = best[row, k - uint64(1)]

"""Select by rounded vectors which words may be among a picture's best."""

import numpy as np
from numpy.typing import NDArray

from lookalike.core._fast import F32, I64, LOOP, njit, uint64


@njit(**LOOP, fastmath={"reassoc", "contract", "nsz"})
def may_be_best(
    codes: NDArray[np.int8],
    units: F32,
    query: F32,
    slack: np.float32,
    best: F32,
    words: I64,
    highest: F32,
) -> int:
    """Collect in ``words`` those that may be among the ``len(best)`` best; return how many.

    The product of ``query`` with word i lies within units[i]·slack of units[i]·(codes[i]·query).
    ``best``, filled with -inf, receives the largest lower bounds; ``words`` and ``highest`` are
    buffers for all words.
    """
    Y, D = uint64(codes.shape[0]), uint64(codes.shape[1])
    last = uint64(best.shape[0]) - uint64(1)
    least = best[last]
    count = uint64(0)
    for word in range(Y):
        total = np.float32(0.0)
        for k in range(D):
            total += np.float32(codes[word, k]) * query[k]
        high = units[word] * (total + slack)
        if high >= least:
            words[count] = word
            highest[count] = high
            count += uint64(1)
            low = units[word] * (total - slack)
            if low > least:
                place = last
                while place > uint64(0) and best[place - uint64(1)] < low:
                    best[place] = best[place - uint64(1)]
                    place -= uint64(1)
                best[place] = low
                least = best[last]
    kept = uint64(0)
    for at in range(count):
        if highest[at] >= least:
            words[kept] = words[at]
            kept += uint64(1)
    return int(kept)

"""Rank the relevant items of each query without sorting all items."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core._fast import F64, I64, LOOP, njit


@njit(**LOOP)
def judge_rows(
    scores: NDArray[Any],
    relevant: NDArray[np.bool_],
    own: I64,
    cutoffs: I64,
    average_precision: F64,
    precision: F64,
    result: I64,
) -> int:
    """Fill the last three, one row per query; return the first row with a NaN score, or -1.

    The relevant items are sorted; each other item is then dropped by bisection into the gap
    before the first relevant one it outranks, so the counts up to a gap give the ranks.
    """
    n = scores.shape[1]
    for row in range(scores.shape[0]):
        line = scores[row]
        mine = own[row]
        for column in range(n):
            if np.isnan(line[column]) and column != mine:
                return row
        wanted = np.flatnonzero(relevant[row])
        if mine >= 0 and relevant[row, mine]:
            wanted = wanted[wanted != mine]
        r = wanted.size
        result[row] = r
        if r == 0:
            average_precision[row] = np.nan
            precision[row] = np.nan
            continue
        wanted = wanted[np.argsort(-line[wanted], kind="mergesort")]
        levels = line[wanted]
        ahead = np.zeros(r + 1, np.int64)
        lowest = levels[r - 1]
        for column in range(n):
            score = line[column]
            if score < lowest or relevant[row, column] or column == mine:
                continue
            low = 0
            high = r
            while low < high:
                middle = (low + high) >> 1
                if score > levels[middle] or (score == levels[middle] and column < wanted[middle]):
                    high = middle
                else:
                    low = middle + 1
            ahead[low] += 1
        total = 0.0
        others = 0
        precision[row] = 0.0
        for position in range(r):
            others += ahead[position]
            rank = position + 1 + others
            total += (position + 1) / rank
            for c in range(cutoffs.size):
                if rank <= cutoffs[c]:
                    precision[row, c] += 1.0
        average_precision[row] = total / r
        for c in range(cutoffs.size):
            precision[row, c] /= cutoffs[c]
    return -1

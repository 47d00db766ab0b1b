"""Find the few words that may be among a picture's best, from vectors rounded to bytes."""

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation._fast.glance import may_be_best

_MAX_CODE = 127


class Glance:
    """Words' vectors rounded to bytes, each with its own unit.

    A picture's product with all words is bound by memory traffic, and the rounded vectors take a
    quarter of the memory. With w = u·(c + e), |e_j| ≤ ½, the product of the rounded vector is off
    by at most u·½·Σ|q_j|; a word that is below k others even so is not among the k best, so the
    remaining words include them all.
    """

    def __init__(self, words: NDArray[np.float32]) -> None:
        self.words = words
        units = np.abs(words).max(axis=1) / np.float32(_MAX_CODE)
        self._units = np.maximum(units, np.finfo(np.float32).tiny)
        self._codes = np.empty(words.shape, np.int8)
        for begin in range(0, len(words), 4096):
            some = slice(begin, begin + 4096)
            self._codes[some] = np.rint(words[some] / self._units[some, None])

    def candidates(self, query: NDArray[np.float32], k: int) -> NDArray[np.int64]:
        """Return the sorted indices of words that include the k with the largest products.

        ``query`` is a vector as wide as the words'. Costs O(Y·D) for Y words, one byte per number.
        """
        # The length does not change the best words; at this one no sum overflows float32.
        query = query / max(np.abs(query).max(), np.finfo(np.float32).tiny)
        # Besides rounding to bytes, the rounding error of both sums of D products in float32.
        rounding = 2 * query.size * _MAX_CODE * np.finfo(np.float32).eps
        slack = (0.5 + rounding) * np.abs(query).sum(dtype=np.float64)
        room = np.empty(len(self.words), np.int64), np.empty(len(self.words), np.float32)
        least = np.full(min(k, len(self.words)), -np.inf, np.float32)
        count = may_be_best(self._codes, self._units, query, np.float32(slack), least, *room)
        return room[0][:count]

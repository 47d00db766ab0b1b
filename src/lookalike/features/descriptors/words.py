"""Learn visual words from local descriptors, and describe a picture by the words it has."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.features._fast.kmeans import Words, kmeans, nearest, pack
from lookalike.features.tf_idf import different_rows, inverse_frequencies, weigh

SAMPLE = 40_000
"""Descriptors from which words are learned."""


@dataclass(frozen=True)
class VisualWords:
    """A vocabulary of visual words, one descriptor a row, and the weight of each."""

    words: NDArray[np.float32]
    idf: NDArray[np.float32]

    def row(self, descriptors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the tf-idf weights of a picture's words, at unit length; zeros if it has none."""
        row = np.zeros(len(self.words), np.float32)
        if len(descriptors):
            words, weights = weigh(nearest(descriptors, self._packed)[0], self.idf)
            row[words] = weights
        return row

    @cached_property
    def _packed(self) -> Words:
        return pack(self.words)


def learn_words(
    pictures: Sequence[NDArray[Any]],
    count: int,
    rng: np.random.Generator,
    tell: Callable[[], None],
) -> VisualWords:
    """Learn a vocabulary by k-means from the descriptors of pictures, and how rare each word is.

    Where there are fewer different descriptors than ``count``, each becomes a word; where there are
    none, there is one word, of zeros. ``tell`` is called after each step of k-means.

    *Departure.* Paper 5 clusters by approximate search in kd-trees (section 6.3.1); so few words
    can be learned exactly.
    """
    most = -(-SAMPLE // len(pictures))
    parts = [some[np.sort(rng.permutation(len(some))[:most])] for some in pictures]
    rows = np.concatenate(parts).astype(np.float32)
    if len(rows) == 0:
        return VisualWords(np.zeros((1, rows.shape[1]), np.float32), np.zeros(1, np.float32))
    different = different_rows(rows)
    start = rng.permutation(different)[:count]
    words = kmeans(rows, rows[start], tell)
    packed = pack(words)
    having = np.zeros(len(words), np.int64)
    for some in pictures:
        if len(some):
            having[np.unique(nearest(some.astype(np.float32), packed)[0])] += 1
    return VisualWords(words, inverse_frequencies(having, len(pictures)))

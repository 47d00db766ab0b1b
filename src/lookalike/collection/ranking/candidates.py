"""Candidates for a search, found by binary codes in memory while vectors stay on disk."""

import logging
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.codes.hamming import HammingSimilarity
from lookalike.collection.store.models import CodeFigures
from lookalike.collection.vectors.space import blocks
from lookalike.core.errors import DamagedFile
from lookalike.core.vectors import Vectors
from lookalike.index.base import Hits, Index
from lookalike.index.bits import BitIndex

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Candidates:
    """The codes of all pictures of a ranker, and how many candidates a search takes of them.

    It never changes. Candidates are the nearest by weighted Hamming distance, with weights for
    each query; what ranks them is all that was learned.

    Attributes
    ----------
    number : int
        The model in use.
    similarity : HammingSimilarity
        What makes the codes and weighs their bits.
    index : BitIndex
    figures : CodeFigures
        How well candidates were found when that was measured.
    """

    number: int
    similarity: HammingSimilarity
    index: BitIndex
    figures: CodeFigures

    @classmethod
    def load(
        cls,
        number: int,
        similarity: HammingSimilarity,
        figures: CodeFigures,
        plain: Index,
        cache: Path,
    ) -> Self:
        """Return the candidates of all pictures, from the cache as far as that goes."""
        fingerprint, index = similarity.encoder_.fingerprint, None
        if cache.exists():
            try:
                index = BitIndex.open(cache)
            except DamagedFile as error:
                _log.warning("%s; it is made again from the vectors", error)
        if index is None or (index.fingerprint, index.dimension) != (fingerprint, similarity.bits):
            index = BitIndex(similarity.bits, fingerprint=fingerprint)
        return cls(number, similarity, index, figures).over(plain)

    def over(self, plain: Index) -> Self:
        """Return the candidates among the pictures of an index; only what came is encoded."""
        gone = np.setdiff1d(self.index.ids, plain.ids, assume_unique=True)
        new = np.setdiff1d(plain.ids, self.index.ids, assume_unique=True)
        if not gone.size and not new.size:
            return self
        index = self.index.copy()
        if gone.size:
            index.remove(gone)
        for some in blocks(new):
            index.add_codes(self.similarity.codes(plain.take(some)), some)
        return replace(self, index=index)

    def save(self, cache: Path) -> None:
        """Write the codes, so that they need not be made again."""
        try:
            held = BitIndex.saved_ids(cache, fingerprint=self.index.fingerprint)
        except DamagedFile:
            held = np.zeros(0, np.int64)
        if np.array_equal(held, self.index.ids):
            return
        try:
            self.index.save(cache)
        except OSError as error:
            cache.unlink(missing_ok=True)
            _log.warning("%s was not written, so opening takes longer: %s", cache, error)

    def wanted(self, k: int) -> int | None:
        """Return how many candidates a search for ``k`` takes; None if it had better be exact.

        Their number was measured for some ``nearest`` of so many pictures; it grows with both,
        unless it was given.
        """
        figures, pictures = self.figures, len(self.index)
        grown = max(1.0, k / figures.nearest)
        if figures.chosen:
            grown *= max(1.0, pictures / figures.pictures)
        count = max(ceil(figures.candidates * grown), k)
        return count if 2 * count < pictures else None

    def find(
        self,
        queries: Vectors,
        k: int,
        *,
        exclude: ArrayLike | None,
        among: NDArray[np.int64] | None,
    ) -> Hits | None:
        """Return the candidates for a query; None where an exact search takes no longer."""
        count = self.wanted(k)
        if count is None or (among is not None and len(among) <= 2 * count):
            return None
        return self.index.nearest(
            self.similarity.codes(queries),
            count,
            weights=self.similarity.bit_weights(queries),
            exclude=exclude,
            among=among,
        )

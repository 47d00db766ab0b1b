"""Vectors in bytes, from which a search tells exactly which few vectors it has to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lookalike.index._fast.dense import TINY
from lookalike.index._fast.short import ROUNDING, shorten
from lookalike.index.growing import GrowingArray

HEAD = 2
"""One number in so many is in the head, which is read of every vector."""

_MAX_BYTE = 127
_MAX_WORD = 32767


class ShortQuery(NamedTuple):
    """A query in whole numbers; its step, its length, that of its tail, and what they leave out."""

    head: NDArray[np.int16]
    tail: NDArray[np.int16]
    measures: NDArray[np.float64]


@dataclass(frozen=True)
class ShortRows:
    """Each vector as a step times whole numbers of 8 bits, in a head and a tail.

    By the inequality of Cauchy and Schwarz, the product of a query q with a vector v is that with
    its whole numbers, give or take |q| times the length of what they leave out. The numbers of the
    head alone tell it up to |q_tail|·|v_tail|. The numbers that are largest over all vectors are in
    the head; of vectors reduced to principal components, half holds most of their length.

    Attributes
    ----------
    order : intp array of shape (d,)
        The numbers of a vector: those of the head, then those of the tail.
    heads, tails : int8 arrays
    bounds : float32 array of shape (n, 4)
        Of each vector the step, the length of what its whole numbers leave out, that of its tail
        and its own; lengths are rounded up.
    """

    order: NDArray[np.intp]
    heads: GrowingArray[np.int8]
    tails: GrowingArray[np.int8]
    bounds: GrowingArray[np.float32]

    @classmethod
    def of(cls, vectors: NDArray[np.float32]) -> Self:
        """Return the short form of vectors."""
        energy = np.einsum("nd,nd->d", vectors, vectors, dtype=np.float64)
        order = np.argsort(-energy, kind="stable")
        heads, tails, bounds = _short(vectors, order)
        return cls(order, GrowingArray(heads), GrowingArray(tails), GrowingArray(bounds))

    def extended(self, new: NDArray[np.float32]) -> Self:
        """Return rows with vectors at the end."""
        heads, tails, bounds = _short(new, self.order)
        return type(self)(
            self.order,
            self.heads.extended(heads),
            self.tails.extended(tails),
            self.bounds.extended(bounds),
        )

    def select(self, mask: NDArray[np.bool_]) -> Self:
        """Return the rows where ``mask`` is true."""
        heads, tails, bounds = self.heads, self.tails, self.bounds
        return type(self)(self.order, heads.select(mask), tails.select(mask), bounds.select(mask))

    def query(self, query: NDArray[np.float32]) -> ShortQuery:
        """Return a query in whole numbers whose products with those of rows fit 32 bits."""
        vector = query[self.order].astype(np.float64)
        most = max(min(_MAX_WORD, (1 << 31) // (_MAX_BYTE * vector.size) - 1), 1)
        step = max(float(np.abs(vector).max()) / most, float(np.finfo(np.float32).tiny))
        whole = np.rint(vector / step).astype(np.int16)
        cut = self.heads.rows.shape[1]
        parts = (vector, vector[cut:], vector - step * whole)
        measures = np.array([step, *(float(np.linalg.norm(part)) for part in parts)])
        # Rounded up: the loop works in float32.
        measures[1:] = (1 + ROUNDING) * measures[1:] + TINY
        return ShortQuery(whole[:cut], whole[cut:], measures)


def _short(
    vectors: NDArray[np.float32], order: NDArray[np.intp]
) -> tuple[NDArray[np.int8], NDArray[np.int8], NDArray[np.float32]]:
    cut = max(len(order) // HEAD, min(32, len(order)))
    heads = np.empty((len(vectors), cut), np.int8)
    tails = np.empty((len(vectors), len(order) - cut), np.int8)
    bounds = np.empty((len(vectors), 4), np.float32)
    shorten(vectors, order, heads, tails, bounds)
    return heads, tails, bounds


class LazyShortRows:
    """The short form of vectors, made when they are searched a second time.

    To make it takes as long as a few scans, so a command that searches once does without.
    """

    def __init__(self, rows: ShortRows | None = None) -> None:
        self.rows = rows
        self._is_searched = False

    def of(self, vectors: NDArray[np.float32]) -> ShortRows | None:
        """Return the short form of ``vectors``; None at the first call."""
        if self.rows is None and self._is_searched:
            self.rows = ShortRows.of(vectors)
        self._is_searched = True
        return self.rows

    def extended(self, new: NDArray[np.float32]) -> LazyShortRows:
        """Return that of rows with vectors at the end."""
        return LazyShortRows(self.rows and self.rows.extended(new))

    def select(self, mask: NDArray[np.bool_]) -> LazyShortRows:
        """Return that of the rows where ``mask`` is true."""
        return LazyShortRows(self.rows and self.rows.select(mask))

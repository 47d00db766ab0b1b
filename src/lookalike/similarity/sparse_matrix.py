"""A symmetric matrix of which few elements may differ from 0: words, and words near each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput
from lookalike.similarity._fast.sparse import self_scores

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Rows = tuple[I64, I32, NDArray[np.float32]]
"""CSR rows as loops take them: where each ends, its words, and their values."""


@dataclass(frozen=True)
class Mask:
    """Bˢ of paper 4, section III-B: which elements of a similarity matrix may differ from 0.

    They are numbered: first the diagonal, one for each word, then one for each pair of words of
    which one is among the nearest of the other. M_uv and M_vu are one unknown.

    Attributes
    ----------
    words : int
    pairs : ndarray of int32, shape (n, 2)
        The pairs of words, the lower first, sorted.
    """

    words: int
    pairs: I32

    @classmethod
    def of(cls, words: int, neighbours: I32 | None) -> Self:
        """Return Bᵈ without neighbours, else Bˢ = Bⁿ | (Bⁿ)ᵀ with the nearest of each word.

        Examples
        --------
        >>> Mask.of(3, np.array([[1], [2], [1]], np.int32)).pairs.tolist()
        [[0, 1], [1, 2]]
        """
        if neighbours is None or neighbours.shape[1] == 0:
            return cls(words, np.zeros((0, 2), np.int32))
        own = np.repeat(np.arange(words, dtype=np.int64), neighbours.shape[1])
        other = neighbours.ravel().astype(np.int64)
        low, high = np.minimum(own, other), np.maximum(own, other)
        keys = np.unique((low * words + high)[low != high])
        return cls(words, np.stack([keys // words, keys % words], axis=1).astype(np.int32))

    @property
    def size(self) -> int:
        """How many unknowns there are."""
        return self.words + len(self.pairs)

    @cached_property
    def lists(self) -> tuple[I64, I32, I32]:
        """For each word, where its list ends, the other words of it, and the unknown of each."""
        ends = np.concatenate([self.pairs[:, 0], self.pairs[:, 1]])
        others = np.concatenate([self.pairs[:, 1], self.pairs[:, 0]])
        unknowns = np.tile(np.arange(self.words, self.size, dtype=np.int32), 2)
        order = np.lexsort((others, ends))
        starts = np.searchsorted(ends[order], np.arange(self.words + 1)).astype(np.int64)
        return starts, others[order].astype(np.int32), unknowns[order]

    def matrix(self, M: NDArray[np.float64]) -> sp.csr_matrix:
        """Return the matrix whose unknowns have these values; elements of 0 are left out."""
        every = np.arange(self.words, dtype=np.int32)
        rows = np.concatenate([every, self.pairs[:, 0], self.pairs[:, 1]])
        columns = np.concatenate([every, self.pairs[:, 1], self.pairs[:, 0]])
        off = M[self.words :]
        values = np.concatenate([M[: self.words], off, off]).astype(np.float32)
        full = sp.csr_matrix((values, (rows, columns)), shape=(self.words, self.words))
        full.eliminate_zeros()
        return full

    def own_scores(self, vectors: sp.csr_matrix, M: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return pᵀMp of each row."""
        result = np.zeros(vectors.shape[0])
        self_scores(*loop_rows(vectors), *self.lists, M, result)
        return result


def loop_rows(vectors: sp.csr_matrix) -> Rows:
    """Return CSR rows as loops take them."""
    return (
        vectors.indptr.astype(np.int64),
        vectors.indices.astype(np.int32),
        np.ascontiguousarray(vectors.data, np.float32),
    )


def check_neighbours(who: str, neighbours: object) -> I32:
    """Return the nearest words of each word as an int32 matrix, or raise InvalidInput."""
    array = np.asarray(neighbours)
    if array.ndim != 2 or not len(array) or array.dtype.kind not in "iu":
        raise InvalidInput(
            f"{who}: neighbours must be whole numbers, one row of words for each word; got "
            f"{array.dtype} of shape {array.shape}."
        )
    if array.size and (array.min() < 0 or array.max() >= len(array)):
        raise InvalidInput(
            f"{who}: neighbours must be words from 0 to {len(array) - 1}; got {array.min()} to "
            f"{array.max()}."
        )
    return array.astype(np.int32)

"""Pictures with their words, for training and evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.annotation.words import read_words
from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput
from lookalike.core.vectors import Vectors, check_vectors

LessonsT = TypeVar("LessonsT", bound="Lessons")


@dataclass(frozen=True)
class Lessons:
    """Pictures that all have words: vectors, a 0/1 matrix of their words, and the words."""

    vectors: Vectors
    has: sp.csr_matrix
    words: tuple[str, ...]

    @classmethod
    def read(cls, who: str, X: ArrayLike | sp.spmatrix, y: Any) -> Self:
        """Return the pictures given to ``fit`` that have a word.

        Raise InvalidInput if the vectors are not valid or there are fewer than two words.
        """
        vectors = check_vectors(who, X)
        has, words = read_words(who, y, vectors.shape[0])
        check_words(who, words)
        return _with_words(cls(vectors, has, words))

    @classmethod
    def judging(
        cls, who: str, width: int, words: tuple[str, ...], X: ArrayLike | sp.spmatrix, y: Any
    ) -> Self:
        """Return pictures to evaluate on; words that were not learned are ignored."""
        vectors = check_vectors(who, X, width=width)
        has, _ = read_words(who, y, vectors.shape[0], words)
        judged = _with_words(cls(vectors, has[:, : len(words)], words))
        if not len(judged):
            raise InvalidInput(
                f"{who}: validation pictures must have words that were learned; none has."
            )
        return judged

    def __len__(self) -> int:
        return int(self.has.shape[0])

    def only(self, rows: NDArray[np.intp]) -> Self:
        """Return the pictures in some rows."""
        return type(self)(self.vectors[rows], self.has[rows], self.words)

    def names(self) -> list[list[str]]:
        """Return each picture's words by name."""
        ends = self.has.indptr.tolist()
        return [
            [self.words[word] for word in self.has.indices[begin:end]]
            for begin, end in pairwise(ends)
        ]


def check_words(who: str, words: tuple[str, ...]) -> None:
    """Raise InvalidInput if there are fewer than two words to rank."""
    if len(words) < 2:
        only = f"only the word {words[0]!r:.80}" if words else "no word"
        raise InvalidInput(
            f"{who}: words are ranked against each other, so at least two are needed; the pictures "
            f"have {only}. Add pictures with another word."
        )


def _with_words(lessons: LessonsT) -> LessonsT:
    """Return the pictures that have a word."""
    some = np.flatnonzero(np.diff(lessons.has.indptr))
    return lessons if len(some) == len(lessons) else lessons.only(some)


def blocks(count: int, step: int) -> Iterator[slice]:
    """Return 0 .. count-1 cut into slices of at most ``step``."""
    return (slice(start, min(start + step, count)) for start in range(0, count, step))

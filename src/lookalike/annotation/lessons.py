"""Pictures with their words, as they are learned from and judged by."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.annotation.words import read_words
from lookalike.core.errors import InvalidInput
from lookalike.core.vectors import Vectors, check_vectors

LessonsT = TypeVar("LessonsT", bound="Lessons")


@dataclass(frozen=True)
class Lessons:
    """Pictures that all have words: vectors, ones where a picture has a word, and the words."""

    vectors: Vectors
    has: sp.csr_matrix
    words: tuple[str, ...]

    @classmethod
    def read(cls, who: str, X: ArrayLike | sp.spmatrix, y: Any) -> Self:
        """Return what ``fit`` was given, without the pictures that have no word.

        Raise InvalidInput for vectors that are not usable, and for fewer than two words.
        """
        vectors = check_vectors(who, X)
        has, words = read_words(who, y, vectors.shape[0])
        check_words(who, words)
        return _with_words(cls(vectors, has, words))

    @classmethod
    def judging(
        cls, who: str, width: int, words: tuple[str, ...], X: ArrayLike | sp.spmatrix, y: Any
    ) -> Self:
        """Return pictures to judge by; words that are not learned do not count."""
        vectors = check_vectors(who, X, width=width)
        has, _ = read_words(who, y, vectors.shape[0], words)
        judged = _with_words(cls(vectors, has[:, : len(words)], words))
        if not len(judged):
            raise InvalidInput(
                f"{who}: pictures to judge by must show words that were learned; none does."
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
    """Raise InvalidInput where no ranking can be learned from these words."""
    if len(words) < 2:
        only = f"only the word {words[0]!r:.80}" if words else "no word"
        raise InvalidInput(
            f"{who}: words are learned by ranking them against each other, so it needs at least "
            f"two; the pictures have {only}. Give pictures with another word too."
        )


def _with_words(lessons: LessonsT) -> LessonsT:
    """Return the pictures that have a word."""
    some = np.flatnonzero(np.diff(lessons.has.indptr))
    return lessons if len(some) == len(lessons) else lessons.only(some)


def blocks(count: int, step: int) -> Iterator[slice]:
    """Return 0 .. count-1 cut into slices of at most ``step``."""
    return (slice(start, min(start + step, count)) for start in range(0, count, step))

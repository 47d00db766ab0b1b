"""Words before anybody taught any: those of the classes a network was trained to tell apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.text import word_key
from lookalike.core.vectors import Vectors, dense

LIKELIEST = 64
"""Classes that are kept of each picture."""

_NO_LETTER = re.compile(r"[\W_]+")
_PLURALS = (("ies", "y"), ("es", ""), ("s", ""))
_EDGE = 1e-6


class Vocabulary:
    """Which of a network's classes each word stands for, synonyms and broader words among them.

    Parameters
    ----------
    rows : iterable of (names, classes)
        Names for the same thing, the everyday one first, and the numbers of its classes. A name
        that several rows have stands for the classes of all.
    classes : int
        How many classes there are.

    Examples
    --------
    >>> words = Vocabulary([(["beagle"], [0]), (["poodle"], [1]), (["dog", "hound"], [0, 1])], 3)
    >>> words.find("Dogs")
    ('dog', array([0, 1]))
    >>> words.close("beagel")
    ['beagle']
    """

    def __init__(self, rows: Iterable[tuple[Sequence[str], Sequence[int]]], classes: int) -> None:
        named = list(rows)
        self.classes = classes
        self.words = tuple(names[0] for names, _ in named)
        self._classes = [np.array(sorted(numbers), np.intp) for _, numbers in named]
        self._rows: dict[str, list[int]] = {}
        for row, (names, _) in enumerate(named):
            for key in dict.fromkeys(map(_key, names)):
                self._rows.setdefault(key, []).append(row)
        self._names = {_key(name): name for names, _ in named for name in names}

    @classmethod
    def read(cls, path: Path, classes: int) -> Vocabulary:
        """Read a table: names divided by ``; ``, a tab, and classes as ``3,5-9``; # is a remark."""
        rows = []
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                names, _, spans = line.partition("\t")
                rows.append((names.split("; "), _numbers(spans)))
        return cls(rows, classes)

    @cached_property
    def members(self) -> sp.csr_matrix:
        """Ones where a class (row) is among those of a word (column)."""
        columns = np.repeat(np.arange(len(self.words)), [len(some) for some in self._classes])
        rows = np.concatenate([*self._classes, np.zeros(0, np.intp)])
        ones = np.ones(len(rows), np.float32)
        return sp.csr_matrix((ones, (rows, columns)), shape=(self.classes, len(self.words)))

    def find(self, word: str) -> tuple[str, NDArray[np.intp]] | None:
        """Return a word as it is spelled, and its classes; None if it is not known.

        Case, hyphens and spaces do not matter, and the plural is found, too.
        """
        for key in keys(word):
            if rows := self._rows.get(key):
                name = self.words[rows[0]] if len(rows) == 1 else self._names[key]
                return name, np.unique(np.concatenate([self._classes[row] for row in rows]))
        return None

    def close(self, word: str) -> list[str]:
        """Return a few names that are written like a word."""
        return [self._names[key] for key in get_close_matches(_key(word), self._names)]


@dataclass(frozen=True)
class Likely:
    """The likeliest classes of pictures, a row each: their numbers and probabilities."""

    classes: NDArray[np.uint16]
    chances: NDArray[np.float16]

    @classmethod
    def stacked(cls, parts: Sequence[Likely]) -> Likely:
        """Return the rows of all parts."""
        return cls(
            np.concatenate([part.classes for part in parts]),
            np.concatenate([part.chances for part in parts]),
        )

    def taken(self, rows: NDArray[Any]) -> Likely:
        """Return some rows, by a mask or by number."""
        return Likely(self.classes[rows], self.chances[rows])

    def matrix(self, classes: int) -> sp.csr_matrix:
        """Return the probabilities as a row for each picture and a column for each class."""
        n, kept = self.classes.shape
        return sp.csr_matrix(
            (
                self.chances.astype(np.float32).ravel(),
                self.classes.astype(np.int32).ravel(),
                np.arange(0, n * kept + 1, kept),
            ),
            shape=(n, classes),
        )


@dataclass(frozen=True)
class StartWords:
    """Words from a network's classifier: P(word) is the sum over the word's classes.

    The classes' probabilities are softmax(s·Wu + b) for a picture's vector u of unit length, where
    s stands in for the length that the vector had. How sure a word is follows from the sum p of its
    classes' probabilities: logit P = a·logit p + c.

    Attributes
    ----------
    vocabulary : Vocabulary
    classifier : callable
        Returns W (classes × dimension) and b; called when they are first needed.
    scale : float
        s.
    slope, shift : float
        a and c, fitted to pictures with known words; 1 and 0 leave p unchanged.
    """

    vocabulary: Vocabulary
    classifier: Callable[[], tuple[NDArray[Any], NDArray[Any]]]
    scale: float = 1.0
    slope: float = 1.0
    shift: float = 0.0

    def likely(self, vectors: Vectors) -> Likely:
        """Return the likeliest classes of pictures, best first; for a few thousand at a time."""
        W, b = self.classifier()
        logits = np.float32(self.scale) * (dense(vectors) @ W.T) + b
        logits -= logits.max(axis=1, keepdims=True)
        chances = np.exp(logits)
        chances /= chances.sum(axis=1, keepdims=True)
        kept = min(LIKELIEST, chances.shape[1])
        best = np.argpartition(-chances, kept - 1, axis=1)[:, :kept]
        order = np.argsort(-np.take_along_axis(chances, best, axis=1), axis=1, kind="stable")
        best = np.take_along_axis(best, order, axis=1)
        result = np.take_along_axis(chances, best, axis=1)
        return Likely(best.astype(np.uint16), result.astype(np.float16))

    def confidences(self, likely: Likely, classes: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return how sure it is that pictures show a word of these classes; 0 for none of them."""
        among = np.zeros(self.vocabulary.classes, np.float32)
        among[classes] = 1
        return self.weighed(likely, among)

    def weighed(self, likely: Likely, among: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the same of what stands for each class by a weight from 0 to 1."""
        sums = np.einsum("ij,ij->i", likely.chances, among[likely.classes], dtype=np.float32)
        return self._sure(sums)

    def words(self, likely: Likely, least: float) -> list[list[tuple[str, float]]]:
        """Return the words of pictures that are sure enough, with how sure each is.

        The most telling come first: those with the largest P·ln(classes in all / its classes), so
        that a dalmatian is one before it is a dog, and a dog before it is an animal.
        """
        sums, bits = self._sums(likely)
        result = []
        for begin, end in zip(sums.indptr[:-1], sums.indptr[1:], strict=True):
            columns, sure = sums.indices[begin:end], self._sure(sums.data[begin:end])
            order = np.argsort(-sure * bits[columns], kind="stable")
            result.append(
                [
                    (self.vocabulary.words[columns[at]], float(sure[at]))
                    for at in order
                    if sure[at] >= least
                ]
            )
        return result

    def counts(self, likely: Likely, least: float) -> dict[str, int]:
        """Return the words that are sure enough for some picture, and for how many."""
        sums, _ = self._sums(likely)
        sure = sums.indices[self._sure(sums.data) >= least]
        counts = np.bincount(sure, minlength=len(self.vocabulary.words))
        return {self.vocabulary.words[row]: int(counts[row]) for row in np.flatnonzero(counts)}

    def _sums(self, likely: Likely) -> tuple[sp.csr_matrix, NDArray[np.float64]]:
        """Return P(word) before it is calibrated, a row for each picture, and each word's bits."""
        members = self.vocabulary.members
        sizes = np.maximum(members.sum(axis=0).A1, 1)
        bits: NDArray[np.float64] = np.log((self.vocabulary.classes + 1) / sizes)
        return sp.csr_matrix(likely.matrix(self.vocabulary.classes) @ members), bits

    def _sure(self, sums: NDArray[np.float32]) -> NDArray[np.float32]:
        p = np.clip(sums.astype(np.float64), _EDGE, 1 - _EDGE)
        odds = self.slope * np.log(p / (1 - p)) + self.shift
        return np.where(sums > 0, 1 / (1 + np.exp(-odds)), 0.0).astype(np.float32)


@cache
def imagenet() -> Vocabulary:
    """Return the words of ImageNet's 1,000 classes, with broader ones of WordNet."""
    return Vocabulary.read(Path(__file__).with_name("start_words.tsv"), 1000)


def keys(word: str) -> list[str]:
    """Return what a word is found by: its letters and digits alone, then those of singulars.

    Examples
    --------
    >>> keys("Polar-Bears")
    ['polarbears', 'polarbear']
    """
    typed = _key(word)
    ends = ((end, instead) for end, instead in _PLURALS if typed.endswith(end))
    return [typed, *(typed.removesuffix(end) + instead for end, instead in ends)]


def _key(word: str) -> str:
    return _NO_LETTER.sub("", word_key(word))


def _numbers(spans: str) -> list[int]:
    """Return the numbers that spans name.

    Examples
    --------
    >>> _numbers("3,5-7")
    [3, 5, 6, 7]
    """
    result: list[int] = []
    for span in spans.split(","):
        first, _, last = span.partition("-")
        result += range(int(first), int(last or first) + 1)
    return result

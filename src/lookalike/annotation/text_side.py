"""Rank pictures by whole texts: ridge regression from pictures onto what their words mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.held_out import Matrix
from lookalike.core.errors import InvalidInput
from lookalike.core.text import word_key
from lookalike.core.vectors import Vectors, dense, unit_rows

PENALTY = 2.0
"""λ, for pictures of length 1: of .5 to 5, all within .02 of R@10 (docs/decisions/0037)."""

Encode = Callable[[Sequence[str]], Matrix]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TextSide:
    """What was learned of texts from pictures with words: words never taught rank pictures, too.

    A text t has the vector τ(t) = [b(t) − b̄, s(t) − s̄]: b(t) are its learned words, the rarer the
    more (log of one in how many pictures has a word), of unit length, and s(t) is its vector by a
    text encoder. Ridge regression maps a picture x onto that of its words, B = (XᵀX + λI)⁻¹XᵀT with
    the mean x̄ taken off, and it scores cos(τ(t), Bᵀ(x − x̄)): an inner product of x with the query
    vector Bτ(t), less that of x̄, divided by one number a picture, |Bᵀ(x − x̄)|.

    Departures: DeViSE (A. Frome et al., *A deep visual-semantic embedding model*, 2013) learns such
    a map by a ranking loss; the closed form needs no rate and no passes.

    Attributes
    ----------
    B : ndarray of shape (d, words + dimension of the encoder)
    centre : ndarray of shape (d,)
        x̄.
    mean : ndarray
        b̄ and s̄.
    rarity : dict of str to (int, float)
        For the key of each learned word its number and how rare it is.
    encode : callable
        The text encoder.
    """

    B: Floats
    centre: Floats
    mean: Floats
    rarity: Mapping[str, tuple[int, float]]
    encode: Encode

    @classmethod
    def fit(cls, X: Vectors, y: Sequence[Sequence[str]], encode: Encode) -> TextSide:
        """Learn from pictures, each with at least one word."""
        rows = np.asarray(dense(X), np.float64)
        if len(rows) != len(y) or not all(y) or not len(rows):
            raise InvalidInput(
                f"TextSide: each picture needs a word, and words a picture; got {len(rows)} "
                f"pictures and {sum(map(bool, y))} with words."
            )
        keys = [{word_key(word) for word in words} for words in y]
        counts: dict[str, int] = {}
        for key in (key for some in keys for key in sorted(some)):
            counts[key] = counts.get(key, 0) + 1
        rarity = {
            key: (number, float(np.log((len(y) + 1) / count)))
            for number, (key, count) in enumerate(sorted(counts.items()))
        }
        bags = np.stack([_bag(some, rarity) for some in keys])
        texts = np.hstack([bags, encode([" ".join(words) for words in y])])
        centre, mean = rows.mean(axis=0), texts.mean(axis=0)
        centred = rows - centre
        penalty = PENALTY * float(np.mean(np.sum(rows**2, axis=1)))
        gram = centred.T @ centred + penalty * np.eye(rows.shape[1])
        B = np.linalg.solve(gram, centred.T @ (texts - mean))
        return cls(B, centre, mean, rarity, encode)

    def taught(self, words: Sequence[str]) -> float:
        """Return the share of words that were taught."""
        return sum(word_key(word) in self.rarity for word in words) / max(len(words), 1)

    def query(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return Bτ(t)/|τ(t)| for a text in words, a row."""
        keys = {word_key(word) for word in words}
        bag, seen = _bag(keys, self.rarity), len(self.rarity)
        if bag.any():
            bag = bag - self.mean[:seen]
        meaning = self.encode([" ".join(words)])[0] - self.mean[seen:]
        whole = unit_rows(np.concatenate([bag, meaning])[None])
        return np.asarray(whole @ self.B.T, np.float32)

    def lengths(self, X: Vectors) -> Floats:
        """Return |Bᵀ(x − x̄)| of pictures."""
        # |Bᵀx| = |Lᵀx| with LLᵀ = BBᵀ, which is as wide as x.
        values, directions = np.linalg.eigh(self.B @ self.B.T)
        root = directions * np.sqrt(np.maximum(values, 0))
        return np.asarray(np.linalg.norm((dense(X) - self.centre) @ root, axis=1), np.float64)

    def scores(self, products: NDArray[np.floating], query: Matrix, lengths: Floats) -> Floats:
        """Return how well pictures fit a text, by the inner products of x with its query vector."""
        offset = float(query[0] @ self.centre)
        return np.asarray((products - offset) / np.maximum(lengths, 1e-9), np.float64)


def _bag(keys: set[str], rarity: Mapping[str, tuple[int, float]]) -> Floats:
    """Return the words of a text that are known, the rarer the more, of unit length."""
    bag = np.zeros(len(rarity))
    for key in keys:
        if key in rarity:
            number, weight = rarity[key]
            bag[number] = weight
    length = float(np.linalg.norm(bag))
    return bag / length if length else bag

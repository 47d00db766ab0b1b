"""How pictures that were picked together differ: what of that says nothing of what they show.

A query and what was picked for it are alike, whatever they are. So the directions in which they
differ weigh less in every search, as in relevant component analysis (Bar-Hillel, Hertz, Shental
and Weinshall, 2003), and that reaches searches far from any vote. Only queries turn: by

    M⁻¹u/(uᵀM⁻¹u) − u,   M = w·C + (2 − w)·tr(C)/d·I,   w = n/(n + EVIDENCE),

for a query u of unit length, with C the covariance within the pictures of each vote, pooled, and n
the pictures picked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.votes._fast.solving import factored, solved
from lookalike.collection.votes.members import Members
from lookalike.collection.votes.steps import FOLDS, Weights
from lookalike.core import sparse as sp

EVIDENCE = 200.0
"""Picked pictures after which what they say weighs as much as the start."""

MAX_WIDTH = 512
"""Vectors of more numbers are left as they are: d² numbers are kept for each part of the votes."""

GRAIN = 2.0**-12
"""What vectors are rounded to a multiple of.

Sums of products of such numbers are exact in float64, so it makes no difference in which order
votes are added and taken away."""

AT_ONCE = 2048
"""Votes whose pictures are in memory at once."""


@dataclass(frozen=True)
class Spread:
    """Sums over votes, for each part of them; it never changes.

    ``people`` are 1 for each person whose votes count, else 0, ``weights`` the same of each vote,
    ``products`` the sums of (x − m)(x − m)ᵀ over the query and the picked pictures x of a vote
    with their mean m, and ``counts`` those of how many were picked.
    """

    people: Weights
    weights: Weights
    products: tuple[Weights, ...]
    counts: tuple[float, ...]
    _factors: dict[int | None, Weights | None] = field(default_factory=dict, compare=False)

    @classmethod
    def none(cls, width: int) -> Spread:
        """Return the sums over no votes, for vectors of so many numbers."""
        nothing = np.zeros((width, width))
        return cls(np.zeros(0), np.zeros(0), (nothing,) * FOLDS, (0.0,) * FOLDS)

    @classmethod
    def of(cls, vectors: Any, of: Members, people: Weights, before: Spread | None) -> Spread | None:
        """Return what votes come to, after what they did before; None for long vectors."""
        if vectors is None or sp.issparse(vectors) or vectors.shape[1] > MAX_WIDTH:
            return None
        return (before or cls.none(vectors.shape[1])).following(vectors, of, people)

    def following(self, vectors: Any, of: Members, people: Weights) -> Spread:
        """Return what votes come to by now: those before, perhaps of other weights, and new ones.

        ``vectors`` has a row for each picture of ``of``, and ``people`` one for each person.
        """
        votes = _counted(len(of.stop))
        if votes == len(self.weights) and np.array_equal(people, self.people):
            return self
        stops, picked = of.stop.rows[:votes], of.picked.rows[:votes]
        starts = np.concatenate([[0], stops[:-1]])
        weights = people[of.person.rows[:votes]]
        weights *= (picked > 1) & of.last(votes)
        change = weights.copy()
        change[: len(self.weights)] -= self.weights[:votes]
        products, counts = list(self.products), list(self.counts)
        folds = np.where(change, of.fold.rows[:votes], -1)
        for fold, changed in _groups(folds):
            size = picked[changed]
            rows = np.concatenate(
                [np.arange(starts[vote], starts[vote] + picked[vote]) for vote in changed]
            )
            X = np.round(vectors[of.item.rows[rows]].astype(np.float64) / GRAIN) * GRAIN
            X -= np.round(_means(X, size) / GRAIN) * GRAIN
            weighed = np.repeat(change[changed], size)[:, None] * X
            products[fold] = products[fold] + X.T @ weighed
            counts[fold] += float(change[changed] @ (size - 1))
        return Spread(people, weights, tuple(products), tuple(counts))

    def matrix(self) -> Weights | None:
        """Return M⁻¹; None where nothing is known."""
        factor = self._factor(None)
        return None if factor is None else np.asarray(solved(factor, np.eye(len(factor))))

    def turned(self, queries: Weights, without: int | None = None) -> Weights:
        """Return how queries of unit length are turned, a row each, perhaps without a part."""
        factor = self._factor(without)
        if factor is None:
            return np.zeros_like(queries)
        moved = solved(factor, queries.astype(np.float64))
        own = np.maximum((moved * queries).sum(axis=1, keepdims=True), 1e-12)
        return np.asarray(moved / own - queries)

    def _factor(self, without: int | None) -> Weights | None:
        """Return L with LLᵀ = M, perhaps without one part of the votes; None if all are alike."""
        if without not in self._factors:
            M = self._weighed(without)
            self._factors[without] = None if M is None else factored(M)
        return self._factors[without]

    def _weighed(self, without: int | None) -> Weights | None:
        """Return M."""
        parts = [fold for fold in range(FOLDS) if fold != without]
        count = sum(self.counts[fold] for fold in parts)
        whole = np.sum([self.products[fold] for fold in parts], axis=0)
        variance = float(np.trace(whole)) / len(whole)
        if not variance > 0:
            return None
        share = count / (count + EVIDENCE)
        return np.asarray(share * whole / variance + (2 - share) * np.eye(len(whole)))


def _counted(votes: int) -> int:
    """Return how many of the votes count by now: of many, the last few hardly matter."""
    return votes - votes % (1 << max(votes.bit_length() - 6, 0))


def _groups(folds: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Return the votes of each part, a limited number at once; −1 is no part."""
    for fold in range(FOLDS):
        votes = np.flatnonzero(folds == fold)
        for first in range(0, len(votes), AT_ONCE):
            yield fold, votes[first : first + AT_ONCE]


def _means(X: Weights, sizes: NDArray[np.int64]) -> Weights:
    """Return the mean of each group of rows, once for each of its rows."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return np.repeat(np.add.reduceat(X, starts, axis=0) / sizes[:, None], sizes, axis=0)

"""How far each query follows what was learned: the nearer to what was taught, the farther.

What was learned ranks pictures of the kinds it was taught better than cosine does, and others
worse. So a query is blended by its nearness to the *landmarks*, a bounded number of the pictures
taught: one small product, where comparing it with all of them would be a second search.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lookalike.core.vectors import Vectors, dense, unit_rows
from lookalike.supervision import Relevance

MOST_LANDMARKS, MOST_NUMBERS = 4096, 1 << 23
"""Landmarks that are kept: for vectors of 256 numbers 4 MB, and 4 % of a scan of 100,000 pictures;
and the numbers they may have together."""

NEAREST = 3
"""The landmarks whose mean cosine is a query's nearness."""

MOST_SAMPLED = 1000
"""Pictures whose nearness places the rule."""

SHARES = ((0.0, 0.75), (0.1, 0.75), (0.2, 0.75), (0.3, 0.75), (0.5, 1.0), (0.75, 1.0), (1.0, 1.0))
"""The shares that are tried for queries far from what was taught, and for those near to it.

The last quarter adds little where W helps, and takes most where it does not.
"""


@dataclass(frozen=True)
class Reach:
    """The share of what was learned that a query uses, by its nearness to what was taught.

    Nearness is the mean cosine to the three nearest landmarks. The share is ``least`` up to the
    nearness ``low`` and ``most`` from ``high`` on, and linear between them.
    """

    landmarks: NDArray[np.float32]
    low: float
    high: float
    least: float
    most: float

    def __post_init__(self) -> None:
        shares, nearness = (self.least, self.most), (self.low, self.high)
        if not (0 <= self.least <= self.most <= 1 and -1.1 < self.low < self.high < 1.2):
            raise ValueError(f"the shares are {shares}, for a nearness of {nearness}.")

    def shares(self, vectors: Vectors) -> NDArray[np.float32]:
        """Return the share for each row."""
        return self.at(nearness(unit_rows(vectors) @ self.landmarks.T))

    def at(self, near: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return the share for each nearness."""
        way = np.clip((near - self.low) / (self.high - self.low), 0, 1)
        return np.asarray(self.least + (self.most - self.least) * way, dtype=np.float32)

    def formula(self) -> str:
        """Return the shares of the rows of x as an expression, with ``f["landmarks"]``."""
        near = (
            f'np.sort(x @ f["landmarks"].T, axis=1)[:, -{NEAREST}:].mean(axis=1) '
            f"/ np.maximum(dot(x, x) ** 0.5, 1e-30)"
        )
        way = f"np.clip(({near} - {self.low!r}) / {self.high - self.low!r}, 0, 1)"
        return f"({self.least!r} + {self.most - self.least!r} * {way})[:, None]"

    def with_landmarks(self, vectors: Vectors) -> "Reach":
        """Return the same rule with further pictures taught, as far as there is room."""
        room = max(most_landmarks(vectors.shape[1]) - len(self.landmarks), 0)
        more = _dense_units(vectors[:room])
        return replace(self, landmarks=np.concatenate([self.landmarks, more]))


@dataclass(frozen=True)
class Placed:
    """Where what was taught lies, and how near to it its own pictures and strangers are.

    Attributes
    ----------
    landmarks : ndarray
    low, high : float
        Nine strangers in ten are farther than ``low``; ``high`` is as near as the nearest one
        in a hundred, and as half of the pictures taught.
    """

    landmarks: NDArray[np.float32]
    low: float
    high: float
    _rows: NDArray[np.intp]
    _kinds: Relevance

    @classmethod
    def of(cls, vectors: Vectors, kinds: Relevance, rng: np.random.Generator) -> "Placed | None":
        """Place landmarks among the pictures taught; return None if no kind has strangers.

        A picture is a stranger where those of its own kind are left out. This needs no training,
        and so every kind is left out once.
        """
        taught = np.flatnonzero(kinds.known)
        rows = np.sort(rng.permutation(taught)[: most_landmarks(vectors.shape[1])])
        sample = np.sort(rng.permutation(taught)[:MOST_SAMPLED])
        placed = cls(_dense_units(vectors[rows]), 0.0, 1.0, rows, kinds)
        own = placed.nearness(vectors[sample], sample, strangers=False)
        strange = placed.nearness(vectors[sample], sample, strangers=True)
        own, strange = own[np.isfinite(own)], strange[np.isfinite(strange)]
        if not len(own) or not len(strange):
            return None
        low, nearest = np.quantile(strange, [0.9, 0.99])
        high = max(float(nearest), float(np.median(own)), float(low) + 0.01)
        return replace(placed, low=float(low), high=high)

    def nearness(
        self, vectors: Vectors, rows: NDArray[np.intp], *, strangers: bool
    ) -> NDArray[np.float64]:
        """Return how near pictures, by their rows, would be if they had not been taught.

        For strangers, neither had any of their kind. -inf where nothing else was taught.
        """
        cosines = np.asarray(unit_rows(vectors) @ self.landmarks.T, dtype=np.float64)
        if strangers:
            cosines[self._kinds.rows(rows, self._rows)] = -np.inf
        cosines[rows[:, None] == self._rows] = -np.inf
        return nearness(cosines)

    def held_out(
        self, vectors: Vectors, rows: NDArray[np.intp], taught: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the nearness of held-out rows, of which some are of kinds that were taught."""
        own, strange = (self.nearness(vectors[rows], rows, strangers=it) for it in (False, True))
        return np.where(taught, own, strange)

    def rules(self) -> Iterator[Reach]:
        """Return the rules to choose from, the most cautious first."""
        for least, most in SHARES:
            yield Reach(self.landmarks, self.low, self.high, least, most)


def most_landmarks(width: int) -> int:
    """Return how many landmarks of so many numbers are kept at most."""
    return int(min(MOST_LANDMARKS, max(MOST_NUMBERS // width, 1)))


def nearness(cosines: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the mean of the three largest entries of each row, or of fewer where -inf is."""
    count = min(NEAREST, cosines.shape[1])
    nearest = np.partition(cosines, cosines.shape[1] - count, axis=1)[:, -count:]
    some = np.isfinite(nearest)
    sums = np.where(some, nearest, 0).sum(axis=1, dtype=np.float64)
    return np.where(some.any(axis=1), sums / np.maximum(some.sum(axis=1), 1), -np.inf)


def kinds_of(
    vectors: Vectors, relevance: Relevance, least: int, rng: np.random.Generator
) -> Relevance:
    """Return the kinds of pictures, a label each, of which some can be left out as a whole.

    These are the labels, if there are at least ``least``. Of clicks and of few labels they are
    cells: each picture belongs to the nearest of ``2 * least`` pictures drawn at random.
    """
    if relevance.labels_ is not None and len(relevance.labels_) >= least:
        return relevance
    units = unit_rows(vectors)
    seeds = rng.permutation(np.flatnonzero(relevance.has_alike))[: 2 * least]
    centres = _dense_units(vectors[seeds])
    cells = np.asarray(units @ centres.T).argmax(axis=1)
    return Relevance.of(
        [int(cell) if known else None for cell, known in zip(cells, relevance.known, strict=True)]
    )


def _dense_units(vectors: Vectors) -> NDArray[np.float32]:
    return np.ascontiguousarray(dense(unit_rows(vectors)), dtype=np.float32)

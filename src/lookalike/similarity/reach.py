"""How far each query follows what was learned: the nearer to what was taught, the farther.

What was learned ranks pictures of the kinds it was taught better than cosine does, and others
worse. So a query is blended by its nearness to the *landmarks*, a bounded number of the pictures
taught: one small product, where comparing it with all of them would be a second search.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.stored import Arrays
from lookalike.core.vectors import Vectors, dense, unit_rows
from lookalike.similarity.base import Formula, stored_array
from lookalike.similarity.held_out import CLASSES_TO_HOLD_OUT, inverse_root, self_scores
from lookalike.supervision import Relevance

MAX_LANDMARKS, MAX_NUMBERS = 4096, 1 << 23
"""Landmarks that are kept: for vectors of 256 numbers 4 MB, and 4 % of a scan of 100,000 pictures;
and the numbers they may have together."""

NEAREST = 3
"""The landmarks whose mean cosine is a query's nearness."""

RULE = ("low", "high", "least", "most")
"""The numbers of a rule."""

SHARES = (
    (0.0, 0.0),
    (0.0, 0.25),
    (0.0, 0.5),
    (0.1, 0.5),
    (0.0, 0.75),
    (0.1, 0.75),
    (0.25, 0.5),
    (0.25, 0.75),
    (0.5, 0.75),
    (0.0, 1.0),
    (0.1, 1.0),
    (0.25, 1.0),
    (0.5, 1.0),
    (0.75, 1.0),
    (1.0, 1.0),
)
"""The shares that are tried for queries far from what was taught, and for those near to it.

The last quarter adds little where W helps, and takes most where it does not.
"""

MAX_SAMPLED = 1000
"""Pictures whose nearness places a rule."""


@dataclass(frozen=True)
class Reach:
    """The share of what was learned that a query uses, by its nearness to what was taught.

    Nearness is the mean cosine to the three nearest landmarks. The share is ``least`` up to the
    nearness ``low`` and ``most`` from ``high`` on, and linear between them.

    Attributes
    ----------
    landmarks : ndarray
        Pictures taught, at unit length: lᵀSl = 1.
    start : ndarray of shape (d, d) or None
        S, by which pictures are compared where nothing of what was learned is used; None is I.
    """

    landmarks: NDArray[np.float32]
    low: float
    high: float
    least: float
    most: float
    start: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        shares, nearness = (self.least, self.most), (self.low, self.high)
        if not (0 <= self.least <= self.most <= 1 and -1.1 < self.low < self.high < 1.2):
            raise ValueError(f"the shares are {shares}, for a nearness of {nearness}.")

    def own(self, vectors: Vectors) -> NDArray[np.float32]:
        """Return queries as they start, Sq/√(qᵀSq); a zero row stays zero."""
        if self.start is None:
            return _dense_units(vectors)
        turned = np.asarray(vectors @ self.start, dtype=np.float32)
        return turned * inverse_root(self_scores(self.start, vectors))[:, None]

    def shares(self, vectors: Vectors) -> NDArray[np.float32]:
        """Return the share for each row."""
        return self.at(nearness(self.own(vectors) @ self.landmarks.T))

    def at(self, near: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return the share for each nearness."""
        way = np.clip((near - self.low) / (self.high - self.low), 0, 1)
        return np.asarray(self.least + (self.most - self.least) * way, dtype=np.float32)

    def blended(
        self, vectors: Vectors, turned: NDArray[np.float32], *, unit: bool
    ) -> NDArray[np.float32]:
        """Return queries at their shares of the way from the start to what was learned."""
        own = self.own(vectors)
        shares = self.at(nearness(own @ self.landmarks.T))[:, None]
        begin = own if unit else dense(vectors)
        return np.asarray(begin + shares * (turned - begin), dtype=np.float32)

    def rule(self) -> dict[str, float | bool]:
        """Return the numbers of the rule, and whether it has a start."""
        numbers = {name: getattr(self, name) for name in RULE}
        return {**numbers, "started": self.start is not None}

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """Return its arrays by name."""
        result = {"landmarks": self.landmarks}
        return result if self.start is None else {**result, "start": self.start}

    @classmethod
    def restored(cls, arrays: Arrays, rule: Mapping[str, Any], width: int) -> "Reach":
        """Return what was saved for vectors of a width; raise ValueError if it is not valid."""
        landmarks = stored_array(arrays, "landmarks", 2)
        started = rule.get("started", False)
        start = stored_array(arrays, "start", 2) if started else None
        if not isinstance(started, bool):
            raise ValueError(f"started is {started!r:.80}.")
        if landmarks.shape[1] != width or (start is not None and start.shape != (width, width)):
            raise ValueError(f"landmarks are of shape {landmarks.shape}, vectors of {width}.")
        return cls(landmarks, **{name: float(rule[name]) for name in RULE}, start=start)

    def formula(self) -> tuple[str, str]:
        """Return the shares of the rows of x and their start, with ``f["landmarks"]``."""
        own = '(x.toarray() if hasattr(x, "toarray") else x)'
        squares = "dot(x, x)"
        if self.start is not None:
            own, squares = '(x @ f["start"])', 'dot(x, x @ f["start"])'
        length = f"np.maximum({squares} ** 0.5, 1e-30)"
        near = f'np.sort({own} @ f["landmarks"].T, axis=1)[:, -{NEAREST}:].mean(axis=1) / {length}'
        way = f"np.clip(({near} - {self.low!r}) / {self.high - self.low!r}, 0, 1)"
        shares = f"({self.least!r} + {self.most - self.least!r} * {way})[:, None]"
        return shares, f"{own} / {length}[:, None]"

    def with_landmarks(self, vectors: Vectors) -> "Reach":
        """Return the same rule with further pictures taught, as far as there is room."""
        room = max(most_landmarks(vectors.shape[1]) - len(self.landmarks), 0)
        more = scaled_landmarks(vectors[:room], self.start)
        return replace(self, landmarks=np.concatenate([self.landmarks, more]))


def blended_formula(W: NDArray[np.float32], reach: Reach | None, *, unit: bool) -> Formula:
    """Return pᵀWq as a formula, over the roots of the self-scores if ``unit``, and blended."""
    arrays, query_side = {"W": W}, 'x @ f["W"]'
    scale = 'np.maximum(dot(x, x @ f["W"]), 1e-30) ** -0.5'
    if reach is None:
        if not unit:
            return Formula(arrays, query=query_side)
        return Formula(arrays, scale=scale, query=query_side, query_scale=scale)
    shares, own = reach.formula()
    arrays |= reach.arrays()
    if not unit:
        own = '(x.toarray() if hasattr(x, "toarray") else x)'
        return Formula(arrays, query=f"(1 - {shares}) * {own} + {shares} * ({query_side})")
    turned = f"{query_side} * ({scale})[:, None]"
    return Formula(arrays, scale=scale, query=f"(1 - {shares}) * ({own}) + {shares} * ({turned})")


@dataclass(frozen=True)
class Placed:
    """The pictures taught that are landmarks, and their kinds."""

    rows: NDArray[np.intp]
    kinds: Relevance

    @classmethod
    def of(cls, width: int, kinds: Relevance, rng: np.random.Generator) -> "Placed":
        """Choose landmarks among the pictures taught."""
        taught = np.flatnonzero(kinds.known)
        return cls(np.sort(rng.permutation(taught)[: most_landmarks(width)]), kinds)

    def held_out(
        self, vectors: Vectors, rows: NDArray[np.intp], taught: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return how near held-out rows would be if they had not been taught.

        Where they are not of kinds that were ``taught``, neither had any of their kind. -inf where
        nothing else was taught.
        """
        units = unit_rows(vectors)
        cosines = np.asarray(dense(units[rows] @ units[self.rows].T), dtype=np.float64)
        strangers = ~taught
        related = self.kinds.rows(rows[strangers], self.rows)
        cosines[strangers] = np.where(related, -np.inf, cosines[strangers])
        cosines[rows[:, None] == self.rows] = -np.inf
        return nearness(cosines)


def ramp(near: NDArray[np.float64], taught: NDArray[np.bool_]) -> tuple[float, float] | None:
    """Return the nearness from which queries follow what was learned, and that of the most.

    Nine strangers in ten are farther than the first; the second is as near as the nearest one in
    a hundred, and as half of the pictures of kinds that were taught. None without strangers.
    """
    own, strange = near[taught & np.isfinite(near)], near[~taught & np.isfinite(near)]
    if not len(own) or not len(strange):
        return None
    low, nearest = (float(it) for it in np.quantile(strange, [0.9, 0.99]))
    return low, max(nearest, float(np.median(own)), low + 0.01)


def reach_of_rows(
    rows: NDArray[np.float32],
    relevance: Relevance,
    shares: tuple[float, float],
    rng: np.random.Generator,
) -> Reach | None:
    """Return the rule by which queries near what was taught have the greater of two shares.

    None where pictures of kinds that were not taught are as near.
    """
    kinds = kinds_of(rows, relevance, CLASSES_TO_HOLD_OUT, rng)
    placed = Placed.of(rows.shape[1], kinds, rng)
    some = rng.permutation(np.flatnonzero(kinds.known))[:MAX_SAMPLED]
    taught = np.repeat([True, False], len(some))
    result = ramp(placed.held_out(rows, np.tile(some, 2), taught), taught)
    if result is None:
        return None
    return Reach(scaled_landmarks(rows[placed.rows], None), *result, *shares)


def scaled_landmarks(vectors: Vectors, start: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """Return pictures at unit length, by a start."""
    if start is None:
        return _dense_units(vectors)
    rows = dense(vectors)
    return np.asarray(rows * inverse_root(self_scores(start, rows))[:, None], dtype=np.float32)


def most_landmarks(width: int) -> int:
    """Return how many landmarks of so many numbers are kept at most."""
    return int(min(MAX_LANDMARKS, max(MAX_NUMBERS // width, 1)))


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

    These are the labels, if there are at least ``least`` and no picture has two. Otherwise, and of
    clicks, they are cells: each picture belongs to the nearest of ``2 * least`` pictures drawn at
    random. Without any of a fifth of the words, of five a picture, a third of all would be left.
    """
    if relevance.is_single and len(relevance.labels_ or ()) >= least:
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

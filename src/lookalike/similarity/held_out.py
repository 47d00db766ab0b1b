"""Evaluate a similarity on held-out comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.evidence import Difference, paired_difference
from lookalike.core.ranking import discounted_gains, judge
from lookalike.core.vectors import Vectors, dense, squared_lengths
from lookalike.supervision import Relevance

Form: TypeAlias = Literal["bilinear", "normalized", "distance"]
"""How W scores: pᵀWq, that over √(pᵀWp·qᵀWq), or −(p−q)ᵀW(p−q)."""

MAX_PICTURES, MAX_TRIPLETS = 3000, 50_000
"""The most to evaluate on: more would only be slower."""

DEPTH = 50
"""The ranks by which pictures with several labels are judged: the first ten vary more by chance."""

CLASSES_TO_HOLD_OUT = 10
"""With fewer classes, no class is held out as a whole."""


@dataclass(frozen=True)
class Verdict:
    """How good a similarity is on held-out pictures or triplets.

    Attributes
    ----------
    each : ndarray
        The average precision of each query, of pictures with several labels each its discounted
        gain (:func:`~lookalike.core.ranking.discounted_gains`), or whether each triplet is in the
        right order.
    weights : ndarray
        The weight of each; they sum to 1.
    first : ndarray
        Precision at 1 of each query; for triplets the same as ``each``.
    groups : csr_matrix
        Which of them are related, and so not independent.
    """

    each: NDArray[np.float64]
    weights: NDArray[np.float64]
    first: NDArray[np.float64]
    groups: sp.csr_matrix

    @property
    def figure(self) -> float:
        """Mean average precision, or the share of triplets in the right order."""
        return float(self.weights @ self.each)

    @property
    def error(self) -> float:
        """The standard error of ``figure``."""
        return _standard_error(self.each, self.weights)

    def better_than(self, start: Verdict, errors: float = 1.0) -> bool:
        """Return whether this is better by so many standard errors, and not worse in P@1 by one."""
        gain, first = self.gains(start)
        return gain.mean > errors * gain.error and not first.is_loss

    def gains(self, start: Verdict) -> tuple[Difference, Difference]:
        """Return how much better this is than the start, and how much in precision at 1."""
        return (
            paired_difference(start.each, self.each, self.groups, self.weights),
            paired_difference(start.first, self.first, self.groups, self.weights),
        )

    def part(self, some: NDArray[np.bool_]) -> Verdict:
        """Return the verdict on some of the queries."""
        weights = self.weights[some] / self.weights[some].sum()
        return Verdict(self.each[some], weights, self.first[some], self.groups[some])

    @classmethod
    def joined(cls, parts: Sequence[Verdict]) -> Verdict:
        """Return one verdict for several that count the same."""
        return cls(
            np.concatenate([part.each for part in parts]),
            np.concatenate([part.weights for part in parts]) / len(parts),
            np.concatenate([part.first for part in parts]),
            sp.csr_matrix(sp.block_diag([part.groups for part in parts])),
        )


@dataclass(frozen=True)
class HeldOutPictures:
    """Held-out pictures, each ranked against the others, and the rows to learn from."""

    kept: NDArray[np.intp]
    rows: NDArray[np.intp]
    vectors: Vectors
    relevance: Relevance
    taught: NDArray[np.bool_]

    @classmethod
    def choose(
        cls,
        vectors: Vectors,
        relevance: Relevance,
        share: float,
        rng: np.random.Generator,
        *,
        kinds: Relevance | None = None,
    ) -> Self | None:
        """Hold out a share of the pictures of each class, and optionally of whole kinds.

        With kinds, what is chosen must work for new pictures of the kinds that were learned and
        for kinds that were not; the two count the same. Return None if too few pictures are
        related to hold any out.
        """
        most = MAX_PICTURES // 2
        fraction = min(share, most / len(relevance))
        kept = np.arange(len(relevance))
        strangers = np.zeros(0, dtype=np.intp)
        if kinds is not None and (np.diff(kinds.members.indptr) >= 2).sum() >= 2:
            kept, strangers = kinds.hold_out_classes(fraction, rng)
            if relevance.subset(kept).trainable() is not None:
                kept, strangers = np.arange(len(relevance)), strangers[:0]
            elif len(strangers) > most:
                strangers = rng.choice(strangers, most, replace=False)
        within, held = relevance.subset(kept).hold_out(fraction, rng)
        rows = np.sort(np.concatenate([kept[held], strangers]))
        kept = kept[within]
        if not len(rows) or relevance.subset(kept).trainable() is not None:
            return None
        judges = cls(kept, rows, vectors[rows], relevance.subset(rows), ~np.isin(rows, strangers))
        relevant = judges.relevant
        if not relevant.any() or relevant.sum() == relevant.size - len(rows):
            return None
        return judges

    @cached_property
    def relevant(self) -> NDArray[np.bool_]:
        """Which of them are related to each, itself apart."""
        relevant = self.relevance.rows(np.arange(len(self.rows)))
        np.fill_diagonal(relevant, False)
        return relevant

    @cached_property
    def judged_taught(self) -> NDArray[np.bool_]:
        """Which of the judged queries are of kinds that were learned."""
        return self.taught[self.relevant.any(axis=1)]

    @cached_property
    def values(self) -> NDArray[np.float32] | None:
        """How relevant each is to each, where labels are several; None where that is yes or no."""
        if self.relevance.labels_ is None or self.relevance.is_single:
            return None
        return self.relevance.values(np.arange(len(self.rows)))

    def verdict(self, W: NDArray[np.float32], form: Form, *, taught_only: bool = False) -> Verdict:
        """Evaluate W by mean average precision (paper 1, section 5.1)."""
        return self.judge(self.scores(W, form), taught_only=taught_only)

    def judge(self, scores: NDArray[np.float32], *, taught_only: bool = False) -> Verdict:
        """Evaluate the scores of each with each."""
        outcome = judge(scores, self.relevant, own=np.arange(len(scores)), cutoffs=(1,))
        taught, judged = self.judged_taught, outcome.judged
        each = outcome.average_precision
        if self.values is not None:
            each = discounted_gains(scores, self.values, DEPTH)
        halves = [group / group.sum() for group in (taught, ~taught) if group.any()]
        weights = halves[0] if taught_only else np.sum(halves, axis=0) / len(halves)
        return Verdict(
            each[judged], weights, outcome.precision[judged, 0], self.relevance.groups[judged]
        )

    def scores(self, W: NDArray[np.float32], form: Form) -> NDArray[np.float32]:
        """Return how alike W finds each and each."""
        return _in_form((self.vectors @ W) @ self.vectors.T, form)

    def blended(
        self, W: NDArray[np.float32], form: Form
    ) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
        """Return a function from the share of W that each query has, beside the start, to scores.

        Items are scaled as W scales them.
        """
        products = (self.vectors @ W) @ self.vectors.T
        whole = _in_form(products, form)
        start = np.asarray(dense(self.vectors @ self.vectors.T), np.float32)
        if form != "bilinear":
            lengths = np.maximum(np.sqrt(squared_lengths(self.vectors)), 1e-30).astype(np.float32)
            own = inverse_root(np.diagonal(products).copy())
            start = start / lengths[:, None] * own[None, :]
        return lambda shares: shares[:, None] * whole + (1 - shares)[:, None] * start


@dataclass(frozen=True)
class HeldOutTriplets:
    """Held-out triplets, and those to learn from."""

    kept: NDArray[np.uint32]
    vectors: Vectors
    held: NDArray[np.uint32]

    @classmethod
    def choose(
        cls,
        vectors: Vectors,
        triplets: NDArray[np.uint32],
        share: float,
        rng: np.random.Generator,
    ) -> Self | None:
        """Hold out a random share of the triplets; return None if that would be none or all."""
        count = min(round(share * len(triplets)), MAX_TRIPLETS)
        if not 0 < count < len(triplets):
            return None
        order = rng.permutation(len(triplets))
        return cls(triplets[order[count:]], vectors, triplets[order[:count]])

    def verdict(self, W: NDArray[np.float32], form: Form) -> Verdict:
        """Evaluate W by the share of triplets whose more similar picture scores higher."""
        right = []
        for part in np.array_split(self.held, len(self.held) // 4096 + 1):
            image, more, less = (self.vectors[part[:, column]] for column in range(3))
            right.append(_pairs(W, image, more, form) > _pairs(W, image, less, form))
        each = np.concatenate(right).astype(np.float64)
        # Triplets count as independent: each is a query for itself.
        alone = sp.identity(len(each), format="csr")
        return Verdict(each, np.full(len(each), 1 / len(each)), each, alone)


def _standard_error(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(weights * (values - weights @ values)))


def self_scores(W: NDArray[np.float32], vectors: Vectors) -> NDArray[np.float32]:
    """Return each picture's score with itself, pᵀWp, computed in blocks."""
    parts = [vectors[begin : begin + 4096] for begin in range(0, vectors.shape[0], 4096)]
    scores = [_row_products(part @ W, part) for part in parts]
    return np.concatenate(scores) if scores else np.zeros(0, dtype=np.float32)


def inverse_root(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return 1/√v, or 0 where the self-score is 0, so that the picture is similar to nothing."""
    roots = np.zeros(len(values), dtype=np.float32)
    some = values > np.finfo(np.float32).tiny
    roots[some] = 1 / np.sqrt(values[some])
    return roots


def _in_form(products: NDArray[np.float32], form: Form) -> NDArray[np.float32]:
    own = np.ascontiguousarray(np.diagonal(products))
    if form == "normalized":
        roots = inverse_root(own)
        return np.asarray(products * roots[:, None] * roots[None, :], dtype=np.float32)
    if form == "distance":
        return np.asarray(2 * products - own[None, :], dtype=np.float32)
    return np.asarray(products, dtype=np.float32)


def _pairs(
    W: NDArray[np.float32], image: Vectors, other: Vectors, form: Form
) -> NDArray[np.float32]:
    products = _row_products(image @ W, other)
    if form == "normalized":
        return products * inverse_root(self_scores(W, other))
    if form == "distance":
        return 2 * products - self_scores(W, other)
    return products


def _row_products(left: NDArray[np.float32], right: Vectors) -> NDArray[np.float32]:
    if sp.issparse(right):
        return np.asarray(right.multiply(left).sum(axis=1), dtype=np.float32).ravel()
    products: NDArray[np.float32] = np.einsum("ij,ij->i", left, right)
    return products

"""Collect triplets for a sparse similarity: those that tf-idf gets wrong, and random ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.supervision import Relevance

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class WeightedTriplets:
    """Triplets (image, more similar, less similar) and the weight of each.

    Attributes
    ----------
    rows : ndarray of int32, shape (m, 3)
    weights : ndarray of float64, shape (m,)
    hard : int
        How many of them, the first, tf-idf gets wrong.
    """

    rows: NDArray[np.int32]
    weights: NDArray[np.float64]
    hard: int


def choose_queries(relevance: Relevance, rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """Return the rows to query with: at most ``most`` of each object, those with something related.

    An object is a label; of pairs without labels, every row counts.
    """
    counts = _related_counts(relevance, rows)
    able = rows[counts > 0]
    if relevance.labels_ is None:
        return np.sort(rng.permutation(able)[: most * max(1, len(able) // most)])
    taken = np.zeros(relevance.links.shape[1], np.int64)
    chosen = []
    for row in rng.permutation(able):
        labels = relevance.links.indices[
            relevance.links.indptr[row] : relevance.links.indptr[row + 1]
        ]
        if (taken[labels] < most).any():
            taken[labels] += 1
            chosen.append(row)
    return np.sort(np.array(chosen, np.intp))


def hold_out(relevance: Relevance, count: int, rng: np.random.Generator) -> Rows:
    """Return ``count`` rows of each object that has more than twice as many (section IV-D)."""
    if relevance.labels_ is None or count == 0:
        return np.zeros(0, np.intp)
    members = relevance.links.tocsc()
    chosen: set[int] = set()
    for label in range(members.shape[1]):
        rows = members.indices[members.indptr[label] : members.indptr[label + 1]]
        if len(rows) > 2 * count:
            chosen |= set(rng.permutation(rows)[:count].tolist())
    return np.array(sorted(chosen), np.intp)


def collect(
    vectors: sp.csr_matrix,
    relevance: Relevance,
    rows: Rows,
    queries: Rows,
    most: int,
    random_share: float,
    rng: np.random.Generator,
) -> WeightedTriplets:
    """Collect hard and random triplets of paper 4, section IV-B.

    For each query, every unrelated row that tf-idf ranks above a related one makes a hard triplet
    with it (Figure 1), or a random subset where there are too many. Rows of which nothing is known,
    such as junk, are left out. Each weighs max N / N(i), with N(i) the queries of i's object.

    Parameters
    ----------
    vectors : csr_matrix
        tf-idf rows of unit length.
    rows, queries : ndarray
        The rows of the database, and those to query with.
    most : int
        Triplets in all, at most.
    random_share : float
        Random triplets for each hard one.
    """
    each = max(1, int(most / (1 + random_share)) // max(1, len(queries)))
    counts = _related_counts(relevance, queries, queries) + 1.0
    hard, random, weights_hard, weights_random = [], [], [], []
    database = vectors[rows]
    known = relevance.known[rows]
    for place, query in enumerate(queries):
        related = relevance.rows([query], rows)[0]
        own = rows == query
        positives, negatives = (
            np.flatnonzero(related & ~own),
            np.flatnonzero(~related & ~own & known),
        )
        if not positives.size or not negatives.size:
            continue
        scores = np.asarray((database @ vectors[query].T).toarray(), np.float64)[:, 0]
        pairs = _violations(scores[positives], scores[negatives], each, rng)
        weight = 1 / counts[place]
        hard.append(_stack(query, rows[positives[pairs[:, 0]]], rows[negatives[pairs[:, 1]]]))
        weights_hard += [weight] * len(pairs)
        extra = int(np.ceil(random_share * max(len(pairs), 1)))
        drawn = rng.choice(positives, extra), rng.choice(negatives, extra)
        random.append(_stack(query, rows[drawn[0]], rows[drawn[1]]))
        weights_random += [weight] * extra
    empty = np.zeros((0, 3), np.int32)
    every = np.concatenate([empty, *hard, *random])
    weights = np.array(weights_hard + weights_random)
    if len(weights):
        weights *= counts.max()
    return WeightedTriplets(every, weights, len(weights_hard))


def _violations(
    more: NDArray[np.float64], less: NDArray[np.float64], most: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return pairs (related, unrelated) in which the unrelated scores higher, at most ``most``."""
    order = np.argsort(more, kind="stable")
    below = np.searchsorted(more[order], less, side="left")
    total = int(below.sum())
    flat = np.arange(total)
    if total > most:
        flat = np.sort(rng.choice(total, most, replace=False))
    ends = np.cumsum(below)
    negative = np.searchsorted(ends, flat, side="right")
    positive = order[flat - (ends - below)[negative]]
    return np.stack([positive, negative], axis=1)


def _related_counts(
    relevance: Relevance, queries: Rows, rows: Rows | None = None
) -> NDArray[np.int64]:
    """Return how many of the rows, by default the queries, are related to each, besides itself."""
    every = queries if rows is None else rows
    counts = np.zeros(len(queries), np.int64)
    for start in range(0, len(queries), 256):
        some = queries[start : start + 256]
        related = relevance.rows(some, every) & (some[:, None] != every[None])
        counts[start : start + 256] = related.sum(axis=1)
    return counts


def _stack(query: int, more: Rows, less: Rows) -> NDArray[np.int32]:
    return np.stack([np.full(len(more), query), more, less], axis=1).astype(np.int32)

"""Eq. 3 and 4 of paper 4 by full matrices, slowly."""

import numpy as np


def full_matrix(words, pairs, M):
    """Return the symmetric matrix with these unknowns."""
    full = np.diag(M[:words].astype(float))
    for (u, v), value in zip(pairs, M[words:], strict=True):
        full[u, v] = full[v, u] = value
    return full


def similarity(X, full, i, j):
    """Return Ŝ_ij of Eq. 3."""
    own = (X[i] @ full @ X[i]) * (X[j] @ full @ X[j])
    return (X[i] @ full @ X[j]) ** 2 / own if own > 0 else 0.0


def loss(X, triplets, weights, margin, words, pairs, M):
    """Return Eq. 4, the weights summing to 1."""
    full = full_matrix(words, pairs, M)
    total = 0.0
    for (i, j, k), weight in zip(triplets, weights, strict=True):
        gap = similarity(X, full, i, k) - similarity(X, full, i, j) + margin
        total += weight * max(0.0, gap)
    return total / np.sum(weights)


def slopes(X, triplets, weights, margin, words, pairs, M, step=1e-6):
    """Return the gradient of the loss by central differences."""
    found = np.zeros(len(M))
    for place in range(len(M)):
        up, down = M.copy(), M.copy()
        up[place] += step
        down[place] -= step
        high, low = (loss(X, triplets, weights, margin, words, pairs, at) for at in (up, down))
        found[place] = (high - low) / (2 * step)
    return found


def hard_triplets(scores, related, known, query):
    """Return (related, unrelated) of one query that tf-idf has in the wrong order (Figure 1)."""
    return {
        (j, k)
        for j in range(len(scores))
        for k in range(len(scores))
        if j != query and k != query and related[j] and known[k] and not related[k]
        if scores[k] > scores[j]
    }


def online_step(X, triplet, margin, C, words, pairs, M):
    """Return M after one step of partial_fit."""
    one = np.array([triplet])
    gap = loss(X, one, [1.0], margin, words, pairs, M)
    if gap <= 0:
        return M
    gradient = slopes(X, one, [1.0], margin, words, pairs, M)
    square = gradient @ gradient
    return np.maximum(0, M - min(C, gap / square) * gradient) if square > 0 else M

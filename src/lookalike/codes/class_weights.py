"""The weights of bits for each class, equation by equation (paper 3, section 5.1)."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.codes.base import LEARNED, Matrix, centred, ridge_map
from lookalike.core.codes import Codes
from lookalike.core.progress import Progress, silent
from lookalike.core.vectors import dense

_REGULARISATION = 0.3


def weighted_distances(queries: Matrix, ones: Matrix, weights: NDArray[Any]) -> Matrix:
    """Return the weighted Hamming distances (Eq. 13) of all bits to those asked, as a share."""
    each = np.asarray(weights, np.float64)
    far = (each * queries) @ (1 - ones).T + (each * (1 - queries)) @ ones.T
    # Sums of the same weights in another order are the same distance.
    shares: Matrix = np.round(far / np.maximum(each.sum(axis=1, keepdims=True), 1e-300), 9)
    return shares


def learn_weights(
    centres: Matrix,
    spread: Matrix,
    similarity: Matrix,
    *,
    balance: float,
    tolerance: float,
    max_rounds: int,
    progress: Progress = silent,
) -> tuple[Matrix, list[float]]:
    """Return the weights of all classes and the energy before and after each round: Algorithm 1.

    ``spread`` are the diagonals of A_i (Eq. 7), ``similarity`` is s_ij.
    """
    count, bits = centres.shape
    weights = np.full((count, bits), 1.0 / bits)
    others = similarity - np.diag(np.diag(similarity))
    Q = 2 * spread + 4 * balance * others.sum(axis=1)[:, None] * np.square(centres)
    energy = [energy_of(weights, centres, spread, similarity, balance)]
    for done in range(max_rounds):
        for i in range(count):
            p = -4 * balance * centres[i] * (others[i] @ (centres * weights))
            weights[i] = water_filling(Q[i], p)
        energy.append(energy_of(weights, centres, spread, similarity, balance))
        progress(done + 1, max_rounds)
        if abs(energy[-2] - energy[-1]) < tolerance * abs(energy[-1]) + 1e-300:
            break
    progress(max_rounds, max_rounds)
    return weights, energy


def energy_of(
    weights: Matrix, centres: Matrix, spread: Matrix, similarity: Matrix, balance: float
) -> float:
    """Return the energy of Eq. 3: f + λ g."""
    f = float((spread * np.square(weights)).sum())
    weighted = weights * centres
    squares = np.square(weighted).sum(axis=1)
    apart = squares[:, None] + squares - 2 * (weighted @ weighted.T)
    return f + balance * float((similarity * np.maximum(apart, 0.0)).sum())


def water_filling(Q: Matrix, p: Matrix) -> Matrix:
    """Return the a ≥ 0 with Σ a = 1 that minimises ½ Σ Q_j a_j² + p_j a_j, for Q_j ≥ 0.

    a_j = max(0, (ν − p_j) / Q_j): bits fill up to one level ν, those with the least p first. The
    level lies between two of the sorted p, found by prefix sums in O(d log d). Bits with Q_j = 0
    take whatever is left at the level of their p, in equal parts.
    """
    # A Q far below the others is as good as 0, and its inverse would swallow them.
    curved = max(float(Q.max()), 0.0) * 1e-14 < Q
    a = np.zeros(len(Q))
    ceiling = float(p[~curved].min()) if not curved.all() else np.inf
    level = np.inf
    if curved.any():
        order = np.argsort(p[curved], kind="stable")
        sorted_p, inverse = p[curved][order], 1.0 / Q[curved][order]
        levels = (1.0 + np.cumsum(sorted_p * inverse)) / np.cumsum(inverse)
        following = np.append(sorted_p[1:], np.inf)
        level = float(levels[np.argmax(levels <= following)])
    if level <= ceiling:
        a[curved] = np.maximum(0.0, (level - p[curved]) / Q[curved])
        filled: Matrix = a / a.sum()
        return filled
    a[curved] = np.maximum(0.0, (ceiling - p[curved]) / Q[curved])
    flat = ~curved & (p <= ceiling)
    a[flat] = max(1.0 - float(a.sum()), 0.0) / np.count_nonzero(flat)
    return a


def class_similarity(has: sp.csr_matrix, units: Any, sizes: Matrix) -> Matrix:
    """Return the mean cosine between the vectors of two classes, 0 where it is negative."""
    means = dense(has.T @ units) / sizes[:, None]
    return np.maximum(means @ means.T, 0.0)


def smoothed_centres(codes: Codes, has: sp.csr_matrix, smoothing: float) -> Matrix:
    """Return the mean code of each class, with the mean of all codes added so many times."""
    ones = codes.unpacked().astype(np.float64)
    sizes = np.asarray(has.sum(axis=0), np.float64).ravel()
    totals: Matrix = has.T @ ones + smoothing * ones.mean(axis=0)
    return totals / (sizes + smoothing)[:, None]


def class_regression(
    has: sp.csr_matrix, units: Any, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return A (classes, d) and b: ridge regression, whether a vector u has a class, as A u + b."""
    count = has.shape[0]
    drawn = slice(None) if count <= LEARNED else np.sort(rng.choice(count, LEARNED, replace=False))
    rows, mean = centred(units[drawn], rng)
    labels = has[drawn]
    A = ridge_map(rows, (labels.T @ rows).T, _REGULARISATION)
    shares = np.asarray(labels.mean(axis=0)).ravel()
    return A.astype(np.float32), (shares - A @ mean).astype(np.float32)

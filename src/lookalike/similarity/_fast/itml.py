"""The compiled loop of ITML: Bregman projections onto one pair's constraint after another."""

import numpy as np

from lookalike.core._fast import F64, LOOP, U32, njit


@njit(**LOOP, fastmath=True, inline="always")
def squared_distance(A: F64, difference: F64, product: F64) -> float:
    """Return zᵀAz of a difference z, and write Az to ``product``. O(k²)."""
    k = difference.size
    distance = 0.0
    for r in range(k):
        total = 0.0
        for c in range(k):
            total += A[r, c] * difference[c]
        product[r] = total
        distance += total * difference[r]
    return distance


@njit(**LOOP, fastmath=True)
def project(
    A: F64, Z: F64, pairs: U32, signs: F64, bounds: F64, duals: F64, slack: float, product: F64
) -> float:
    """Pass once over the pairs, changing A, ``bounds`` and ``duals``; return the change of duals.

    ``signs`` are 1 for pairs that are to be near and −1 for those to be far. O(k²) for a pair.
    """
    k = A.shape[0]
    changed = 0.0
    difference = np.empty(k)
    for t in range(pairs.shape[0]):
        first, second = pairs[t, 0], pairs[t, 1]
        for c in range(k):
            difference[c] = Z[first, c] - Z[second, c]
        distance = squared_distance(A, difference, product)
        if distance <= 1e-12:
            continue
        sign = signs[t]
        alpha = min(duals[t], 0.5 * sign * (1.0 / distance - slack / bounds[t]))
        beta = sign * alpha / (1.0 - sign * alpha * distance)
        bounds[t] = slack * bounds[t] / (slack + sign * alpha * bounds[t])
        duals[t] -= alpha
        changed += abs(alpha)
        if alpha != 0.0:
            for r in range(k):
                for c in range(k):
                    A[r, c] += beta * product[r] * product[c]
    return changed

"""The compiled loop of ITML: Bregman projections onto one pair's constraint after another."""

import numpy as np
from numpy.typing import NDArray

from lookalike.core._fast import LOOP, njit

Doubles = NDArray[np.float64]


@njit(**LOOP, fastmath=True)
def project(
    A: Doubles,
    Z: Doubles,
    pairs: NDArray[np.uint32],
    signs: Doubles,
    bounds: Doubles,
    duals: Doubles,
    slack: float,
    product: Doubles,
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
        distance = 0.0
        for r in range(k):
            total = 0.0
            for c in range(k):
                total += A[r, c] * difference[c]
            product[r] = total
            distance += total * difference[r]
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

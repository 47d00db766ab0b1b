"""The compiled loop of LEGO: pairs drawn at random, LogDet steps in closed form."""

import math

import numpy as np

from lookalike.core._fast import F64, LOOP, U32, U64, njit, uint64
from lookalike.core._fast.random import next_below
from lookalike.similarity._fast.itml import squared_distance


@njit(**LOOP)
def closed_form(distance: float, target: float, eta: float) -> float:
    """Return ȳ, the pair's distance after the step: the positive root of ηŷȳ² + (1 − ηyŷ)ȳ = ŷ.

    Written as 2ŷ / (b + √(b² + 4ηŷ²)) with b = 1 − ηyŷ where b > 0, which does not cancel.
    """
    b = 1.0 - eta * target * distance
    root = math.sqrt(b * b + 4.0 * eta * distance * distance)
    if b > 0.0:
        return 2.0 * distance / (b + root)
    return (root - b) / (2.0 * eta * distance)


@njit(**LOOP, fastmath=True, forceinline=True)
def step(
    A: F64, difference: F64, product: F64, same: bool, near: float, far: float, eta: float
) -> bool:
    """Move ``A`` in place if the pair violates its limit; ``product`` is overwritten. O(k²)."""
    k = difference.size
    distance = squared_distance(A, difference, product)
    target = near if same else far
    if distance <= 1e-300 or (same and distance <= near) or (not same and distance >= far):
        return False
    after = closed_form(distance, target, eta)
    # η(ȳ − y) / (1 + η(ȳ − y)ŷ), where η(ȳ − y) = 1/ȳ − 1/ŷ: no cancellation for large η.
    change = (distance - after) / (distance * distance)
    for r in range(k):
        moved = change * product[r]
        for c in range(k):
            A[r, c] -= moved * product[c]
    return True


@njit(**LOOP)
def learn(
    A: F64,
    Z: F64,
    codes: U32,
    members: U32,
    starts: U32,
    near: float,
    far: float,
    eta: float,
    steps: int,
    state: U64,
) -> int:
    """Take ``steps`` pairs, alternately of one class and of two; return how many moved ``A``.

    Class c's rows are ``members[starts[c]:starts[c+1]]``. At least two classes have two rows.
    """
    n, k = Z.shape
    difference, product = np.empty(k), np.empty(k)
    moved = 0
    for at in range(steps):
        same = at % 2 == 0
        while True:
            i = next_below(state, uint64(n))
            if same:
                first = starts[codes[i]]
                size = starts[codes[i] + uint64(1)] - first
                j = uint64(members[first + next_below(state, uint64(size))])
                if i != j:
                    break
            else:
                j = next_below(state, uint64(n))
                if codes[i] != codes[j]:
                    break
            if same and size == 1:
                continue
        for c in range(k):
            difference[c] = Z[i, c] - Z[j, c]
        if step(A, difference, product, same, near, far, eta):
            moved += 1
    return moved

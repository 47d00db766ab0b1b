"""The compiled loop of LEGO: pairs drawn at random, LogDet steps in closed form."""

import math

from lookalike.core._fast import F64, LOOP, U32, U64, njit, uint64
from lookalike.core._fast.random import next_below


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


@njit(**LOOP, fastmath=True)
def learn(
    G: F64,
    rows: F64,
    changes: F64,
    codes: U32,
    members: U32,
    starts: U32,
    near: float,
    far: float,
    eta: float,
    steps: int,
    state: U64,
) -> tuple[int, int]:
    """Take up to ``steps`` pairs, alternately of one class and of two, until ``rows`` is full.

    The learned inner products of all pictures are G − Σ_b changes[b] · rows[b] rows[b]ᵀ, where G
    stays as it is: a pair that meets its limit costs O(b), another one O(bn). Class c's rows are
    ``members[starts[c]:starts[c+1]]``; at least two classes have two rows. Return the pairs
    taken, an even number unless they are all, and how many of ``rows`` were written.
    """
    n = G.shape[0]
    full = rows.shape[0] - 1
    taken, moved = 0, 0
    while taken < steps and (taken % 2 == 1 or moved < full):
        same = taken % 2 == 0
        taken += 1
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
        distance = G[i, i] + G[j, j] - 2.0 * G[i, j]
        for b in range(moved):
            apart = rows[b, i] - rows[b, j]
            distance -= changes[b] * apart * apart
        target = near if same else far
        if distance <= 1e-300 or (same and distance <= near) or (not same and distance >= far):
            continue
        after = closed_form(distance, target, eta)
        # η(ȳ − y) / (1 + η(ȳ − y)ŷ), where η(ȳ − y) = 1/ȳ − 1/ŷ: no cancellation for large η.
        changes[moved] = (distance - after) / (distance * distance)
        for r in range(n):
            rows[moved, r] = G[i, r] - G[j, r]
        for b in range(moved):
            factor = changes[b] * (rows[b, i] - rows[b, j])
            for r in range(n):
                rows[moved, r] -= factor * rows[b, r]
        moved += 1
    return taken, moved

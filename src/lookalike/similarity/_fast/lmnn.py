"""The compiled loop of LMNN: hinges of impostors against target neighbours."""

import numpy as np

from lookalike.core._fast import F64, LOOP, U32, U64, njit


@njit(**LOOP, fastmath=True)
def hinges(
    ZM: F64,
    Z: F64,
    targets: U32,
    starts: U32,
    starts_of_pairs: U64,
    impostors: U32,
    target_counts: F64,
    impostor_counts: F64,
) -> tuple[float, float]:
    """Count the violated triplets of each pair; return the pull and the push.

    Row i's target neighbours are ``targets[starts[i]:starts[i+1]]`` and its impostors
    ``impostors[starts_of_pairs[i]:starts_of_pairs[i+1]]``. The counts, overwritten, are how many
    hinges 1 + d_ij − d_il are above zero for each target pair and for each impostor pair; the pull
    is the sum of d_ij over target pairs and the push the sum of those hinges. O(pairs · k).
    """
    n, k = Z.shape
    own = np.empty(n)
    for i in range(n):
        total = 0.0
        for c in range(k):
            total += ZM[i, c] * Z[i, c]
        own[i] = total
    target_counts[:] = 0.0
    impostor_counts[:] = 0.0
    distances = np.empty(targets.size)
    pull, push = 0.0, 0.0
    for i in range(n):
        for t in range(starts[i], starts[i + 1]):
            j = targets[t]
            product = 0.0
            for c in range(k):
                product += ZM[i, c] * Z[j, c]
            distances[t] = own[i] + own[j] - 2.0 * product
            pull += distances[t]
        for pair in range(starts_of_pairs[i], starts_of_pairs[i + 1]):
            other = impostors[pair]
            product = 0.0
            for c in range(k):
                product += ZM[i, c] * Z[other, c]
            distance = own[i] + own[other] - 2.0 * product
            for t in range(starts[i], starts[i + 1]):
                hinge = 1.0 + distances[t] - distance
                if hinge > 0.0:
                    push += hinge
                    target_counts[t] += 1.0
                    impostor_counts[pair] += 1.0
    return pull, push

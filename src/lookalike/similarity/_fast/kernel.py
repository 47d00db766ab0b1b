"""The steps of online kernel similarity (paper 5, Eq. 17 and 18).

Both loops take triplets in order and write the margin that each had before its step,
S(p, p⁺) − S(p, p⁻), to ``margins``: below 1 there is a loss, up to 0 a mistake. They return the
number of steps that changed what is learned, and the sum of the losses.
"""

import numpy as np

from lookalike.core._fast import F32, LOOP, U32, njit, uint64
from lookalike.similarity._fast.oasis import dense_margin

MIN_NORM = np.float32(1e-12)
"""Below this |Z_t|², p⁺ and p⁻ are the same picture to the kernel, and nothing can be learned."""


@njit(**LOOP, fastmath=True)
def kernel_steps(
    K: F32,
    A: F32,
    B: F32,
    width: np.uint64,
    triplets: U32,
    aggressiveness: np.float32,
    margins: F32,
) -> tuple[int, float]:
    """Take steps on A, where S(x_i, x_j) = K_ij + (KAK)_ij, in O(n) each.

    ``B`` = KAᵀ is kept beside A: a step for (i, j, l) reads row i of K and rows j and l of B, and
    adds to column i of B. All are flat, with ``width`` numbers a row, of which the first n count.
    """
    count = uint64(K.shape[0]) // width
    updates = 0
    total = 0.0
    for t in range(uint64(triplets.shape[0])):
        i, j, k = uint64(triplets[t, 0]), uint64(triplets[t, 1]), uint64(triplets[t, 2])
        image, more, less = i * width, j * width, k * width
        learned = np.float32(0.0)
        for r in range(count):
            learned += K[image + r] * (B[more + r] - B[less + r])
        margin = K[image + j] - K[image + k] + learned
        margins[t] = margin
        loss = np.float32(1.0) - margin
        if loss > np.float32(0.0):
            total += float(loss)
            norm = K[image + i] * (K[more + j] - np.float32(2.0) * K[more + k] + K[less + k])
            if norm > MIN_NORM:
                updates += 1
                tau = min(aggressiveness, loss / norm)
                A[image + j] += tau
                A[image + k] -= tau
                at = i
                for r in range(count):
                    B[at] += tau * (K[more + r] - K[less + r])
                    at += width
    return updates, total


@njit(**LOOP, fastmath=True)
def mapped_steps(
    X: F32,
    W: F32,
    width: np.uint64,
    triplets: U32,
    aggressiveness: np.float32,
    margins: F32,
    difference: F32,
) -> tuple[int, float]:
    """Take steps on W, where S(x, y) = xᵀWy for rows of coordinates, in O(width²) each.

    ``X`` and ``W`` are flat; ``difference`` is room for one row.
    """
    updates = 0
    total = 0.0
    for t in range(uint64(triplets.shape[0])):
        image = uint64(triplets[t, 0]) * width
        margin, norm = dense_margin(W, width, X, triplets[t], difference)
        margins[t] = margin
        loss = np.float32(1.0) - margin
        if loss > np.float32(0.0):
            total += float(loss)
            if norm > MIN_NORM:
                updates += 1
                tau = min(aggressiveness, loss / norm)
                for r in range(width):
                    step = tau * X[image + r]
                    for c in range(width):
                        W[r * width + c] += step * difference[c]
    return updates, total

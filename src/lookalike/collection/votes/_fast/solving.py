"""Solve Mx = b for a symmetric, positive M of a few hundred rows, on one core.

BLAS shares such small work among threads, which wait by spinning: on a busy machine it then takes
ten times as long.
"""

import numpy as np

from lookalike.core._fast import F64, LOOP, njit


@njit(**LOOP, fastmath={"reassoc", "contract"}, forceinline=True)
def _product(a: F64, b: F64) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(**LOOP)
def factored(M: F64) -> F64:
    """Return the lower triangle L with LLᵀ = M (Cholesky)."""
    L = np.zeros_like(M)
    for i in range(M.shape[0]):
        for j in range(i):
            L[i, j] = (M[i, j] - _product(L[i, :j], L[j, :j])) / L[j, j]
        L[i, i] = np.sqrt(M[i, i] - _product(L[i, :i], L[i, :i]))
    return L


@njit(**LOOP)
def solved(L: F64, rows: F64) -> F64:
    """Return M⁻¹b for each row b, M = LLᵀ; the same bits however many there are."""
    x = rows.T.copy()
    width, count = x.shape
    for i in range(width):
        for j in range(i):
            for k in range(count):
                x[i, k] -= L[i, j] * x[j, k]
        for k in range(count):
            x[i, k] /= L[i, i]
    for place in range(width):
        i = width - 1 - place
        for k in range(count):
            x[i, k] /= L[i, i]
        for j in range(i):
            for k in range(count):
                x[j, k] -= L[i, j] * x[i, k]
    return x.T.copy()

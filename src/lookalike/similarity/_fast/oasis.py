"""The passive-aggressive steps of OASIS, on sparse and dense vectors.

``W`` is the flat d·d matrix, changed in place. Every function runs through ``triplets`` in order
and returns the number of steps that changed W and the sum of the losses met. A sparse step costs
O(k_i(k₊+k₋)) and is bound by memory traffic: it touches that many scattered entries of W twice.
A dense step costs O(d²).
"""

import math
from typing import NamedTuple

import numpy as np

from lookalike.core._fast import F32, LOOP, U32, U64, njit, uint64


class SparseRows(NamedTuple):
    """The arrays of a CSR matrix, its columns in order."""

    data: F32
    indices: U32
    indptr: U64


@njit(**LOOP, fastmath=True, forceinline=True)
def merge_difference(
    rows: SparseRows, plus: np.uint64, minus: np.uint64, where: U64, values: F32
) -> tuple[np.uint64, np.float32]:
    """Merge two sorted rows into the entries of p⁺ − p⁻; return their number and squared norm."""
    data, indices, indptr = rows
    a, a_end = indptr[plus], indptr[plus + uint64(1)]
    b, b_end = indptr[minus], indptr[minus + uint64(1)]
    count = uint64(0)
    squares = np.float32(0.0)
    while a < a_end or b < b_end:
        if b >= b_end or (a < a_end and indices[a] < indices[b]):
            index, value = indices[a], data[a]
            a += uint64(1)
        elif a >= a_end or indices[b] < indices[a]:
            index, value = indices[b], -data[b]
            b += uint64(1)
        else:
            index, value = indices[a], data[a] - data[b]
            a += uint64(1)
            b += uint64(1)
        if value != np.float32(0.0):
            where[count] = uint64(index)
            values[count] = value
            squares += value * value
            count += uint64(1)
    return count, squares


@njit(**LOOP, fastmath=True)
def sparse_steps(
    W: F32,
    width: np.uint64,
    rows: SparseRows,
    triplets: U32,
    aggressiveness: np.float32,
    symmetric: bool,
    where: U64,
    values: F32,
) -> tuple[int, float]:
    """Take Eq. 8 and 11 for each triplet of sparse rows.

    ``symmetric`` projects W onto the symmetric matrices after each step (section 6.1), which for
    a symmetric W is half of the step and half of its transpose. ``where`` and ``values`` are room
    for one merged difference: twice the longest row.
    """
    data, indices, indptr = rows
    updates = 0
    total = 0.0
    for t in range(uint64(triplets.shape[0])):
        image = uint64(triplets[t, 0])
        count, squares = merge_difference(
            rows, uint64(triplets[t, 1]), uint64(triplets[t, 2]), where, values
        )
        begin, end = indptr[image], indptr[image + uint64(1)]
        score = np.float32(0.0)
        own = np.float32(0.0)
        for a in range(begin, end):
            row = uint64(indices[a]) * width
            product = np.float32(0.0)
            for b in range(count):
                product += W[row + where[b]] * values[b]
            score += data[a] * product
            own += data[a] * data[a]
        loss = np.float32(1.0) - score
        norm = own * squares
        if loss > np.float32(0.0):
            total += float(loss)
            if norm > np.float32(0.0):
                updates += 1
                tau = min(aggressiveness, loss / norm)
                if symmetric:
                    tau *= np.float32(0.5)
                for a in range(begin, end):
                    row = uint64(indices[a]) * width
                    step = tau * data[a]
                    for b in range(count):
                        W[row + where[b]] += step * values[b]
                if symmetric:
                    for b in range(count):
                        row = where[b] * width
                        step = tau * values[b]
                        for a in range(begin, end):
                            W[row + uint64(indices[a])] += step * data[a]
    return updates, total


@njit(**LOOP, fastmath=True, inline="always")
def dense_margin(
    W: F32, width: np.uint64, X: F32, triplet: U32, difference: F32
) -> tuple[np.float32, np.float32]:
    """Return pᵀW(p⁺ − p⁻) and |p|²·|p⁺ − p⁻|², and write p⁺ − p⁻ to ``difference``."""
    image, plus = uint64(triplet[0]) * width, uint64(triplet[1]) * width
    minus = uint64(triplet[2]) * width
    own = np.float32(0.0)
    squares = np.float32(0.0)
    for j in range(width):
        difference[j] = X[plus + j] - X[minus + j]
        squares += difference[j] * difference[j]
        own += X[image + j] * X[image + j]
    margin = np.float32(0.0)
    for i in range(width):
        row = i * width
        product = np.float32(0.0)
        for j in range(width):
            product += W[row + j] * difference[j]
        margin += X[image + i] * product
    return margin, own * squares


@njit(**LOOP, fastmath=True)
def dense_steps(
    W: F32,
    width: np.uint64,
    X: F32,
    triplets: U32,
    aggressiveness: np.float32,
    symmetric: bool,
    difference: F32,
) -> tuple[int, float]:
    """Take Eq. 8 and 11 for each triplet of dense rows (``X`` flat, ``difference`` of width d)."""
    updates = 0
    total = 0.0
    for t in range(uint64(triplets.shape[0])):
        image = uint64(triplets[t, 0]) * width
        margin, norm = dense_margin(W, width, X, triplets[t], difference)
        loss = np.float32(1.0) - margin
        if loss > np.float32(0.0):
            total += float(loss)
            if norm > np.float32(0.0):
                updates += 1
                tau = min(aggressiveness, loss / norm)
                if symmetric:
                    half = tau * np.float32(0.5)
                    for i in range(width):
                        row = i * width
                        of_image = half * X[image + i]
                        of_difference = half * difference[i]
                        for j in range(width):
                            W[row + j] += of_image * difference[j] + of_difference * X[image + j]
                else:
                    for i in range(width):
                        row = i * width
                        step = tau * X[image + i]
                        for j in range(width):
                            W[row + j] += step * difference[j]
    return updates, total


@njit(**LOOP, fastmath=True)
def dense_logdet_steps(
    W: F32,
    width: np.uint64,
    X: F32,
    triplets: U32,
    aggressiveness: np.float32,
    of_image: F32,
    of_difference: F32,
) -> tuple[int, float]:
    """Take the steps of least LogDet divergence on dense rows; W is symmetric and positive.

    With d = p⁺ − p⁻, a = pᵀWp, b = pᵀWd, c = dᵀWd and Δ = ac − b², the step is
    W⁻¹ ← W⁻¹ − τ(pdᵀ + dpᵀ)/2, and the margin is 1 after τ = 4(1 − b) / (√(Δ² + 4ac) + Δ + 2b).
    ``of_image`` and ``of_difference`` are room for Wp and Wd.
    """
    updates = 0
    total = 0.0
    for t in range(uint64(triplets.shape[0])):
        image = uint64(triplets[t, 0]) * width
        plus = uint64(triplets[t, 1]) * width
        minus = uint64(triplets[t, 2]) * width
        a, b, c = 0.0, 0.0, 0.0
        for i in range(width):
            row = i * width
            first = np.float32(0.0)
            second = np.float32(0.0)
            for j in range(width):
                first += W[row + j] * X[image + j]
                second += W[row + j] * (X[plus + j] - X[minus + j])
            of_image[i] = first
            of_difference[i] = second
            a += float(first) * float(X[image + i])
            b += float(second) * float(X[image + i])
            c += float(second) * float(X[plus + i] - X[minus + i])
        if b >= 1.0:
            continue
        total += 1.0 - b
        if a <= 0.0 or c <= 0.0:
            continue
        delta = max(0.0, a * c - b * b)
        reach = math.sqrt(delta * delta + 4.0 * a * c) + delta + 2.0 * b
        tau = float(aggressiveness)
        if tau * reach > 4.0 * (1.0 - b):
            tau = 4.0 * (1.0 - b) / reach
        updates += 1
        # Woodbury's formula: W + WU(M⁻¹/τ − UᵀWU)⁻¹UᵀW with U = [p, d] and M the exchange, halved.
        rest = 2.0 / tau - b
        below = rest * rest - a * c
        square, cross, other = c / below, rest / below, a / below
        for i in range(width):
            row = i * width
            left = np.float32(square * of_image[i] + cross * of_difference[i])
            right = np.float32(cross * of_image[i] + other * of_difference[i])
            for j in range(width):
                W[row + j] += left * of_image[j] + right * of_difference[j]
    return updates, total


@njit(**LOOP, fastmath=True, forceinline=True)
def _quadratic(W: F32, width: np.uint64, where: U64, values: F32, count: np.uint64) -> np.float32:
    total = np.float32(0.0)
    for a in range(count):
        row = where[a] * width
        product = np.float32(0.0)
        for b in range(count):
            product += W[row + where[b]] * values[b]
        total += values[a] * product
    return total


@njit(**LOOP, fastmath=True, forceinline=True)
def _add_square(
    W: F32, width: np.uint64, where: U64, values: F32, count: np.uint64, factor: np.float32
) -> None:
    for a in range(count):
        row = where[a] * width
        step = factor * values[a]
        for b in range(count):
            W[row + where[b]] += step * values[b]


@njit(**LOOP, fastmath=True, forceinline=True)
def _inner(
    where_a: U64, values_a: F32, count_a: np.uint64, where_b: U64, values_b: F32, count_b: np.uint64
) -> np.float32:
    total = np.float32(0.0)
    a = b = uint64(0)
    while a < count_a and b < count_b:
        if where_a[a] == where_b[b]:
            total += values_a[a] * values_b[b]
            a += uint64(1)
            b += uint64(1)
        elif where_a[a] < where_b[b]:
            a += uint64(1)
        else:
            b += uint64(1)
    return total


@njit(**LOOP, fastmath=True)
def sparse_dissimilarity_steps(
    W: F32,
    width: np.uint64,
    rows: SparseRows,
    triplets: U32,
    aggressiveness: np.float32,
    where: U64,
    values: F32,
) -> tuple[int, float]:
    """Take the steps of Dissim-OASIS (Eq. 22) on sparse rows.

    With a = p − p⁺ and b = p − p⁻ the loss is max(0, 1 + aᵀWa − bᵀWb), and the step is
    τ(bbᵀ − aaᵀ) with squared norm |a|⁴ + |b|⁴ − 2(aᵀb)². ``where`` and ``values`` are room for two
    merged differences, one after the other.
    """
    half = uint64(where.shape[0] // 2)
    where_a, values_a = where[:half], values[:half]
    where_b, values_b = where[half:], values[half:]
    updates = 0
    total = 0.0
    for t in range(uint64(triplets.shape[0])):
        image = uint64(triplets[t, 0])
        count_a, square_a = merge_difference(rows, image, uint64(triplets[t, 1]), where_a, values_a)
        count_b, square_b = merge_difference(rows, image, uint64(triplets[t, 2]), where_b, values_b)
        loss = (
            np.float32(1.0)
            + _quadratic(W, width, where_a, values_a, count_a)
            - _quadratic(W, width, where_b, values_b, count_b)
        )
        if loss > np.float32(0.0):
            total += float(loss)
            cross = _inner(where_a, values_a, count_a, where_b, values_b, count_b)
            norm = square_a * square_a + square_b * square_b - np.float32(2.0) * cross * cross
            if norm > np.float32(0.0):
                updates += 1
                tau = min(aggressiveness, loss / norm)
                _add_square(W, width, where_a, values_a, count_a, -tau)
                _add_square(W, width, where_b, values_b, count_b, tau)
    return updates, total


@njit(**LOOP, fastmath=True)
def dense_dissimilarity_steps(
    W: F32, width: np.uint64, X: F32, triplets: U32, aggressiveness: np.float32, a: F32, b: F32
) -> tuple[int, float]:
    """Take the steps of Dissim-OASIS (Eq. 22) on dense rows; see the sparse form."""
    updates = 0
    total = 0.0
    for t in range(uint64(triplets.shape[0])):
        image = uint64(triplets[t, 0]) * width
        plus = uint64(triplets[t, 1]) * width
        minus = uint64(triplets[t, 2]) * width
        square_a = np.float32(0.0)
        square_b = np.float32(0.0)
        cross = np.float32(0.0)
        for j in range(width):
            a[j] = X[image + j] - X[plus + j]
            b[j] = X[image + j] - X[minus + j]
            square_a += a[j] * a[j]
            square_b += b[j] * b[j]
            cross += a[j] * b[j]
        loss = np.float32(1.0)
        for i in range(width):
            row = i * width
            product_a = np.float32(0.0)
            product_b = np.float32(0.0)
            for j in range(width):
                product_a += W[row + j] * a[j]
                product_b += W[row + j] * b[j]
            loss += a[i] * product_a - b[i] * product_b
        if loss > np.float32(0.0):
            total += float(loss)
            norm = square_a * square_a + square_b * square_b - np.float32(2.0) * cross * cross
            if norm > np.float32(0.0):
                updates += 1
                tau = min(aggressiveness, loss / norm)
                for i in range(width):
                    row = i * width
                    step_a = -tau * a[i]
                    step_b = tau * b[i]
                    for j in range(width):
                        W[row + j] += step_a * a[j] + step_b * b[j]
    return updates, total

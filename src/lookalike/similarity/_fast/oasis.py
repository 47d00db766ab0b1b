"""The passive-aggressive steps of OASIS, on sparse and dense vectors.

``W`` is the flat d·d matrix, changed in place. Every function runs through ``triplets`` in order
and returns the number of steps that changed W and the sum of the losses met. A sparse step costs
O(k_i(k₊+k₋)) and is bound by memory traffic: it touches that many scattered entries of W twice.
A dense step costs O(d²).
"""

import numpy as np
from numpy.typing import NDArray

from lookalike.core._fast import LOOP, njit, uint64

Floats = NDArray[np.float32]


@njit(**LOOP, fastmath=True)
def merge_difference(
    data: Floats,
    indices: NDArray[np.uint32],
    indptr: NDArray[np.uint64],
    plus: np.uint64,
    minus: np.uint64,
    where: NDArray[np.uint64],
    values: Floats,
) -> tuple[np.uint64, np.float32]:
    """Merge two sorted rows into the entries of p⁺ − p⁻; return their number and squared norm."""
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
    W: Floats,
    width: np.uint64,
    data: Floats,
    indices: NDArray[np.uint32],
    indptr: NDArray[np.uint64],
    triplets: NDArray[np.uint32],
    aggressiveness: np.float32,
    symmetric: bool,
    where: NDArray[np.uint64],
    values: Floats,
) -> tuple[int, float]:
    """Take Eq. 8 and 11 for each triplet of sparse rows.

    ``symmetric`` projects W onto the symmetric matrices after each step (section 6.1), which for
    a symmetric W is half of the step and half of its transpose. ``where`` and ``values`` are room
    for one merged difference: twice the longest row.
    """
    updates = 0
    total = 0.0
    for t in range(uint64(triplets.shape[0])):
        image = uint64(triplets[t, 0])
        count, squares = merge_difference(
            data, indices, indptr, uint64(triplets[t, 1]), uint64(triplets[t, 2]), where, values
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


@njit(**LOOP, fastmath=True)
def dense_steps(
    W: Floats,
    width: np.uint64,
    X: Floats,
    triplets: NDArray[np.uint32],
    aggressiveness: np.float32,
    symmetric: bool,
    difference: Floats,
) -> tuple[int, float]:
    """Take Eq. 8 and 11 for each triplet of dense rows (``X`` flat, ``difference`` of width d)."""
    updates = 0
    total = 0.0
    for t in range(uint64(triplets.shape[0])):
        image = uint64(triplets[t, 0]) * width
        plus = uint64(triplets[t, 1]) * width
        minus = uint64(triplets[t, 2]) * width
        own = np.float32(0.0)
        squares = np.float32(0.0)
        for j in range(width):
            difference[j] = X[plus + j] - X[minus + j]
            squares += difference[j] * difference[j]
            own += X[image + j] * X[image + j]
        score = np.float32(0.0)
        for i in range(width):
            row = i * width
            product = np.float32(0.0)
            for j in range(width):
                product += W[row + j] * difference[j]
            score += X[image + i] * product
        loss = np.float32(1.0) - score
        norm = own * squares
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
def _quadratic(
    W: Floats, width: np.uint64, where: NDArray[np.uint64], values: Floats, count: np.uint64
) -> np.float32:
    total = np.float32(0.0)
    for a in range(count):
        row = where[a] * width
        product = np.float32(0.0)
        for b in range(count):
            product += W[row + where[b]] * values[b]
        total += values[a] * product
    return total


@njit(**LOOP, fastmath=True)
def _add_square(
    W: Floats,
    width: np.uint64,
    where: NDArray[np.uint64],
    values: Floats,
    count: np.uint64,
    factor: np.float32,
) -> None:
    for a in range(count):
        row = where[a] * width
        step = factor * values[a]
        for b in range(count):
            W[row + where[b]] += step * values[b]


@njit(**LOOP, fastmath=True)
def _inner(
    where_a: NDArray[np.uint64],
    values_a: Floats,
    count_a: np.uint64,
    where_b: NDArray[np.uint64],
    values_b: Floats,
    count_b: np.uint64,
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
    W: Floats,
    width: np.uint64,
    data: Floats,
    indices: NDArray[np.uint32],
    indptr: NDArray[np.uint64],
    triplets: NDArray[np.uint32],
    aggressiveness: np.float32,
    where: NDArray[np.uint64],
    values: Floats,
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
        count_a, square_a = merge_difference(
            data, indices, indptr, image, uint64(triplets[t, 1]), where_a, values_a
        )
        count_b, square_b = merge_difference(
            data, indices, indptr, image, uint64(triplets[t, 2]), where_b, values_b
        )
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
    W: Floats,
    width: np.uint64,
    X: Floats,
    triplets: NDArray[np.uint32],
    aggressiveness: np.float32,
    a: Floats,
    b: Floats,
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

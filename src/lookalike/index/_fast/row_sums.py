"""Sums of rows, by which damage is noticed when they are read."""

import numpy as np

from lookalike.core._fast import F32, F64, I64, LOOP, U64, njit, uint64


@njit(**LOOP, inline="always")
def _term(word: np.uint64) -> np.uint64:
    """Return what a word adds to a sum; see :func:`lookalike.index.checked_rows.row_sums`."""
    return (word & uint64(0xFFFFFFFF)) * (word >> uint64(32)) + word


@njit(**LOOP)
def sum_rows(rows: U64, key: U64, sums: U64) -> None:
    """Write the sum of each row."""
    for i in range(rows.shape[0]):
        row, total = rows[i], uint64(0)
        for j in range(row.size):
            total += _term(row[j] ^ key[j])
        sums[i] = total


@njit(**LOOP, fastmath={"reassoc", "contract"})
def measure_rows(vectors: F32, rows: U64, key: U64, sums: U64, lengths: F64) -> int:
    """Write the length of each vector; return how many have another sum than they should.

    ``rows`` are the vectors as words. One loop does both, so that it sums up words while it waits
    for others from memory: half of a vector's numbers have the places of its words, and the other
    half is a second stream.
    """
    wrong, half = 0, vectors.shape[1] // 2
    for i in range(rows.shape[0]):
        row, vector = rows[i], vectors[i]
        first, second = vector[:half], vector[half : 2 * half]
        total, squares, others = uint64(0), 0.0, 0.0
        for j in range(half):
            total += _term(row[j] ^ key[j])
            squares += np.float64(first[j]) * np.float64(first[j])
            others += np.float64(second[j]) * np.float64(second[j])
        if row.size > half:
            total += _term(row[half] ^ key[half])
            others += np.float64(vector[2 * half]) * np.float64(vector[2 * half])
        wrong += total != sums[i]
        lengths[i] = np.sqrt(squares + others)
    return wrong


@njit(**LOOP)
def copy_rows(rows: U64, places: I64, key: U64, sums: U64, found: U64) -> int:
    """Copy some of the rows; return how many of the copies have another sum than they should.

    A word is summed up when it is copied: that takes hardly longer than copying it. The sums are
    compared afterwards, since they are far apart: one at a time, each would be waited for.
    """
    totals = np.empty(places.size, np.uint64)
    for i in range(places.size):
        row, copy, total = rows[places[i]], found[i], uint64(0)
        for j in range(row.size):
            word = row[j]
            copy[j] = word
            total += _term(word ^ key[j])
        totals[i] = total
    wrong = 0
    for i in range(places.size):
        wrong += totals[i] != sums[places[i]]
    return wrong

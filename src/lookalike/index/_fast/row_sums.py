"""Sums of rows, by which damage is noticed when they are read."""

import numpy as np

from lookalike.core._fast import F32, F64, I64, LOOP, SOON, U64, njit, prefetch, uint64

AHEAD = 1 << 14
"""Bytes of rows that are asked for before they are read: a third of a core's first cache."""


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

    ``rows`` are the vectors as words. Memory is what takes the time; while a row is awaited, those
    before it are summed up and measured. Half of it is asked for at a time, since a core can wait
    for no more than a dozen lines at once. Lengths are off by less than d·2⁻²⁵ of themselves, which
    the margins of :func:`lookalike.index._fast.dense.offer_block` allow for; they are infinite
    where squares are beyond float32.
    """
    wrong, ahead, half = 0, AHEAD // (8 * rows.shape[1]) + 1, rows.shape[1] // 2
    fronts, backs = rows[:, :half], rows[:, half:]
    for i in range(rows.shape[0]):
        row, vector, later = rows[i], vectors[i], min(i + ahead, rows.shape[0] - 1)
        total, squares = uint64(0), np.float32(0)
        prefetch(fronts, later)
        for j in range(row.size):
            total += _term(row[j] ^ key[j])
        prefetch(backs, later)
        for j in range(vector.size):
            squares += vector[j] * vector[j]
        wrong += total != sums[i]
        lengths[i] = np.sqrt(np.float64(squares))
    return wrong


@njit(**LOOP)
def copy_rows(rows: U64, places: I64, key: U64, sums: U64, result: U64) -> int:
    """Copy some of the rows; return how many of the copies have another sum than they should.

    A word is summed up when it is copied: that takes hardly longer than copying it. The sums are
    compared afterwards, since they are far apart: one at a time, each would be waited for.
    """
    totals = np.empty(places.size, np.uint64)
    for i in range(places.size):
        if i + SOON < places.size:
            prefetch(rows, places[i + SOON])
        row, copy, total = rows[places[i]], result[i], uint64(0)
        for j in range(row.size):
            word = row[j]
            copy[j] = word
            total += _term(word ^ key[j])
        totals[i] = total
    wrong = 0
    for i in range(places.size):
        wrong += totals[i] != sums[places[i]]
    return wrong

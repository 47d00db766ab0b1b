"""Sums of rows, by which damage is noticed when they are read."""

import numpy as np

from lookalike.core._fast import F32, F64, I64, LOOP, U64, njit, uint64
from lookalike.index._fast.dense import exact_product


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


@njit(**LOOP)
def measure_rows(vectors: F32, rows: U64, key: U64, sums: U64, lengths: F64) -> int:
    """Write the length of each vector; return how many have another sum than they should.

    ``rows`` are the vectors as words. Both are read from memory once, which takes longer than to
    sum them up.
    """
    wrong = 0
    for i in range(rows.shape[0]):
        row, total = rows[i], uint64(0)
        for j in range(row.size):
            total += _term(row[j] ^ key[j])
        wrong += total != sums[i]
        lengths[i] = np.sqrt(exact_product(vectors[i], vectors[i]))
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

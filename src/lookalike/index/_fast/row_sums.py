"""Sums of rows, by which damage is noticed when they are read."""

import numpy as np

from lookalike.core._fast import I64, LOOP, U64, njit, uint64


@njit(**LOOP)
def row_sum(row: U64, key: U64) -> np.uint64:
    """Return the sum of a row; see :func:`lookalike.index.checked_rows.row_sums`."""
    total = uint64(0)
    for i in range(row.size):
        word = row[i] ^ key[i]
        total += (word & uint64(0xFFFFFFFF)) * (word >> uint64(32)) + word
    return total


@njit(**LOOP)
def sum_rows(rows: U64, key: U64, sums: U64) -> None:
    """Write the sum of each row."""
    for i in range(rows.shape[0]):
        sums[i] = row_sum(rows[i], key)


@njit(**LOOP)
def copy_rows(rows: U64, places: I64, key: U64, sums: U64, found: U64) -> int:
    """Copy some of the rows; return how many of the copies have another sum than they should.

    Each is summed up while it is in the nearest cache, so that takes hardly any time.
    """
    wrong = 0
    for i in range(places.size):
        row, copy = rows[places[i]], found[i]
        for j in range(row.size):
            copy[j] = row[j]
        wrong += row_sum(copy, key) != sums[places[i]]
    return wrong

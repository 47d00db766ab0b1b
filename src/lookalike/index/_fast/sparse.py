"""Inner products with sparse rows, by inverted lists or row by row.

Both sum in float64 in the order of columns, so they agree to the last bit.
"""

import numpy as np

from lookalike.core._fast import F32, F64, I64, LOOP, U32, U64, njit
from lookalike.index._fast.best import is_among, offer


@njit(**LOOP)
def add_lists(
    totals: F64, columns: U32, values: F32, starts: I64, list_rows: U32, list_values: F32
) -> None:
    """Add to each row's total its product with a sparse query, column by column."""
    for i in range(columns.size):
        weight = np.float64(values[i])
        for place in range(np.uint64(starts[columns[i]]), np.uint64(starts[columns[i] + 1])):
            totals[list_rows[place]] += weight * np.float64(list_values[place])


@njit(**LOOP)
def set_rows(totals: F64, rows: U64, query: F32, ends: I64, columns: U32, values: F32) -> None:
    """Write the products of some rows with a dense query to their totals."""
    for row in rows:
        total = 0.0
        for place in range(np.uint64(ends[row]), np.uint64(ends[row + np.uint64(1)])):
            total += np.float64(query[columns[place]]) * np.float64(values[place])
        totals[row] = total


@njit(**LOOP)
def offer_rows(
    totals: F64, rows: U64, ids: I64, scales: F32, excluded: I64, best_scores: F32, best_ids: I64
) -> None:
    """Merge some rows into the best of one query."""
    for row in rows:
        score = np.float32(totals[row] * np.float64(scales[row]))
        if score >= best_scores[0] and not is_among(ids[row], excluded):
            offer(best_scores, best_ids, score, ids[row])

"""Exact top-k from approximate products: rescore whatever may be among the best."""

import numpy as np

from lookalike.core._fast import F32, F64, I64, LOOP, SOON, U64, njit, prefetch
from lookalike.index._fast.best import is_among, offer

CHUNK = 64
"""Items that are skipped together, so that the test is vectorised."""

TINY = 1e-15


@njit(**LOOP, fastmath={"reassoc", "contract"})
def exact_product(a: F32, b: F32) -> float:
    """Return the product summed in float64 in a fixed order, so equal rows get equal scores."""
    total = 0.0
    for i in range(a.size):
        total += np.float64(a[i]) * np.float64(b[i])
    return total


@njit(**LOOP)
def exact_products(queries: F32, vectors: F32, rows: U64, products: F64) -> None:
    """Write the products of each query with some rows, summed as in :func:`offer_block`."""
    for i in range(products.shape[0]):
        query = queries[i]
        for j in range(products.shape[1]):
            if j + SOON < rows.size:
                prefetch(vectors, rows[j + SOON])
            products[i, j] = exact_product(query, vectors[rows[j]])


@njit(**LOOP)
def offer_block(
    products: F32,
    queries: F32,
    vectors: F32,
    lengths: F64,
    ids: I64,
    scales: F32,
    excluded: I64,
    best_scores: F32,
    best_ids: I64,
) -> None:
    """Merge a block of items into each query's best, except those with a negative id.

    ``products`` are float32 sums in whatever order the matrix product chose: off by at most
    d·2⁻²⁴·|q|·|v|, plus d·10⁻³⁸ where products underflow, which TINY covers. Items that cannot
    be among the best even so are skipped; the others are scored exactly. Where float32 may
    overflow, all are.
    """
    slack = (queries.shape[1] + 4) * 2.0**-23
    margins = np.abs(scales.astype(np.float64)) * (lengths + TINY)
    longest = lengths.max()
    for row in range(products.shape[0]):
        query = queries[row]
        length = np.sqrt(exact_product(query, query))
        error = slack * (length + TINY) if length * longest < 1e37 else np.inf
        scores = best_scores[row]
        for start in range(0, products.shape[1], CHUNK):
            rough = products[row, start : start + CHUNK]
            scale = scales[start : start + CHUNK]
            margin = margins[start : start + CHUNK]
            promising = 0
            for i in range(rough.size):
                promising += not (np.float64(rough[i]) * scale[i] + error * margin[i] < scores[0])
            if promising == 0:
                continue
            for i in range(rough.size):
                item = start + i
                if np.float64(rough[i]) * scale[i] + error * margin[i] < scores[0] or ids[item] < 0:
                    continue
                score = np.float32(exact_product(query, vectors[item]) * np.float64(scale[i]))
                if score >= scores[0] and not is_among(ids[item], excluded[row]):
                    offer(scores, best_ids[row], score, ids[item])

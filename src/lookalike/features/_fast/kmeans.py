"""k-means by Lloyd's algorithm; the result does not depend on the number of threads."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np

from lookalike.core._fast import F32, I32
from lookalike.features._fast.nearest import GROUP, PANEL, gather_by_word, nearest_words

STEPS = 20
_ROWS_A_TURN = 4096

T = TypeVar("T")


class Words(NamedTuple):
    """Words side by side in panels of 64, as the compiled loop reads them, and |w|²/2 of each."""

    panels: F32
    half_norms: F32


def pack(words: F32) -> Words:
    """Return words, one per row, in the layout that :func:`nearest` reads."""
    count = -(-len(words) // PANEL)
    wide = _widened(words, count * PANEL)
    half_norms = np.full(count * PANEL, np.inf, np.float32)
    half_norms[: len(words)] = (words.astype(np.float64) ** 2).sum(axis=1) / 2
    panels = wide.reshape(count, PANEL, -1).transpose(0, 2, 1)
    return Words(np.ascontiguousarray(panels), half_norms.reshape(count, PANEL))


def nearest(rows: F32, words: Words) -> tuple[I32, F32]:
    """Return the nearest word of each row, the first of ties, and |w|²/2 - x·w."""
    wide = _widened(rows, -(-len(rows) // GROUP) * GROUP)
    result, lows = np.empty(len(wide), np.int32), np.empty(len(wide), np.float32)
    nearest_words(wide, words.panels, words.half_norms, result, lows)
    return result[: len(rows)], lows[: len(rows)]


def kmeans(rows: F32, start: F32, tell: Callable[[], None]) -> F32:
    """Move the words ``start`` to the means of the rows nearest to them, at most 20 times.

    A word that is nearest to no row is moved to one of the rows farthest from their words.
    ``tell`` is called after each step.
    """
    turns = range(0, len(rows), _ROWS_A_TURN)
    squares = np.einsum("ij,ij->i", rows, rows) / 2
    words, before = start, np.empty(0, np.int32)
    for _ in range(STEPS):
        packed = pack(words)
        parts = list(
            in_threads(
                lambda turn, packed=packed: nearest(  # type: ignore[misc]
                    rows[turns[turn] : turns[turn] + _ROWS_A_TURN], packed
                ),
                len(turns),
            )
        )
        result = np.concatenate([part[0] for part in parts])
        tell()
        if np.array_equal(result, before):
            break
        before = result
        sums = np.zeros(words.shape, np.float64)
        counts = np.zeros(len(words), np.int64)
        gather_by_word(rows, result, sums, counts)
        means = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
        alone = np.flatnonzero(counts == 0)
        if alone.size:
            distances = squares + np.concatenate([part[1] for part in parts])
            means[alone] = rows[np.argsort(-distances, kind="stable")[: len(alone)]]
        words = means
    return words


def in_threads(function: Callable[[int], T], count: int) -> Iterator[T]:
    """Return function(0), function(1), … in order, computed on all cores."""
    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    try:
        yield from pool.map(function, range(count))
    finally:
        pool.shutdown(cancel_futures=True)


def _widened(rows: F32, count: int) -> F32:
    wide = np.zeros((count, -(-rows.shape[1] // GROUP) * GROUP), np.float32)
    wide[: len(rows), : rows.shape[1]] = rows
    return wide

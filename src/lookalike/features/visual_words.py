"""A large vocabulary of visual words: approximate k-means, and the nearest words of descriptors."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import InvalidInput, LookalikeError
from lookalike.features._fast.kmeans import Words, in_threads, kmeans, pack
from lookalike.features._fast.nearest import GROUP, PANEL, gather_by_word
from lookalike.features._fast.probing import probe

STEPS = 8
"""Steps of approximate k-means."""
PROBES = 12
"""Cells among whose words the nearest are looked for."""
EXACT_UP_TO = 2_000
"""Vocabularies up to this size are searched whole."""
BITS = 64
"""Of a signature."""
ROWS_A_TURN = 4_096
ROWS_A_CELL = 40
KIND = "visual-words-step/1"

F32 = NDArray[np.float32]
Rows = NDArray[Any]


@dataclass(frozen=True)
class VisualVocabulary:
    """Visual words, one a row, sorted into cells so that the nearest are found quickly.

    A descriptor is compared with the words of the 12 cells whose centres are nearest to it; there
    are about as many cells as words in a cell. Philbin, Chum, Isard, Sivic and Zisserman, *Object
    retrieval with large vocabularies and fast spatial matching* (2007).

    *Departure.* They look for the nearest word in eight randomised kd-trees; cells read memory in
    order, and are several times as fast for the same share of right answers.

    Attributes
    ----------
    words : ndarray of float32, shape (k, 128)
    centres : ndarray of float32, shape (cells, 128)
        One row if the vocabulary is searched whole.
    """

    words: F32
    centres: F32

    def nearest(self, rows: Rows, count: int = 1) -> tuple[NDArray[np.int32], F32]:
        """Return the ``count`` nearest words of each row, nearest first, and squared distances.

        Where fewer words were looked at, the last ones are repeated.

        Examples
        --------
        >>> words = VisualVocabulary(np.eye(3, dtype=np.float32), np.zeros((1, 3), np.float32))
        >>> words.nearest(np.array([[0, 2, 1]], np.float32), 2)[0]
        array([[1, 2]], dtype=int32)
        """
        turns = range(0, len(rows), ROWS_A_TURN)
        parts = list(
            in_threads(lambda turn: self._few(rows[turns[turn] :][:ROWS_A_TURN], count), len(turns))
        )
        if not parts:
            return np.zeros((0, count), np.int32), np.zeros((0, count), np.float32)
        return np.concatenate([part[0] for part in parts]), np.concatenate(
            [part[1] for part in parts]
        )

    def neighbours(self, count: int) -> NDArray[np.int32]:
        """Return the nearest other words of each word, nearest first, of shape (k, count)."""
        within = min(count, len(self.words) - 1)
        nearest = self.nearest(self.words, within + 1)[0]
        own = nearest == np.arange(len(nearest))[:, None]
        own[~own.any(axis=1), -1] = True
        return np.ascontiguousarray(nearest[~own].reshape(len(nearest), within))

    def signatures(self, rows: Rows) -> NDArray[np.uint64]:
        """Return 64 bits of each descriptor, of which few differ between descriptors that are near.

        Bit b is whether the descriptor's sum with the signs of row b of a Hadamard matrix exceeds
        the median of those of the words; Jégou, Douze and Schmid, *Hamming embedding and weak
        geometric consistency* (2008).

        *Departure.* The medians are those of all words, so that regions of different words can be
        compared, too.

        Examples
        --------
        >>> words = np.random.default_rng(0).integers(0, 99, (50, 128)).astype(np.float32)
        >>> vocabulary = VisualVocabulary(words, words[:1])
        >>> one, other = vocabulary.signatures(words[:2].astype(np.uint8))
        >>> 16 < int(one ^ other).bit_count() < 48
        True
        """
        signs, medians = self._bits
        # Sums of whole numbers up to 255: exact in float32, on every processor.
        is_more = rows.astype(np.float32) @ signs > medians
        packed = np.packbits(is_more, axis=1, bitorder="little")
        return np.ascontiguousarray(packed).view("<u8")[:, 0].astype(np.uint64)

    @cached_property
    def _bits(self) -> tuple[F32, NDArray[np.float64]]:
        width = self.words.shape[1]
        signs = np.ones((1, 1))
        while len(signs) < width:
            signs = np.block([[signs, signs], [signs, -signs]])
        rng = np.random.default_rng(0)
        turned = (signs[1 : BITS + 1, :width] * rng.choice([-1, 1], width)).T
        return turned.astype(np.float32), np.median(self.words.astype(np.float64) @ turned, axis=0)

    def _few(self, rows: Rows, count: int) -> tuple[NDArray[np.int32], F32]:
        given = _in_groups(rows)
        cells = _probed(given, self._cells, min(PROBES, len(self.centres)))
        flat = cells.ravel()
        order = np.argsort(flat, kind="stable")
        starts = np.searchsorted(flat[order], np.arange(len(self.centres) + 1))
        result = np.zeros((len(given), count), np.int32)
        lows = np.full((len(given), count), np.inf, np.float32)
        names, packed, panel_starts = self._sorted
        probe(given, order // cells.shape[1], starts, *packed, panel_starts, result, lows)
        words = names[result]
        for column in range(1, count):
            missing = np.isinf(lows[:, column])
            words[missing, column] = words[missing, column - 1]
            lows[missing, column] = lows[missing, column - 1]
        squares = np.einsum("ij,ij->i", given, given)
        return words, np.maximum(squares[:, None] + 2 * lows, 0).astype(np.float32)

    @cached_property
    def _cells(self) -> Words:
        return pack(self.centres)

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int32], Words, NDArray[np.int64]]:
        """Return the words in the order of their cells, in panels, and where each cell begins."""
        turns = range(0, len(self.words), ROWS_A_TURN)
        cells = np.concatenate(
            list(
                in_threads(
                    lambda turn: _probed(
                        _in_groups(self.words[turns[turn] :][:ROWS_A_TURN]), self._cells, 1
                    )[:, 0],
                    len(turns),
                )
            )
        )
        order = np.argsort(cells, kind="stable")
        sizes = np.bincount(cells, minlength=len(self.centres))
        panels = -(-sizes // PANEL)
        panel_starts = np.concatenate([[0], np.cumsum(panels)])
        first = np.repeat(panel_starts[:-1] * PANEL - (np.cumsum(sizes) - sizes), sizes)
        places = np.arange(len(order)) + first
        names = np.zeros(panel_starts[-1] * PANEL, np.int32)
        names[places] = order
        padded = np.zeros((len(names), self.words.shape[1]), np.float32)
        padded[places] = self.words[order]
        packed = pack(padded)
        is_word = np.zeros(len(names), np.bool_)
        is_word[places] = True
        packed.half_norms[~is_word.reshape(packed.half_norms.shape)] = np.inf
        return names, packed, panel_starts


def learn_words(
    rows: Rows,
    count: int,
    seed: int,
    tell: Callable[[], None],
    checkpoint: Path | None = None,
) -> VisualVocabulary:
    """Learn ``count`` words from descriptors by approximate k-means.

    Parameters
    ----------
    rows : array of shape (n, 128)
        Descriptors, as uint8 or float32.
    count : int
        How many words; at most n.
    seed : int
        The same seed gives the same words, whatever the number of threads and restarts.
    tell : callable
        Called after each of 8 steps.
    checkpoint : Path, optional
        A file that keeps the words after each step. If it has a step of the same rows and seed,
        learning goes on from there.
    """
    if not 1 <= count <= len(rows):
        raise InvalidInput(
            f"learn_words: the number of words must be from 1 to that of the descriptors, "
            f"{len(rows)}; got {count}. Give more pictures or a smaller vocabulary."
        )
    rng = np.random.default_rng(seed)
    words = rows[np.sort(rng.permutation(len(rows))[:count])].astype(np.float32)
    centres = _centres(rows, count, rng)
    done, kept = _resumed(checkpoint, words.shape, len(rows), seed)
    if kept is not None:
        words = kept
    for _ in range(done):
        tell()
    for step in range(done, STEPS):
        nearest = VisualVocabulary(words, centres).nearest(rows)[0][:, 0]
        sums, counts = np.zeros(words.shape, np.float64), np.zeros(count, np.int64)
        gather_by_word(rows, nearest, sums, counts)
        words = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
        alone = np.flatnonzero(counts == 0)
        # Of the same rows again and again, as of a drawing's, words would stay alone for ever.
        others = np.random.default_rng([seed, step]).integers(len(rows), size=len(alone))
        words[alone] = rows[others]
        if checkpoint is not None:
            manifest = {"step": step + 1, "rows": len(rows), "seed": seed}
            save_arrays(checkpoint, {"words": words}, kind=KIND, manifest=manifest)
        tell()
    rounded = words.astype(np.float16).astype(np.float32)
    return VisualVocabulary(rounded, centres.astype(np.float16).astype(np.float32))


def step_seconds(rows: int, count: int) -> float:
    """Return how long a step of learning takes here, by timing a small part of one."""
    rng = np.random.default_rng(0)
    few = min(count, 20_000)
    words = rng.random((few, 128), np.float32)
    cells = math.isqrt(count) if count > EXACT_UP_TO else 1
    part = VisualVocabulary(words, words[: max(1, min(few, math.isqrt(few)))])
    sample = rng.random((4 * ROWS_A_TURN, 128), np.float32)
    part.nearest(sample[:64])
    start = time.perf_counter()
    part.nearest(sample)
    one = (time.perf_counter() - start) / len(sample)

    def work(words: int, cells: int) -> float:
        return cells + words * min(PROBES, cells) / cells

    return rows * one * work(count, cells) / work(few, len(part.centres))


def _centres(rows: Rows, count: int, rng: np.random.Generator) -> F32:
    if count <= EXACT_UP_TO:
        return np.zeros((1, rows.shape[1]), np.float32)
    cells = math.isqrt(count)
    some = rows[rng.permutation(len(rows))[: ROWS_A_CELL * cells]].astype(np.float32)
    return kmeans(some, some[:cells], lambda: None)


def _resumed(
    checkpoint: Path | None, shape: tuple[int, ...], rows: int, seed: int
) -> tuple[int, F32 | None]:
    """Return the steps done and their words, if a file has them for the same task."""
    if checkpoint is None or not checkpoint.exists():
        return 0, None
    try:
        arrays, manifest = load_arrays(checkpoint, kind=KIND)
        words = np.asarray(arrays["words"], np.float32)
    except (LookalikeError, KeyError):
        return 0, None
    same = (manifest.get("rows"), manifest.get("seed"), words.shape) == (rows, seed, shape)
    return (int(manifest["step"]), words) if same else (0, None)


def _probed(rows: F32, cells: Words, count: int) -> NDArray[np.int32]:
    """Return the cells whose centres are nearest to each row."""
    result = np.zeros((len(rows), count), np.int32)
    lows = np.full(result.shape, np.inf, np.float32)
    bounds = np.array([0, len(cells.panels)])
    probe(rows, np.arange(len(rows)), np.array([0, len(rows)]), *cells, bounds, result, lows)
    return result


def _in_groups(rows: Rows) -> F32:
    """Return rows as float32, widened by zeros to a multiple of four numbers."""
    wide = np.zeros((len(rows), -(-rows.shape[1] // GROUP) * GROUP), np.float32)
    wide[:, : rows.shape[1]] = rows
    return wide

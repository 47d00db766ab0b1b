"""Rows that stay in a file, each checked by its sum whenever it is read."""

import json
import mmap
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64

from lookalike.core.errors import DamagedFile
from lookalike.core.text import counted
from lookalike.index._fast.row_sums import copy_rows, measure_rows, sum_rows

Mend: TypeAlias = Callable[[NDArray[np.int64], DamagedFile], NDArray[np.float32]]
"""What gives rows that are damaged from elsewhere, or raises the error."""

MANY = 64
"""Rows read from a file at once after which its pages are let go."""

# Half a megabyte of rows of 256: they are summed up while they are in a core's cache.
_BLOCK = 512


class CheckedRows:
    """Vectors in a mapped file, each checked by its sum whenever it is read.

    It is not enough to check them once: the system lets go of pages, and reads them from the disk
    again. What is checked is the copy that the caller gets. May be shared by threads.

    Parameters
    ----------
    path : Path
        The file, for messages.
    mapping : mmap
    rows : float32 array of shape (n, d)
        In the mapping.
    sums : uint64 array of shape (n,)
        What :func:`row_sums` gave of them.
    mend : callable
        What gives rows that are damaged, by their places.

    Attributes
    ----------
    damaged : bool
        Whether a row that was read is not as it was written.
    """

    def __init__(
        self,
        path: Path,
        mapping: mmap.mmap,
        rows: NDArray[np.float32],
        sums: NDArray[np.uint64],
        mend: Mend,
    ) -> None:
        self._path, self._mapping, self._mend = path, mapping, mend
        self._rows, self._sums = rows, sums
        # Rows of an odd width cannot be read as words of 64 bits.
        self._words = None if rows.shape[1] % 2 else _words(rows)
        self._key = _key(rows.shape[1])
        self.damaged = False
        begin = rows.ctypes.data - np.frombuffer(mapping, np.uint8).ctypes.data
        pages = [-(-place // mmap.PAGESIZE) for place in (begin, begin + rows.nbytes)]
        self._pages = tuple(page * mmap.PAGESIZE for page in pages)
        self._advise("MADV_RANDOM")

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def width(self) -> int:
        """The length of a row."""
        return int(self._rows.shape[1])

    def read(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return a copy of some of the rows; after many, none of them stay mapped."""
        result = self._checked(places)
        if len(places) >= MANY:
            self._let_go()
        return result

    def whole(self) -> NDArray[np.float32]:
        """Return all rows: those of the file, not copied, if they are as they were written."""
        sound = not self._is_cut and np.array_equal(row_sums(self._rows), self._sums)
        self._let_go()
        return self._rows if sound else self.read(np.arange(len(self)))

    @property
    def _is_cut(self) -> bool:
        """Whether the file was cut since it was mapped: to read what is gone ends the process."""
        return self._mapping.size() < len(self._mapping)

    def _checked(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        if self._is_cut:
            return self._mended(places)
        result = np.empty((len(places), self.width), np.float32)
        if self._words is None:
            result[:] = self._rows[places]
        elif not copy_rows(self._words, places, self._key, self._sums, result.view(np.uint64)):
            return result
        wrong = row_sums(result) != self._sums[places]
        if wrong.any():
            result[wrong] = self._mended(places[wrong])
        return result

    def _mended(self, places: NDArray[np.intp]) -> NDArray[np.float32]:
        self.damaged = True
        error = DamagedFile(
            f"{self._path} is damaged: it is not as it was written (the checksums of "
            f"{counted(len(places), 'vector')} differ, first that of number {places[0]})."
        )
        return self._mend(places, error)

    def _let_go(self) -> None:
        """Let no page of the rows count as memory of this process; the system keeps them cached."""
        self._advise("MADV_DONTNEED")

    def _advise(self, advice: str) -> None:
        """Tell the system how the pages of the rows are used, where it can be told."""
        first, last = self._pages
        if hasattr(mmap, advice) and 0 <= first < min(last, len(self._mapping)):
            self._mapping.madvise(getattr(mmap, advice), first, last - first)


def checked_lengths(
    path: Path | str, rows: NDArray[np.float32], sums: NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Return the length of each row, or raise DamagedFile if a row has another sum."""
    lengths = np.empty(len(rows))
    # Where rows have an odd number of words of 32 bits, copies are padded.
    block = len(rows) if rows.shape[1] % 2 == 0 else _BLOCK
    key, wrong = _key(rows.shape[1]), 0
    for first in range(0, len(rows), block):
        some = slice(first, first + block)
        wrong += measure_rows(rows[some], _words(rows[some]), key, sums[some], lengths[some])
    if wrong:
        raise DamagedFile(
            f"{path} is damaged: it is not as it was written (the checksums of "
            f"{counted(wrong, 'vector')} differ)."
        )
    return lengths


def refuse(_: NDArray[np.int64], error: DamagedFile) -> NDArray[np.float32]:
    """Raise the error, where there is nothing to mend rows from."""
    raise error


def row_sums(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return a sum of the bits of each row, by which a change of it is noticed.

    The words of 32 bits of a row, two by two as a and b, each after exclusive or with a word of a
    fixed key, are summed up as::

        Σ (a + 2³²) (b + 1) − 2³²  mod 2⁶⁴

    No change inside one word leaves the sum as it was: neither factor can be divided by more than
    2³², nor a change of the other by more than 2³¹. Of other changes one in about 2³² does, as with
    a CRC-32: it is the hash NH (Black et al., 1999, UMAC, section 4) with factors that are never
    zero. It takes a sixth of the time of a call of XXH3 for each row.

    Examples
    --------
    >>> one, other = row_sums(np.array([[1, 2, 3], [1, 2, -3]], np.float32))
    >>> bool(one == other)
    False
    """
    sums, key = np.empty(len(rows), np.uint64), _key(rows.shape[1])
    for first in range(0, len(rows), _BLOCK):
        # A copy is writable and aligned, so the loop is compiled once.
        block = np.array(rows[first : first + _BLOCK])
        sum_rows(_words(block), key, sums[first : first + _BLOCK])
    return sums


def _words(rows: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return rows as words of 64 bits; an odd number is padded."""
    even = np.pad(rows, ((0, 0), (0, 1))) if rows.shape[1] % 2 else rows
    return even.view(np.uint64)


def seal(arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any]) -> str:
    """Return the XXH3 of what the file of a dense index says besides its vectors and their sums.

    So that can be checked without reading them; a vector and its sum check each other.
    """
    select = {name: it for name, it in manifest.items() if name != "seal"}
    check = xxh3_64(json.dumps(select, sort_keys=True).encode())
    for name in ("ids", "scales"):
        check.update(np.ascontiguousarray(arrays[name]).data)
    return check.hexdigest()


@lru_cache(maxsize=8)
def _key(width: int) -> NDArray[np.uint64]:
    """Return a fixed key for rows of so many numbers: SplitMix64 (Steele et al., 2014)."""
    key = np.arange(1, (width + 1) // 2 + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))

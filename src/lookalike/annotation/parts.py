"""Store more pictures than fit in memory: sparse vectors and words in memory-mapped parts.

A folder contains ``parts.json``, which lists the complete parts, and a file for each part, which is
read once for its checksum. Training reads runs of consecutive rows from all over the folder into a
block that fits in memory, shuffles the block and visits it, so that a pass reads each run once,
sequentially, and each block is well mixed, in whatever order the pictures were written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from mmap import mmap
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.annotation.lessons import blocks
from lookalike.annotation.words import read_words
from lookalike.core import sparse as sp
from lookalike.core.arrays import map_arrays, map_file, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput, incomplete
from lookalike.core.json_files import load_json, save_json
from lookalike.core.stored import stored_whole
from lookalike.core.vectors import check_vectors, stack_rows

RUN = 256
"""Consecutive rows that are read together."""

BLOCK_BYTES = 1 << 28
"""Bytes of the rows that are visited together."""

_KIND = "parts/1"
_PART = "part/1"
_ARRAYS = {
    "data": np.float32,
    "columns": np.uint32,
    "indptr": np.uint64,
    "words": np.uint32,
    "word_indptr": np.uint64,
}
_NOTHING = np.zeros(0, np.float32), np.zeros(0, np.uint32), np.zeros(1, np.uint64)


@dataclass(frozen=True)
class Part:
    """The memory-mapped arrays of a part: CSR vectors, and CSR words without values."""

    file: Path
    mapping: mmap
    data: NDArray[np.float32]
    columns: NDArray[np.uint32]
    indptr: NDArray[np.uint64]
    words: NDArray[np.uint32]
    word_indptr: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def check(self) -> None:
        """Raise DamagedFile if the file was cut since: to read what is gone ends the process."""
        if self.mapping.size() < len(self.mapping):
            raise DamagedFile(
                f"{self.file} was cut while it was used. Write the parts again, or restore a "
                f"backup."
            )


class Parts:
    """Pictures' sparse vectors and words in a folder, for training without loading them all.

    Use :meth:`create` and :meth:`add`, or :meth:`open`; then pass it to
    :meth:`WSABIE.fit <lookalike.annotation.WSABIE.fit>` in place of X and y.

    Parameters
    ----------
    folder : Path
        An existing folder of parts.

    Attributes
    ----------
    words : tuple of str
        All words so far, in the order of their indices.
    width : int
        The width of the vectors; 0 before the first part.

    Examples
    --------
    >>> import tempfile
    >>> parts = Parts.create(Path(tempfile.mkdtemp()) / "parts")
    >>> parts.add(sp.csr_matrix([[1.0, 0], [0, 1]]), ["cat", "dog"])
    >>> parts.add(sp.csr_matrix([[1.0, 1]]), [{"cat", "pet"}])
    >>> len(parts), parts.words
    (3, ('cat', 'dog', 'pet'))
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names: list[str] = []
        self.words: tuple[str, ...] = ()
        self.width = 0

    @classmethod
    def create(cls, folder: str | Path) -> Self:
        """Create an empty folder of parts; raise InvalidInput if there is one."""
        parts = cls(Path(folder))
        if parts._index.exists():
            raise InvalidInput(f"Parts: {parts.folder} already has parts. Open or remove them.")
        parts._write([], (), 0)
        return parts

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Open a folder of parts."""
        parts = cls(Path(folder))
        try:
            index = load_json(parts._index, {"kind", "parts", "words", "width"})
            if index["kind"] != _KIND:
                raise ValueError(f"it contains {index['kind']!r:.80}, not {_KIND!r}")
            parts._names = [str(name) for name in index["parts"]]
            parts.words = tuple(str(word) for word in index["words"])
            parts.width = stored_whole(index["width"])
            if any(name != f"{number:06}" for number, name in enumerate(parts._names)):
                raise ValueError("a part has an unexpected name")
        except (ValueError, LookupError, TypeError) as error:
            remedy = "Write the parts again, or restore a backup."
            raise incomplete(parts._index, "list of parts", error, remedy) from error
        return parts

    def add(self, X: ArrayLike | sp.spmatrix, y: Any) -> None:
        """Add one part, all or nothing.

        Parameters
        ----------
        X : sparse matrix or array of shape (n, d)
        y : sequence of words, or of sets of words
            Pictures without a word are left out.
        """
        vectors = sp.csr_matrix(check_vectors("Parts", X, width=self.width or None))
        has, words = read_words("Parts", y, vectors.shape[0], self.words)
        taught = np.flatnonzero(np.diff(has.indptr))
        vectors, has = vectors[taught], has[taught]
        name = f"{len(self._names):06}"
        arrays = (vectors.data, vectors.indices, vectors.indptr, has.indices, has.indptr)
        named = {
            what: array.astype(kind)
            for (what, kind), array in zip(_ARRAYS.items(), arrays, strict=True)
        }
        save_arrays(self._file(name), named, kind=_PART, manifest={})
        self._write([*self._names, name], words, vectors.shape[1])

    def __len__(self) -> int:
        """Return the number of pictures."""
        return int(self._starts[-1])

    @property
    def mean_length(self) -> float:
        """The mean squared length of the pictures' vectors; reads all of them."""
        total = sum(
            float(np.square(part.data[rows], dtype=np.float64).sum())
            for part in self.parts
            for rows in blocks(len(part.data), 1 << 22)
        )
        return total / max(len(self), 1)

    @cached_property
    def parts(self) -> list[Part]:
        """The parts, memory-mapped."""
        return [self._mapped(name) for name in self._names]

    @cached_property
    def uses(self) -> NDArray[np.int64]:
        """How many pictures have each word."""
        counts = [np.bincount(part.words, minlength=len(self.words)) for part in self.parts]
        total: NDArray[np.int64] = np.sum(counts, axis=0, dtype=np.int64)
        return total

    def rows(self, chosen: NDArray[np.int64]) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Return pictures by their numbers, in rising order: vectors, and a 0/1 matrix of words."""
        return _joined(
            [self._read(chosen[a:b]) for a, b in self._within_parts(chosen)],
            self.width,
            len(self.words),
        )

    def blocks(
        self,
        rng: np.random.Generator,
        skip: NDArray[np.int64],
        *,
        run: int = RUN,
        block_bytes: int = BLOCK_BYTES,
    ) -> Iterator[tuple[sp.csr_matrix, sp.csr_matrix]]:
        """Yield all pictures except ``skip``, in blocks of runs from all over the folder."""
        starts = np.concatenate(
            [
                np.arange(first, last, run)
                for first, last in zip(self._starts[:-1], self._starts[1:], strict=True)
            ]
        )
        entries = sum(len(part.data) + len(part.words) for part in self.parts)
        row_bytes = 8 * entries / max(len(self), 1) + 16
        together = max(1, int(block_bytes / (row_bytes * run)))
        order = rng.permutation(starts)
        for some in blocks(len(order), together):
            runs = [
                np.arange(start, min(start + run, self._end_of_part(start)))
                for start in np.sort(order[some])
            ]
            rows = np.setdiff1d(np.concatenate(runs), skip, assume_unique=True)
            if len(rows):
                yield self.rows(rows)

    def _within_parts(self, chosen: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        cuts = np.unique(np.searchsorted(chosen, self._starts))
        return zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)

    def _end_of_part(self, row: int) -> int:
        return int(self._starts[np.searchsorted(self._starts, row, side="right")])

    def _read(self, chosen: NDArray[np.int64]) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Copy rows of one part, run by run."""
        number = int(np.searchsorted(self._starts, chosen[0], side="right")) - 1
        part, local = self.parts[number], chosen - self._starts[number]
        breaks = np.flatnonzero(np.diff(local) != 1) + 1
        part.check()
        runs = [(int(run[0]), int(run[-1]) + 1) for run in np.split(local, breaks)]
        vectors = _gather(part.data, part.columns, part.indptr, runs, self.width)
        ones = np.ones(len(part.words), np.float32)
        has = _gather(ones, part.words, part.word_indptr, runs, len(self.words))
        return vectors, has

    @property
    def _index(self) -> Path:
        return self.folder / "parts.json"

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(len(part) for part in self.parts)]).astype(np.int64)

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"

    def _mapped(self, name: str) -> Part:
        path = self._file(name)
        mapping = map_file(path)
        arrays, _ = map_arrays(path, kind=_PART, mapping=mapping)
        if {what: array.dtype for what, array in arrays.items()} != _ARRAYS:
            raise DamagedFile(f"{path} is not a part.")
        part = Part(path, mapping, **arrays)
        _check(self.folder / name, part, self.width, len(self.words))
        return part

    def _write(self, names: list[str], words: tuple[str, ...], width: int) -> None:
        index = {"kind": _KIND, "parts": names, "words": words, "width": width}
        save_json(self._index, index)
        self._names, self.words, self.width = names, words, width
        for stale in ("parts", "uses", "_starts"):
            self.__dict__.pop(stale, None)


def _check(where: Path, part: Part, width: int, words: int) -> None:
    """Raise DamagedFile if a compiled loop would read out of bounds."""
    lists = [
        (part.indptr, part.columns, width, len(part.data)),
        (part.word_indptr, part.words, words, len(part.words)),
    ]
    for indptr, indices, limit, length in lists:
        whole = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(indices) == length
        rising = whole and bool((indptr[1:] >= indptr[:-1]).all())
        if not rising or (len(indices) and indices.max() >= limit):
            raise DamagedFile(f"{where}.* are inconsistent. Write this part again.")
    if len(part.indptr) != len(part.word_indptr) or not np.isfinite(part.data).all():
        raise DamagedFile(f"{where}.* are inconsistent. Write this part again.")


def _gather(
    data: NDArray[np.float32],
    indices: NDArray[np.uint32],
    indptr: NDArray[np.uint64],
    runs: list[tuple[int, int]],
    width: int,
) -> sp.csr_matrix:
    spans = [slice(int(indptr[first]), int(indptr[last])) for first, last in runs]
    lengths = [np.diff(indptr[first : last + 1].astype(np.int64)) for first, last in runs]
    ends = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    return sp.csr_matrix(
        (
            np.concatenate([data[span] for span in spans]),
            np.concatenate([indices[span] for span in spans]).astype(np.int32),
            ends,
        ),
        shape=(len(ends) - 1, width),
    )


def _joined(
    read: list[tuple[sp.csr_matrix, sp.csr_matrix]], width: int, words: int
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    if not read:
        return _gather(*_NOTHING, [(0, 0)], width), _gather(*_NOTHING, [(0, 0)], words)
    if len(read) == 1:
        return read[0]
    vectors, has = zip(*read, strict=True)
    return stack_rows(list(vectors)), stack_rows(list(has))

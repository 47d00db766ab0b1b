"""Append to an array without copying it each time, while readers use the old one.

Ids that are consecutive and scales that are all 1 take no memory at all; rows mapped from a file
take it only while they are used.
"""

from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from lookalike.index.checked_rows import CheckedRows

Scalar = TypeVar("Scalar", bound=np.generic)

Some: TypeAlias = slice | NDArray[np.intp]
"""Which rows, by a slice or by their places."""


class GrowingArray(Generic[Scalar]):
    """The first ``count`` rows of a buffer that may have room for more.

    It is immutable: ``extended`` returns a new one, which shares the buffer if that has room. If
    the same rows are extended twice, the second time they are copied. Extending from two threads
    at once needs a lock.
    """

    def __init__(
        self, buffer: NDArray[Scalar], count: int | None = None, used: list[int] | None = None
    ) -> None:
        self._buffer = buffer
        self._count = len(buffer) if count is None else count
        # The rows used by the longest array that shares the buffer.
        self._used = [self._count] if used is None else used

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> NDArray[Scalar]:
        """A read-only view of the rows."""
        view = self._buffer[: self._count]
        view.flags.writeable = False
        return view

    def take(self, some: Some) -> NDArray[Scalar]:
        """Return some of the rows; they may share memory with all of them."""
        return self.rows[some]

    def extended(self, new: NDArray[Any]) -> "GrowingArray[Scalar]":
        """Return the array with rows appended; full buffers double, so n rows cost O(n)."""
        count = self._count + len(new)
        buffer = self._buffer
        used = self._used
        if count > len(buffer) or used[0] != self._count or not buffer.flags.writeable:
            room = max(count, len(buffer) if count <= len(buffer) else 2 * len(buffer))
            buffer = np.empty((room, *buffer.shape[1:]), buffer.dtype)
            buffer[: self._count] = self.rows
            used = [count]
        used[0] = count
        buffer[self._count : count] = new
        return GrowingArray(buffer, count, used)

    def select(self, mask: NDArray[np.bool_]) -> "GrowingArray[Scalar]":
        """Return the rows where ``mask`` is true, in order, in a new buffer."""
        return GrowingArray(self.rows[mask])


class ConsecutiveIds(GrowingArray[np.int64]):
    """Ids that follow each other: only the first and their number are kept."""

    def __init__(self, first: int, count: int) -> None:
        self.first = first
        self._count = count

    @property
    def rows(self) -> NDArray[np.int64]:
        """The ids, in a new array that is read-only."""
        ids = np.arange(self.first, self.first + self._count, dtype=np.int64)
        ids.flags.writeable = False
        return ids

    def extended(self, new: NDArray[Any]) -> GrowingArray[np.int64]:
        """Return the ids with others appended, compact if they still follow each other."""
        first = self.first if self._count else int(new[0]) if len(new) else 0
        following = np.arange(first + self._count, first + self._count + len(new))
        if np.array_equal(new, following):
            return ConsecutiveIds(first, self._count + len(new))
        return GrowingArray(np.concatenate([self.rows, new]))


class UnitScales(GrowingArray[np.float32]):
    """Scales that are all 1: only their number is kept."""

    def __init__(self, count: int) -> None:
        self._count = count

    @property
    def rows(self) -> NDArray[np.float32]:
        """A read-only view of the scales."""
        return np.broadcast_to(np.float32(1), (self._count,))

    def extended(self, new: NDArray[Any]) -> GrowingArray[np.float32]:
        """Return the scales with others appended, compact if those are 1, too."""
        if (new == 1).all():
            return UnitScales(self._count + len(new))
        return GrowingArray(np.concatenate([self.rows, new]))

    def select(self, mask: NDArray[np.bool_]) -> GrowingArray[np.float32]:
        """Return as many as ``mask`` has true values."""
        return UnitScales(int(np.count_nonzero(mask)))


class MappedArray(GrowingArray[np.float32]):
    """Rows of a file, less those that went, and behind them rows in memory that came since.

    Of the rows of ``file``, those at ``places`` are in use, or all.
    """

    def __init__(
        self,
        file: CheckedRows,
        places: NDArray[np.intp] | None = None,
        tail: GrowingArray[np.float32] | None = None,
    ) -> None:
        self.file, self._places = file, places
        nothing = np.zeros((0, file.width), np.float32)
        self._tail = GrowingArray(nothing) if tail is None else tail
        self._held = len(file) if places is None else len(places)
        self._count = self._held + len(self._tail)

    @property
    def rows(self) -> NDArray[np.float32]:
        """All rows, read-only; read into memory unless they are those of the file."""
        alone = self._places is None and not len(self._tail)
        rows = self.file.whole() if alone else self.take(slice(None))
        rows.flags.writeable = False
        return rows

    def take(self, some: Some) -> NDArray[np.float32]:
        """Return a copy of some of the rows."""
        wanted = np.arange(self._count)[some] if isinstance(some, slice) else np.asarray(some)
        result = np.empty((len(wanted), self.file.width), np.float32)
        mapped = wanted < self._held
        in_file = wanted[mapped] if self._places is None else self._places[wanted[mapped]]
        result[mapped] = self.file.read(in_file)
        result[~mapped] = self._tail.rows[wanted[~mapped] - self._held]
        return result

    def extended(self, new: NDArray[Any]) -> GrowingArray[np.float32]:
        """Return the rows with others appended, which are in memory."""
        return MappedArray(self.file, self._places, self._tail.extended(new))

    def select(self, mask: NDArray[np.bool_]) -> GrowingArray[np.float32]:
        """Return the rows where ``mask`` is true."""
        places = np.flatnonzero(mask[: self._held])
        if self._places is not None:
            places = self._places[places]
        return MappedArray(self.file, places, self._tail.select(mask[self._held :]))

"""Append to an array without copying it each time, while readers use the old one.

Ids that are consecutive and scales that are all 1 take no memory at all; rows mapped from a file
take it only while they are used.
"""

import mmap
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

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

    def kept(self, mask: NDArray[np.bool_]) -> "GrowingArray[Scalar]":
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

    def kept(self, mask: NDArray[np.bool_]) -> GrowingArray[np.float32]:
        """Return as many as ``mask`` has true values."""
        return UnitScales(int(np.count_nonzero(mask)))


class MappedArray(GrowingArray[Scalar]):
    """Rows of a file, less those that went, and behind them rows in memory that came since.

    ``mapping`` is the file's, of which ``base`` are the rows in use, by ``places`` where not all
    of them are.
    """

    def __init__(
        self,
        mapping: mmap.mmap,
        base: NDArray[Scalar],
        places: NDArray[np.intp] | None = None,
        tail: GrowingArray[Scalar] | None = None,
    ) -> None:
        self._mapping, self._base, self._places = mapping, base, places
        self._tail = GrowingArray(base[:0].copy()) if tail is None else tail
        self._held = len(base) if places is None else len(places)
        self._count = self._held + len(self._tail)

    @property
    def rows(self) -> NDArray[Scalar]:
        """All rows, read-only; read into memory unless they are those of the file."""
        if self._places is None and not len(self._tail):
            return self._base
        rows = self.take(slice(None))
        rows.flags.writeable = False
        return rows

    def take(self, some: Some) -> NDArray[Scalar]:
        """Return a copy of some of the rows; after many, no page of the file stays mapped."""
        wanted = np.arange(self._count)[some] if isinstance(some, slice) else np.asarray(some)
        found = np.empty((len(wanted), *self._base.shape[1:]), self._base.dtype)
        mapped = wanted < self._held
        in_file = wanted[mapped] if self._places is None else self._places[wanted[mapped]]
        found[mapped] = self._base[in_file]
        found[~mapped] = self._tail.rows[wanted[~mapped] - self._held]
        if len(in_file) >= MANY and hasattr(mmap, "MADV_DONTNEED"):
            self._mapping.madvise(mmap.MADV_DONTNEED)
        return found

    def extended(self, new: NDArray[Any]) -> GrowingArray[Scalar]:
        """Return the rows with others appended, which are in memory."""
        return MappedArray(self._mapping, self._base, self._places, self._tail.extended(new))

    def kept(self, mask: NDArray[np.bool_]) -> GrowingArray[Scalar]:
        """Return the rows where ``mask`` is true."""
        places = np.flatnonzero(mask[: self._held])
        if self._places is not None:
            places = self._places[places]
        return MappedArray(self._mapping, self._base, places, self._tail.kept(mask[self._held :]))


MANY = 64
"""Rows read from a file at once after which its pages are let go; the system keeps them cached."""

"""Append to an array without copying it each time, while readers use the old one."""

from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


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

    def extended(self, new: NDArray[Any]) -> Self:
        """Return the array with rows appended; full buffers double, so n rows cost O(n)."""
        count = self._count + len(new)
        buffer = self._buffer
        used = self._used
        if count > len(buffer) or used[0] != self._count:
            room = max(count, len(buffer) if count <= len(buffer) else 2 * len(buffer))
            buffer = np.empty((room, *buffer.shape[1:]), buffer.dtype)
            buffer[: self._count] = self.rows
            used = [count]
        used[0] = count
        buffer[self._count : count] = new
        return type(self)(buffer, count, used)

    def kept(self, mask: NDArray[np.bool_]) -> Self:
        """Return the rows where ``mask`` is true, in order, in a new buffer."""
        return type(self)(self.rows[mask])

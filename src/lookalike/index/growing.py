"""Let an array grow at its end without copying it each time, while readers hold the old one."""

from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


class GrowingArray(Generic[Scalar]):
    """The first ``count`` rows of a buffer that may have room for more.

    It never changes: ``extended`` gives a new one, which shares the buffer where that has room.
    What was there stays as it was, even if the same rows are extended twice: the second time
    they are copied. Extending from two threads at once needs a lock.
    """

    def __init__(
        self, buffer: NDArray[Scalar], count: int | None = None, used: list[int] | None = None
    ) -> None:
        self._buffer = buffer
        self._count = len(buffer) if count is None else count
        # The rows in use by the longest that shares the buffer.
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
        """Append rows; the buffer at least doubles when full, so n rows cost O(n) in all."""
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
        """Return the rows where ``mask`` holds, in their order, in a buffer of their own."""
        return type(self)(self.rows[mask])

"""Let an array grow at its end without copying it each time, while readers hold the old one."""

from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


class GrowingArray(Generic[Scalar]):
    """The first ``count`` rows of a buffer that may have room for more.

    It never changes: ``extended`` gives a new one, which shares the buffer where it has room.
    Only the newest may be extended, so what older ones show stays as it was.
    """

    def __init__(self, buffer: NDArray[Scalar], count: int | None = None) -> None:
        self._buffer = buffer
        self._count = len(buffer) if count is None else count

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
        if count > len(buffer):
            buffer = np.empty((max(count, 2 * len(buffer)), *buffer.shape[1:]), buffer.dtype)
            buffer[: self._count] = self.rows
        buffer[self._count : count] = new
        return type(self)(buffer, count)

    def kept(self, mask: NDArray[np.bool_]) -> Self:
        """Return the rows where ``mask`` holds, in their order, in a buffer of their own."""
        return type(self)(self.rows[mask])

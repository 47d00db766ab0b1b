"""A lock that is granted in the order of the requests."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from lookalike.core.errors import CollectionBusy

MAX_WAITING = 8
"""How many requests may wait; each occupies a server thread that searches need."""


class Turns:
    """Grants permission to write to the collection: one at a time, first come, first served.

    With a plain lock, the thread that has just released it could take it again at once, so a long
    import in small steps would keep all others waiting until its end.
    """

    def __init__(self) -> None:
        self._condition = Condition()
        self._queue: deque[object] = deque()

    @contextmanager
    def turn(self, patience: float | None = None) -> Iterator[None]:
        """Wait for the lock, at most ``patience`` seconds, and hold it for the work inside."""
        mine = object()
        with self._condition:
            if patience is not None and len(self._queue) > MAX_WAITING:
                raise _busy()
            self._queue.append(mine)
            if not self._condition.wait_for(lambda: self._queue[0] is mine, patience):
                self._queue.remove(mine)
                raise _busy()
        try:
            yield
        finally:
            with self._condition:
                self._queue.remove(mine)
                self._condition.notify_all()


def _busy() -> CollectionBusy:
    return CollectionBusy(
        "A job is writing to the collection. Wait until it is done, or stop it; finished work is "
        "kept."
    )

"""A lock whose holders come in the order they asked."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from lookalike.core.errors import CollectionBusy

MOST_WAITING = 8
"""How many may wait; requests that do keep a thread of the server, which searches need."""


class Turns:
    """Who may write to the collection: one at a time, first come first served.

    A plain lock lets the thread that has just released it take it again at once, so that a long
    import in small steps would keep everybody else waiting to its end.
    """

    def __init__(self) -> None:
        self._condition = Condition()
        self._queue: deque[object] = deque()

    @contextmanager
    def turn(self, patience: float | None = None) -> Iterator[None]:
        """Wait for one's turn, at most ``patience`` seconds, and hold it for the work inside."""
        mine = object()
        with self._condition:
            if patience is not None and len(self._queue) > MOST_WAITING:
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
        "The collection is being written to by a job. Wait until it is done, or stop the job: "
        "what it has finished is kept."
    )

"""One BLAS thread while our own loops run."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

_lock = RLock()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread, in all of the process; also a decorator.

    Loops of small products gain nothing from several threads: those wait for each other by
    spinning, and on a busy machine that takes many times the CPU time of the work. Where another
    thread has set the limit, it stays that one's.
    """
    if not _lock.acquire(blocking=False):
        yield
        return
    # It looks for the libraries that are loaded, and a search needs none of that.
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        _lock.release()

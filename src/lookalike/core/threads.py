"""Threads of the libraries that multiply matrices."""

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread within: where products are small, more of them wait by spinning."""
    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits

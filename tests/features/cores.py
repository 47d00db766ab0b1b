"""Run on fewer cores."""

import os
from contextlib import contextmanager


@contextmanager
def one_core():
    """Let this thread run on one core only."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)

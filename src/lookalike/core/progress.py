"""Report the progress of long work: a callable that takes the work done and the total."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Report nothing."""


def further(progress: Progress, before: int, total: int) -> Progress:
    """Return a callable that reports one part of the work, after ``before`` done."""
    return lambda done, _: progress(before + done, total)


def part_of(progress: Progress, place: int, parts: int) -> Progress:
    """Return a callable that reports one of several parts of the work, all the same size."""
    return lambda done, total: progress(place * total + done, parts * total)

"""Report the progress of long work: a callable that takes the work done and the total."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

Progress: TypeAlias = Callable[[int, int], None]

T = TypeVar("T")


def silent(done: int, total: int) -> None:
    """Report nothing."""


def further(progress: Progress, before: int, total: int) -> Progress:
    """Return a callable that reports one part of the work, after ``before`` done."""
    return lambda done, _: progress(before + done, total)


def part_of(progress: Progress, place: int, parts: int) -> Progress:
    """Return a callable that reports one of several parts of the work, all the same size."""
    return lambda done, total: progress(place * total + done, parts * total)


class Count:
    """Count the work done and report it.

    Examples
    --------
    >>> count = Count(print, 3)
    >>> count.one()
    1 3
    >>> list(count.each("ab"))
    2 3
    3 3
    ['a', 'b']
    """

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def one(self) -> None:
        """Report one piece of work more."""
        self.reach(self.done + 1)

    def reach(self, done: int) -> None:
        """Report so much work done in all."""
        self.done = done
        self.progress(done, self.total)

    def each(self, things: Iterable[T]) -> Iterator[T]:
        """Yield things, and report each."""
        for thing in things:
            self.one()
            yield thing

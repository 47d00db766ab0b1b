"""How long work tells how far it is: a callable taking what is done and the total."""

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Report to nobody."""


def further(progress: Progress, before: int, total: int) -> Progress:
    """Count a part of the work on from what was done before it."""
    return lambda done, _: progress(before + done, total)

"""Check numbers and choices that a caller gives, with the same messages everywhere."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from lookalike.core.errors import InvalidInput


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_whole(who: str, name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return ``value`` as a whole number from ``least`` to ``most``, or raise InvalidInput.

    Examples
    --------
    >>> check_whole("search", "k", 0, 1)
    Traceback (most recent call last):
    ...
    lookalike.core.errors.InvalidInput: search: k must be a whole number from 1; got 0.
    """
    if not is_whole(value) or value < least or (most is not None and value > most):
        upper = "" if most is None else f" to {most}"
        raise InvalidInput(
            f"{who}: {name} must be a whole number from {least}{upper}; got {value!r:.80}."
        )
    return int(value)


def is_number(value: object) -> bool:
    """Return whether a value is a number; True and False are not."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def check_number(who: str, name: str, value: Any, below: float = np.inf) -> float:
    """Return ``value`` as a number above 0 and below ``below``, or raise InvalidInput."""
    if not is_number(value) or not 0 < value < below:
        limit = "" if below == np.inf else f" and below {below:g}"
        raise InvalidInput(f"{who}: {name} must be above 0{limit} and finite; got {value!r:.80}.")
    return float(value)


def check_share(who: str, name: str, value: Any) -> float:
    """Return ``value`` as a number from 0 to below 1, or raise InvalidInput.

    Examples
    --------
    >>> check_share("WSABIE", "held_out", 1)
    Traceback (most recent call last):
    ...
    lookalike.core.errors.InvalidInput: WSABIE: held_out must be from 0 to below 1; got 1.
    """
    if not is_number(value) or not 0 <= value < 1:
        raise InvalidInput(f"{who}: {name} must be from 0 to below 1; got {value!r:.80}.")
    return float(value)


def check_choice(who: str, name: str, value: Any, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``choices``, or raise InvalidInput and list them.

    Examples
    --------
    >>> check_choice("browse", "order", "up", ["newest", "oldest"])
    Traceback (most recent call last):
    ...
    lookalike.core.errors.InvalidInput: browse: order must be one of newest, oldest; got 'up'.
    """
    allowed = list(choices)
    if value not in allowed:
        raise InvalidInput(f"{who}: {name} must be one of {', '.join(allowed)}; got {value!r:.80}.")
    return str(value)

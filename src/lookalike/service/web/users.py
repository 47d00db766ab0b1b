"""Who says something, and how much one person may say in a minute."""

import time
from collections import OrderedDict
from threading import Lock
from typing import Annotated, TypeAlias
from urllib.parse import unquote

from fastapi import Request
from pydantic import Field

from lookalike.service.web.api_errors import TooMuch

LONGEST_NAME = 64
COOKIE = "lookalike_user"

User: TypeAlias = Annotated[
    str | None,
    Field(
        max_length=LONGEST_NAME,
        description=f"Who says so; by default what the cookie {COOKIE} says, or nobody by name.",
    ),
]


def who_is(request: Request, named: str | None) -> str:
    """Return the name of the person who asks: as the request says, else as the cookie says."""
    if named is not None:
        return named
    name = unquote(request.cookies.get(COOKIE, ""))
    return name if len(name) <= LONGEST_NAME and name.isprintable() else ""


class Rates:
    """How much each person has said of late: at most ``most`` at once, and again a minute later.

    Of at most ``people`` persons, those who said something last; forgetting the others is
    harmless, since they have their full measure by then or soon.
    """

    def __init__(self, most: int = 600, people: int = 10_000) -> None:
        self._most = most
        self._people = people
        self._lock = Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def count(self, who: str) -> None:
        """Count one thing that a person says, or refuse it."""
        now = time.monotonic()
        with self._lock:
            left, since = self._left.pop(who, (float(self._most), now))
            left = min(self._most, left + (now - since) * self._most / 60)
            allowed = left >= 1
            self._left[who] = (left - 1 if allowed else left, now)
            if len(self._left) > self._people:
                self._left.popitem(last=False)
        if not allowed:
            wait = max(1, round((1 - left) * 60 / self._most))
            raise TooMuch(
                f"At most {self._most} votes, tags and the like a minute are taken of one person. "
                f"Go on in a moment.",
                wait,
            )

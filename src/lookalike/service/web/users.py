"""Who sends feedback, and how much one person may send in a minute."""

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
        description=f"Name of the person; by default from the cookie {COOKIE}, or empty.",
    ),
]


def who_is(request: Request, named: str | None) -> str:
    """Return the name of the person: from the request, or else from the cookie."""
    if named is not None:
        return named
    name = unquote(request.cookies.get(COOKIE, ""))
    return name if len(name) <= LONGEST_NAME and name.isprintable() else ""


class Rates:
    """Limits the rate of feedback: ``most`` events per person and minute.

    Only the ``people`` most recent persons are remembered; forgetting the others is harmless,
    since their allowance is full again by then or soon.
    """

    def __init__(self, most: int = 600, people: int = 10_000) -> None:
        self._most = most
        self._people = people
        self._lock = Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def count(self, who: str) -> None:
        """Count one event of a person; raise ``TooMuch`` if there were too many."""
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
                f"Too many changes: one person may make {self._most} a minute. Try again in a "
                f"moment.",
                wait,
            )

"""Who sends feedback, and how much one client may send in a minute."""

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock
from typing import Annotated, TypeAlias
from urllib.parse import unquote

from fastapi import Request
from pydantic import Field

from lookalike.service.web.api.errors import TooMuch

MAX_NAME = 64
COOKIE = "lookalike_user"

HOUR = 3600.0

Person: TypeAlias = Annotated[str | None, Field(max_length=MAX_NAME)]
"""The name of somebody, "" for one without a name; None for everybody."""

User: TypeAlias = Annotated[
    str | None,
    Field(
        max_length=MAX_NAME,
        description=f"Name of the person; by default from the cookie {COOKIE}, or empty.",
    ),
]


def who_is(request: Request, named: str | None) -> str:
    """Return the name of the person: from the request, or else from the cookie."""
    if named is not None:
        return named
    name = unquote(request.cookies.get(COOKIE, ""))
    return name if len(name) <= MAX_NAME and name.isprintable() else ""


def client_of(address: str) -> str:
    """Return what addresses of one client have in common: this computer, or a network of IPv6.

    Examples
    --------
    >>> client_of("127.0.0.9") == client_of("::1")
    True
    >>> client_of("192.0.2.7"), client_of("2001:db8::7:8")
    ('192.0.2.7', '2001:db8::/64')
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, IPv6Address):
        ip = ip.ipv4_mapped or ip
    if ip.is_loopback:
        return "this computer"
    return str(ip_network((ip, 64), strict=False)) if ip.version == 6 else str(ip)


class Rates:
    """Limits feedback: a client may send ``most`` events a minute, under ``names`` names an hour.

    Who gives no name always may.

    Only the ``clients`` most recent ones are remembered; forgetting the others is harmless,
    since their allowance is full again by then or soon.
    """

    def __init__(
        self,
        most: int = 600,
        names: int = 20,
        clients: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._most = most
        self._names = names
        self._clients = clients
        self._lock = Lock()
        self._left: OrderedDict[str, tuple[float, float, dict[str, float]]] = OrderedDict()

    def count(self, client: str, who: str = "") -> None:
        """Count one event of a client; raise ``TooMuch`` if there were too many, or names."""
        now = self._clock()
        with self._lock:
            left, since, names = self._left.pop(client, (float(self._most), now, {}))
            left = min(self._most, left + (now - since) * self._most / 60)
            used = {name: at for name, at in names.items() if now - at < HOUR}
            enough = left >= 1
            is_known = not who or who in used or len(used) < self._names
            if enough and is_known:
                left, used = left - 1, {**used, who: now} if who else used
            self._left[client] = (left, now, used)
            if len(self._left) > self._clients:
                self._left.popitem(last=False)
        if not enough:
            wait = max(1, round((1 - left) * 60 / self._most))
            raise TooMuch(
                f"Too many changes: one client may make {self._most} a minute. Try again in a "
                f"moment.",
                wait,
            )
        if not is_known:
            raise TooMuch(
                f"Too many names: one client may speak for {self._names} people an hour. Use a "
                f"name that was used before.",
                round(min(used.values()) + HOUR - now),
            )

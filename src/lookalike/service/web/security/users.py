"""How much one client may send in a minute."""

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock
from typing import Annotated, TypeAlias

from pydantic import Field

from lookalike.service.web.api.errors import TooMuch

MAX_NAME = 64
Person: TypeAlias = Annotated[str | None, Field(max_length=MAX_NAME)]
"""The name of somebody, "" for one without a name; None for everybody."""


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
    """Limits what a client sends: ``most`` events a minute.

    Only the ``clients`` most recent ones are remembered; forgetting the others is harmless,
    since their allowance is full again by then or soon.
    """

    def __init__(
        self, most: int = 600, clients: int = 10_000, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._most = most
        self._clients = clients
        self._lock = Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def count(self, client: str) -> None:
        """Count one event of a client; raise ``TooMuch`` if there were too many."""
        if wait := self.wait(client, 1):
            raise TooMuch(
                f"Too many changes: one client may make {self._most} a minute. Try again in a "
                f"moment.",
                wait,
            )

    def wait(self, client: str, events: int = 0) -> int:
        """Return how many seconds a client has to wait, 0 if it may go on; then count events."""
        now = self._clock()
        with self._lock:
            left, since = self._left.pop(client, (float(self._most), now))
            left = min(self._most, left + (now - since) * self._most / 60)
            enough = left >= 1
            self._left[client] = (left - enough * events, now)
            if len(self._left) > self._clients:
                self._left.popitem(last=False)
        return 0 if enough else max(1, round((1 - left) * 60 / self._most))

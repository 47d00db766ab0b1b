"""Connections that cost a server little, whatever a client does or leaves undone."""

import socket
import struct
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from lookalike.service.web.security.accounts import is_of

MAX_CONNECTIONS, MAX_PER_CLIENT = 512, 128
"""Connections at once, in all and from one address.

For a further one, that which has waited longest without a request is closed, or itself."""

MAX_PIPELINED = 16
"""Requests that a client may send ahead of the answers; then the connection is closed."""


class Connection(H11Protocol):
    """A connection that is closed when its client is too slow to send or to read.

    A request must arrive within ``slow_seconds``, and what waits to be sent, at most some 100 kB,
    must leave within that time. Requests sent ahead of the answers are few.

    Uvicorn's other protocol, of httptools, saves about .2 of the 1.3 ms of CPU time that a
    thumbnail takes, but limits neither the size of headers nor how many requests are parsed ahead.
    """

    slow_seconds = 20.0
    account: int | None = None
    """The account that all requests have to be of; looked up once for each connection."""
    open_now: dict["Connection", str]
    """The connections there are, the oldest first, with their addresses; set for each server."""

    def connection_made(self, transport: Any) -> None:
        """Begin, unless there are too many connections."""
        super().connection_made(transport)
        self._stuck = False
        self._ahead = 0
        self._sending: Any = None
        if self.account is not None and self.client and self.server:
            host, port = self.server
            is_own = is_of(self.account, self.client, (host, port or 0))
            self.app_state = {**self.app_state, "is_own": is_own}
        address = self.client[0] if self.client else ""
        self.open_now[self] = address
        same = [one for one, other in self.open_now.items() if other == address]
        crowded = same if len(same) > MAX_PER_CLIENT else []
        if len(self.open_now) > MAX_CONNECTIONS:
            crowded = [*self.open_now]
        if crowded:
            out = next(one for one in crowded if one.is_idle)
            del self.open_now[out]
            out.transport.abort()
        if not transport.is_closing():
            self._look_again()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        """End, and make room for another."""
        self._stop_waiting()
        self.open_now.pop(self, None)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for the client to read, but not for ever."""
        super().pause_writing()
        if self._sending is None:
            self._sending = self.loop.call_later(self.slow_seconds, self._cut_off)

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        self._stop_waiting()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Go on with the next request, unless the client sends too many ahead."""
        self._ahead = self._ahead + 1 if self.conn.trailing_data[0] else 0
        if self._ahead > MAX_PIPELINED:
            self.transport.close()
        super().on_response_complete()

    def _cut_off(self) -> None:
        """Close at once, leaving nothing for the system to go on sending."""
        line = self.transport.get_extra_info("socket")
        if line is not None:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _stop_waiting(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def _look_again(self) -> None:
        if self.transport.is_closing():
            # What is left to send must leave in time, too.
            if self._sending is None and self.transport.get_write_buffer_size():
                self._sending = self.loop.call_later(self.slow_seconds, self._cut_off)
            return
        # Uvicorn times out idle connections itself, but not once a first byte has arrived.
        stuck = self.is_idle and self.timeout_keep_alive_task is None
        if stuck and self._stuck:
            self.transport.close()
        self._stuck = stuck
        self.loop.call_later(self.slow_seconds / 2, self._look_again)


def connections(seconds: float, account: int | None = None) -> type[Connection]:
    """Return the connections of one server."""
    own: dict[str, Any] = {"slow_seconds": seconds, "account": account, "open_now": {}}
    return type("OneServer", (Connection,), own)

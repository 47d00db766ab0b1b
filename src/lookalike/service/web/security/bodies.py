"""Read the body of a request, within limits of size and time."""

import asyncio
from time import monotonic

from starlette.types import Message, Receive

from lookalike.service.web.pages.errors import Refusal

MIN_RATE = 16 << 10
"""Lowest rate in bytes per second, once the time of grace is over."""


class Closing:
    """Signals that the server is stopping, for responses that would go on streaming."""

    def __init__(self) -> None:
        self.begun = False
        self._ends: set[asyncio.Event] = set()

    def begin(self) -> None:
        """End all streams; call this in the thread of the event loop."""
        self.begun = True
        for end in self._ends:
            end.set()

    async def first(self, receive: Receive) -> Message:
        """Return the next message from the client, or a disconnect once the server is stopping."""
        end = asyncio.Event()
        self._ends.add(end)
        message = asyncio.ensure_future(receive())
        closed = asyncio.ensure_future(end.wait())
        try:
            if not self.begun:
                await asyncio.wait({message, closed}, return_when=asyncio.FIRST_COMPLETED)
            return message.result() if message.done() else {"type": "http.disconnect"}
        finally:
            self._ends.discard(end)
            for task in (message, closed):
                task.cancel()


class Body:
    """The body of one request, counted and timed while it streams in.

    The declared size is checked first. Once the body is refused, ``refusal`` holds the reason,
    whatever the application does.

    Parameters
    ----------
    receive : callable
        The server's.
    limit : int
        Largest size in bytes.
    grace : float
        Seconds to wait for it, in addition to the time its bytes take at the lowest rate.
    closing : Closing
    """

    def __init__(self, receive: Receive, limit: int, grace: float, closing: Closing) -> None:
        self._receive = receive
        self._limit, self._grace, self._closing = limit, grace, closing
        self._count, self._waited, self._whole = 0, 0.0, False
        self.refusal: Refusal | None = None

    def expect(self, length: str | None) -> None:
        """Check the size that the request declares."""
        if length is None:
            return
        if not (length.isascii() and length.isdigit()) or len(length) > 18:
            self._refuse(Refusal(400, "The Content-Length of the request is not a number."))
        elif int(length) > self._limit:
            self._refuse(self._too_large())

    async def receive(self) -> Message:
        """Return the next part of the body; after its end, wait for the client to disconnect."""
        if self._whole:
            return await self._closing.first(self._receive)
        message = await self._in_time()
        if message["type"] == "http.request":
            self._count += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._count > self._limit:
                self._refuse(self._too_large())
        return message

    async def _in_time(self) -> Message:
        began = monotonic()
        left = self._grace + self._count / MIN_RATE - self._waited
        try:
            return await asyncio.wait_for(self._receive(), max(left, 0.001))
        except TimeoutError:
            self._refuse(
                Refusal(
                    408,
                    f"The body of the request arrived too slowly: {self._count:,} bytes in "
                    f"{self._waited + monotonic() - began:.0f} s. Send it again.",
                    {"Connection": "close"},
                )
            )
            raise
        finally:
            self._waited += monotonic() - began

    def _too_large(self) -> Refusal:
        return Refusal(413, f"The body of the request is larger than {self._limit:,} bytes.")

    def _refuse(self, refusal: Refusal) -> None:
        self.refusal = refusal
        raise refusal

"""Take in the body of a request: no larger, no slower and no longer than it may be."""

import asyncio
from time import monotonic

from starlette.types import Message, Receive

from lookalike.service.web.error_pages import Refusal

LEAST_RATE = 16 << 10
"""Bytes a second that a body must come at, once its time of grace is over."""


class Closing:
    """Word that the server goes down, for answers that would stream on."""

    def __init__(self) -> None:
        self.begun = False
        self._ends: set[asyncio.Event] = set()

    def begin(self) -> None:
        """Let all streams end; to be called in the thread of the event loop."""
        self.begun = True
        for end in self._ends:
            end.set()

    async def first(self, receive: Receive) -> Message:
        """Wait for a message from the client, or tell that it has gone once we close."""
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

    What its size is said to be is checked first. Once it is refused, ``refusal`` says so,
    whatever the application makes of it.

    Parameters
    ----------
    receive : callable
        The server's.
    limit : int
        Bytes at most.
    grace : float
        Seconds that may be spent waiting for it; and as many more as the bytes that came take
        at the least rate.
    closing : Closing
    """

    def __init__(self, receive: Receive, limit: int, grace: float, closing: Closing) -> None:
        self._receive = receive
        self._limit, self._grace, self._closing = limit, grace, closing
        self._count, self._waited, self._whole = 0, 0.0, False
        self.refusal: Refusal | None = None

    def expect(self, length: str | None) -> None:
        """Check the size that the request says its body has."""
        if length is None:
            return
        if not (length.isascii() and length.isdigit()) or len(length) > 18:
            self._refuse(Refusal(400, "The Content-Length of the request is no number."))
        elif int(length) > self._limit:
            self._refuse(self._too_large())

    async def receive(self) -> Message:
        """Return the next part of the body; after its end, word that the client has gone."""
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
        left = self._grace + self._count / LEAST_RATE - self._waited
        try:
            return await asyncio.wait_for(self._receive(), max(left, 0.001))
        except TimeoutError:
            self._refuse(
                Refusal(
                    408,
                    f"The body of the request came too slowly: {self._count:,} bytes in "
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

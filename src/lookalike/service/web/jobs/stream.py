"""Stream the progress of a job as server-sent events."""

import asyncio
import time
from collections.abc import AsyncIterator
from threading import Event

from lookalike.service.answers import JobState
from lookalike.service.web.api.answers import json_bytes
from lookalike.service.web.jobs.jobs import Job

MEDIA_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

PAUSE, HEARTBEAT = 0.25, 15.0
"""Seconds between checks of a job, and between keep-alive comments while nothing changes."""


async def stream(
    job: Job, closing: Event, pause: float = PAUSE, heartbeat: float = HEARTBEAT
) -> AsyncIterator[str]:
    """Yield the state of a job now, at each change, and at its end; stop with the server.

    The job is polled, so that a slow or lost reader costs it nothing.
    """
    yield "retry: 1000\n\n"
    sent: JobState | None = None
    last = time.monotonic()
    while not closing.is_set():
        over = job.over
        state = job.snapshot()
        if over:
            yield _event("end", state)
            return
        if state != sent:
            yield _event("progress", state)
            sent, last = state, time.monotonic()
        elif time.monotonic() - last >= heartbeat:
            yield ": still running\n\n"
            last = time.monotonic()
        await asyncio.sleep(pause)


def _event(name: str, state: JobState) -> str:
    return f"event: {name}\ndata: {json_bytes(state).decode()}\n\n"

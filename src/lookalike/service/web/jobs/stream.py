"""Stream the progress of a job as server-sent events."""

import asyncio
import time
from collections.abc import AsyncIterator
from threading import Event

from lookalike.service.web.api.answers import JobAnswer
from lookalike.service.web.jobs.jobs import Job

MEDIA_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

PAUSE, HEARTBEAT = 0.25, 15.0
"""Seconds between checks of a job, and between keep-alive comments while nothing changes."""


async def stream(job: Job, closing: Event) -> AsyncIterator[str]:
    """Yield the state of a job now, at each change, and at its end; stop with the server.

    The job is polled, so that a slow or lost reader costs it nothing.
    """
    yield "retry: 1000\n\n"
    told: JobAnswer | None = None
    last = time.monotonic()
    while not closing.is_set():
        over = job.over
        state = job.answer()
        if over:
            yield _event("end", state)
            return
        if state != told:
            yield _event("progress", state)
            told, last = state, time.monotonic()
        elif time.monotonic() - last >= HEARTBEAT:
            yield ": still running\n\n"
            last = time.monotonic()
        await asyncio.sleep(PAUSE)


def _event(name: str, state: JobAnswer) -> str:
    return f"event: {name}\ndata: {state.model_dump_json()}\n\n"

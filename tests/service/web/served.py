"""A small collection behind the real application, reached over a socket."""

import threading
import time
from contextlib import contextmanager
from io import BytesIO

import httpx
import numpy as np
import uvicorn
from PIL import Image

from lookalike.service.web.app import make_app
from lookalike.service.web.settings import Settings


@contextmanager
def running(app, port=0, http="auto"):
    """Serve an application from a thread; give its address."""
    config = uvicorn.Config(
        app, port=port, http=http, log_config=None, ws="none", timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def served(collection, **settings):
    """Return a client of the application, which runs meanwhile; ``client.app`` is that."""
    app = make_app(collection, Settings(**settings))
    headers = {"X-Lookalike-Client": "1"}
    with (
        running(app) as address,
        httpx.Client(base_url=address, headers=headers, timeout=300, trust_env=False) as client,
    ):
        client.app = app
        yield client


def png(colour=(200, 30, 40), seed=0, side=16):
    """Return the content of a small noisy picture."""
    noise = np.random.default_rng(seed).integers(-30, 30, (side, side, 3))
    pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def job_over(client, job, seconds=300):
    """Wait for a job; give how it ended."""
    until = time.monotonic() + seconds
    while job["state"] in ("waiting", "running"):
        assert time.monotonic() < until, job
        time.sleep(0.02)
        job = client.get(f"/api/jobs/{job['id']}").json()
    return job

"""Fifty clients at once for five minutes on 100,000 pictures: errors, memory and waiting times.

Each client has an address of its own and does one thing after the other: it searches, looks at the
page and at thumbnails, votes, tags and uploads. An answer that asks to come back later (429, 503)
is counted apart; any other above 399 is an error. Memory is flat if it grows by less than a tenth
in the second half. First one client does the same alone: a search of fifty may take ten times as
long, in the middle, and one in a hundred three times that. The collection is the one of
``speed/service.py``. ``--quick``: 20 s on 2,000 pictures.
"""

import http.client
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))

from bench import Figure, Options, main
from servers import Server, serving
from service import make

CLIENTS = 50
SHARES = {"search": 45, "page": 15, "thumbnail": 15, "vote": 12, "tag": 10, "upload": 3}
PAUSE = 0.2


class Client(threading.Thread):
    """One of many, which asks until it is told to stop."""

    def __init__(self, number: int, server: Server, count: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._random = random.Random(number)
        self._server, self._count, self._stop_event = server, count, stop
        self._source = f"127.0.1.{number + 1}"
        self._line: http.client.HTTPConnection | None = None
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self.later = 0

    def run(self) -> None:
        """Ask, one thing after the other."""
        kinds, shares = list(SHARES), list(SHARES.values())
        while not self._stop_event.is_set():
            kind = self._random.choices(kinds, shares)[0]
            method, path, body = self._wanted(kind)
            began = time.perf_counter()
            try:
                status = self._ask(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self.errors.append(f"{kind}: {error!r}")
                self._line = None
                continue
            if status in (429, 503):
                self.later += 1
            elif status >= 400:
                self.errors.append(f"{kind}: {status}")
            else:
                self.seconds[kind].append(time.perf_counter() - began)
            time.sleep(PAUSE * self._random.random())

    def _wanted(self, kind: str) -> tuple[str, str, Any]:
        one, other = self._random.sample(range(1, self._count + 1), 2)
        if kind == "search":
            return "GET", f"/api/search?like={one}&k=50", None
        if kind == "page":
            return "GET", "/", None
        if kind == "thumbnail":
            return "GET", f"/thumbnail/{one}.jpg", None
        if kind == "vote":
            third = other % self._count + 1
            return "POST", "/api/votes", {"like": [one], "picked": [other], "rejected": [third]}
        if kind == "tag":
            return "POST", "/api/tags", {"picture": one, "word": f"word {other % 20}"}
        pixels = np.random.default_rng(self._random.randrange(2**32)).integers(0, 255, (96, 96, 3))
        file = BytesIO()
        Image.fromarray(pixels.astype(np.uint8)).save(file, "PNG")
        return "POST", f"/api/pictures?name={one}.png", file.getvalue()

    def _ask(self, method: str, path: str, body: Any) -> int:
        if self._line is None:
            self._line = http.client.HTTPConnection(
                "127.0.0.1", self._server.port, timeout=120, source_address=(self._source, 0)
            )
        headers = {"X-Lookalike-Client": "1"}
        if isinstance(body, dict):
            body, headers["Content-Type"] = json.dumps(body), "application/json"
        try:
            self._line.request(method, path, body, headers)
            answer = self._line.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            # The server closes connections that were idle; once is no error.
            self._line.close()
            self._line.request(method, path, body, headers)
            answer = self._line.getresponse()
        answer.read()
        return answer.status


def together(
    server: Server, count: int, number: int, lasting: float
) -> tuple[list[Client], list[float]]:
    """Let clients ask at once for some seconds; return them, and the server's memory meanwhile."""
    stop = threading.Event()
    clients = [Client(one, server, count, stop) for one in range(number)]
    for client in clients:
        client.start()
    memory = []
    began = time.monotonic()
    while (passed := time.monotonic() - began) < lasting:
        time.sleep(min(lasting / 40, lasting - passed + 0.01))
        memory.append(server.memory())
    stop.set()
    for client in clients:
        client.join(120)
    return clients, memory


def measure(options: Options) -> list[Figure]:
    """Return errors, growth of memory and waiting times."""
    count, lasting = (2_000, 20.0) if options.quick else (100_000, 300.0)
    with tempfile.TemporaryDirectory(prefix="lookalike-") as folder:
        place = Path(folder) / "store"
        make(place, Path(folder) / "pictures", count, options)
        with serving(place) as server:
            together(server, count, 1, 5)  # which fills caches
            alone, _ = together(server, count, 1, max(10, lasting / 10))
            clients, memory = together(server, count, CLIENTS, lasting)
    half, end = statistics.median(memory[17:23]), statistics.median(memory[-6:])
    errors = [error for client in clients for error in client.errors]
    options.settings |= {"clients": CLIENTS, "pictures": count, "seconds": lasting}
    options.settings |= {"later": sum(client.later for client in clients)}
    options.settings |= {"memory_MB": f"{half:.0f} at half, {end:.0f} at the end"}
    options.settings |= {"errors": sorted(set(errors))[:5]}
    found = [
        Figure("errors", len(errors), "<=", 0),
        # The first seconds fill caches, so that a quick run says nothing of it.
        Figure("memory at the end / at half", end / half, "<=", None if options.quick else 1.1),
    ]
    (waited,) = (one.seconds["search"] for one in alone)
    searches = [seconds for client in clients for seconds in client.seconds["search"]]
    half_time, late = np.percentile(searches, [50, 99])
    options.settings |= {"search alone: p50, ms": round(1000 * statistics.median(waited), 1)}
    found += [
        Figure(
            "search: p50 / that of one client alone",
            half_time / statistics.median(waited),
            "<=",
            10,
            f"alone {1000 * statistics.median(waited):.1f} ms, {len(waited):,} requests",
        ),
        Figure("search: p99 / p50", late / half_time, "<=", 3),
    ]
    for kind in SHARES:
        times = np.array([s for client in clients for s in client.seconds[kind]]) * 1000
        if len(times):
            found += [
                Figure(
                    f"{kind}: {name}, ms",
                    float(np.percentile(times, at)),
                    against=f"{len(times):,} requests",
                )
                for name, at in (("p50", 50), ("p99", 99))
            ]
    return found


if __name__ == "__main__":
    main("trust/clients", measure)

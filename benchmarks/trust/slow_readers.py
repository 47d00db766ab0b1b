"""Let 40 clients ask for large pictures and not read them, and see what a server keeps for them.

Each asks for a picture of some 30 MB again and again, sends requests ahead of the answers and never
reads a byte. The figures are the highest memory of the server above rest, how long a client was
held before its connection was closed, and how long an ordinary request took meanwhile.
"""

import select
import socket
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike import Collection
from servers import serving

CLIENTS = 40
SIDE = 3300
MAX_SECONDS = 60.0


def measure(options: Options) -> list[Figure]:
    """Return memory, seconds and the time of others."""
    clients = 10 if options.quick else CLIENTS
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(prefix="lookalike-") as folder:
        photos, place = Path(folder) / "photos", Path(folder) / "store"
        photos.mkdir()
        for number in range(4):
            pixels = rng.integers(0, 255, (SIDE, SIDE, 3), np.uint8)
            Image.fromarray(pixels).save(photos / f"{number}.png", compress_level=0)
        with Collection.create(place) as store:
            store.add([photos])
        size = (photos / "0.png").stat().st_size
        with serving(place) as server:
            for number in range(1, 5):
                server.ask("GET", f"/image/{number}")
            server.peak()
            time.sleep(1)
            rest = server.peak()
            lines = []
            for number in range(clients):
                line = socket.socket()
                line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                line.connect(("127.0.0.1", server.port))
                asked = f"GET /image/{1 + number % 4} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                line.sendall(asked.encode() * 50)
                lines.append(line)
            began, slowest, held = time.monotonic(), 0.0, set(range(clients))
            while held and time.monotonic() - began < MAX_SECONDS:
                start = time.monotonic()
                server.ask("GET", "/api/status")
                slowest = max(slowest, time.monotonic() - start)
                for number in sorted(held):
                    watched = select.poll()
                    # Reset, whatever is left unread.
                    watched.register(lines[number], select.POLLHUP | select.POLLRDHUP)
                    if watched.poll(0):
                        held.discard(number)
                time.sleep(0.2)
            took = time.monotonic() - began
            above = server.peak() - rest
            for line in lines:
                line.close()
    options.settings |= {"clients": clients, "picture_MB": round(size / 2**20, 1)}
    options.settings["rest_MB"] = round(rest, 1)
    return [
        Figure("memory of the server, MB above rest", above, "<=", 100.0, "1,200 before"),
        Figure("clients still held after a minute", len(held), "<=", 0, "all, for ever"),
        Figure("seconds until all were cut off", took, "<=", MAX_SECONDS),
        Figure("slowest ordinary request meanwhile, s", slowest),
    ]


if __name__ == "__main__":
    main("trust/slow_readers", measure)

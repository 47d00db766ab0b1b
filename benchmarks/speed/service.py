"""The real server with 100,000 pictures: searches, votes and an import, as clients see them.

The vectors are mixtures of those the default model gives real photographs, reduced as the product
does. One process calls the index directly, one serves, one is the client. They take turns with the
same queries for several rounds, and ratios are taken per round. A vote must not re-index anything:
the index file and the count of changes are compared before and after.
"""

import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))
from oasis import embedded

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection.store.rankers import keep_record
from lookalike.collection.training.growing import grow
from lookalike.core.progress import silent
from lookalike.features import pack_vector
from lookalike.images import thumbnail

CLIENTS = 8
FOUND = 50
HEADERS = {"X-Lookalike-Client": "1", "Content-Type": "application/json"}


def make(place: Path, pictures: Path, count: int, options: Options) -> None:
    """Fill a collection with mixtures of real vectors, as if they had been indexed."""
    files = sorted((options.data / "objects" / "images").glob("*/*.jpg"))
    real = embedded(files)
    rng = np.random.default_rng(0)
    small = thumbnail(Image.radial_gradient("L"), 64)
    with Collection.create(place) as store:
        pictures.mkdir()
        with store._session.database.transaction() as connection:
            connection.execute("INSERT INTO roots VALUES (?)", (str(pictures),))
            for start in range(0, count, 1000):
                some = range(start + 1, min(start + 1000, count) + 1)
                first, second = rng.integers(0, len(real), (2, len(some)))
                share = rng.uniform(0.5, 1, (len(some), 1)).astype(np.float32)
                noise = rng.normal(0, real.std() / 4, (len(some), real.shape[1]))
                raw = share * real[first] + (1 - share) * real[second] + noise
                connection.executemany(
                    "INSERT INTO all_pictures VALUES (?1, ?2, 'JPEG', 640, 480, 90000, ?3, '2026', "
                    "row_sum(?2, 'JPEG', 640, 480, 90000, ?3, '2026'))",
                    [(n, f"{n:064x}", f"20{n % 25:02}-{n % 12 + 1:02}-11T10:00:00") for n in some],
                )
                connection.executemany(
                    "INSERT INTO places (path, picture, size, mtime_ns, crc) "
                    "VALUES (?1, ?2, 90000, 0, row_sum(?2, CAST(?1 AS BLOB)))",
                    [(f"{pictures}/{n % 97:02}/{n}.jpg", n) for n in some],
                )
                for number, row in zip(some, raw, strict=True):
                    keep_record(connection, 1, number, pack_vector(row))
                connection.executemany(
                    "INSERT INTO thumbnails VALUES (?1, ?2, row_sum(?1, ?2))",
                    [(n, small) for n in some],
                )
        opened = store._session
        (row,) = opened.rankers.rows()
        feature = opened.rankers.parts.feature(row)
        grow(opened, row, feature, silent)
        opened.rankers.save_cache(opened.rankers.get())


class Server:
    """The command ``lookalike serve`` in a separate process."""

    def __init__(self, place: Path) -> None:
        command = "from lookalike.service.command_line import main; main()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", command, "serve", str(place), "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            text=True,
        )
        address = json.loads(self._process.stdout.readline())["address"]
        self.port = int(address.rstrip("/").rsplit(":", 1)[1])

    def close(self) -> None:
        """Stop it."""
        self._process.terminate()
        self._process.wait()


class Line:
    """A persistent connection."""

    def __init__(self, port: int) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, path: str, body: Any = None) -> Any:
        """Get, or with a body post."""
        how = "GET" if body is None else "POST"
        self._line.request(how, path, None if body is None else json.dumps(body), HEADERS)
        answer = self._line.getresponse()
        content = answer.read()
        if answer.status >= 400:
            raise SystemExit(f"{path}: {answer.status} {content[:300]!r}")
        return json.loads(content)

    def search(self, number: int) -> list[int]:
        """Search by a picture's likeness."""
        return [one["id"] for one in self.ask(f"/api/search?like={number}&k={FOUND}")["matches"]]


def seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def together(each: list[Callable[[int], Any]], queries: list[int]) -> NDArray[np.float64]:
    """Search from several clients at once, each with its share; return the seconds of each."""
    spent: list[list[float]] = [[] for _ in each]

    def one(place: int) -> None:
        for query in queries[place :: len(each)]:
            spent[place].append(seconds(lambda query=query: each[place](query)))

    threads = [threading.Thread(target=one, args=(place,)) for place in range(len(each))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return np.concatenate(spent)


def in_process(place: Path, rounds: list[list[int]]) -> Callable[[int], NDArray[np.float64]]:
    """Return a function that times searches on the index itself, several at once."""
    store = Collection.open(place)
    ranker = store._session.rankers.get()

    def search(number: int) -> None:
        ranker.index.search(ranker.query(ranker.vectors([number])), FOUND, exclude=[[number]])

    search(1)
    return lambda turn: together([search] * CLIENTS, rounds[turn])


def votes(line: Line, queries: list[int]) -> tuple[float, float, float]:
    """Return the median times of a search, of a vote on a match, and of the next search."""
    searches, said, after = [], [], []
    for query in queries:
        found: list[int] = []
        searches.append(seconds(lambda query=query, found=found: found.extend(line.search(query))))
        vote = {
            "like": [query],
            "picked": found[1:4],
            "rejected": found[4:7],
            "shown": found[:20],
        }
        said.append(seconds(lambda vote=vote: line.ask("/api/votes", vote)))
        after.append(seconds(lambda query=query: line.search(query)))
    first, second, third = (float(np.median(some)) for some in (searches, said, after))
    return first, second, third


def rate(port: int, queries: list[int], until: Callable[[], bool]) -> float:
    """Return the searches per second of all clients until something is over."""
    done = [0] * CLIENTS

    def one(place: int) -> None:
        line = Line(port)
        for query in queries[place::CLIENTS]:
            if until():
                return
            line.search(query)
            done[place] += 1

    begin = time.perf_counter()
    threads = [threading.Thread(target=one, args=(place,)) for place in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - begin)


def while_importing(
    server: Server, pictures: Path, numbers: list[int], count: int
) -> tuple[float, float]:
    """Return the rate of searches alone, and while pictures are imported."""
    files = []
    rng = np.random.default_rng(1)
    for number in range(count):
        file = pictures / f"new-{number}.jpg"
        noise = rng.integers(0, 255, (30, 40, 3), dtype=np.uint8)
        Image.fromarray(noise).resize((1600, 1200)).save(file, quality=85)
        files.append(str(file))
    for_seconds = time.monotonic() + 6
    alone = rate(server.port, numbers, lambda: time.monotonic() > for_seconds)
    line = Line(server.port)
    job = line.ask("/api/jobs", {"kind": "import", "paths": files})

    def over() -> bool:
        return (pictures / "over").exists()

    def watch() -> None:
        while line.ask(f"/api/jobs/{job['id']}")["state"] in ("waiting", "running"):
            time.sleep(0.2)
        (pictures / "over").touch()

    watcher = threading.Thread(target=watch)
    watcher.start()
    beside = rate(server.port, numbers, over)
    watcher.join()
    return alone, beside


def measure(options: Options) -> list[Figure]:
    count = 20_000 if options.quick else 100_000
    rounds = 2 if options.quick else 5
    rng = np.random.default_rng(2)
    queries = [rng.integers(1, count + 1, 160).tolist() for _ in range(rounds)]
    options.settings |= {"pictures": count, "clients": CLIENTS, "found": FOUND, "rounds": rounds}
    with tempfile.TemporaryDirectory() as temporary:
        place, pictures = Path(temporary) / "collection", Path(temporary) / "pictures"
        make(place, pictures, count, options)
        inside = in_process(place, queries)
        server = Server(place)
        try:
            Line(server.port).search(1)
            ratios = []
            for turn in range(rounds):
                index = inside(turn)
                # The server closes connections that idle, as these do between rounds.
                lines = [Line(server.port) for _ in range(CLIENTS)]
                http_ = together([one.search for one in lines], queries[turn])
                ratios.append([*np.percentile(index, [50, 99]), *np.percentile(http_, [50, 99])])
            before = unchanged(place)
            voted = [
                votes(Line(server.port), rng.integers(1, count + 1, 20).tolist())
                for _ in range(rounds)
            ]
            same = before == unchanged(place)
            alone, beside = while_importing(
                server,
                pictures,
                rng.integers(1, count + 1, 40_000).tolist(),
                60 if options.quick else 300,
            )
        finally:
            server.close()
    return figures(np.array(ratios), np.array(voted), same, alone, beside)


def unchanged(place: Path) -> tuple[Any, ...]:
    """Return values that would change if anything were indexed again."""
    files = [(file.name, file.stat()) for file in sorted((place / "cache").iterdir())]
    with Collection.open(place) as store:
        changes = store._session.database.changes()
    return changes, [(name, facts.st_mtime_ns, facts.st_size) for name, facts in files]


def figures(
    ratios: NDArray[np.float64],
    voted: NDArray[np.float64],
    same: bool,
    alone: float,
    beside: float,
) -> list[Figure]:
    middle, tail = ratios[:, 2] / ratios[:, 0], ratios[:, 3] / ratios[:, 1]
    after = (voted[:, 1] + voted[:, 2]) / voted[:, 0]
    ms = np.median(ratios, axis=0) * 1000
    told = np.median(voted, axis=0) * 1000

    def ratio(what: str, values: NDArray[np.float64], target: float, against: str) -> Figure:
        return Figure(what, float(np.median(values)), "<=", target, against, float(values.std()))

    return [
        ratio(
            "vote and the search after it / a search",
            after,
            2,
            f"search {told[0]:.1f} ms, vote {told[1]:.1f} ms, search after {told[2]:.1f} ms",
        ),
        ratio(
            "search over HTTP / on the index, 8 at once, p50",
            middle,
            2,
            f"{ms[2]:.1f} ms / {ms[0]:.1f} ms",
        ),
        ratio(
            "search over HTTP / on the index, 8 at once, p99",
            tail,
            5,
            f"{ms[3]:.1f} ms / {ms[1]:.1f} ms",
        ),
        Figure("vote to new ranking, ms", float(told[1] + told[2]), "<=", 50),
        Figure(
            "searched file and pictures unchanged by votes",
            float(same),
            ">=",
            1.0,
            f"{len(voted) * 20} votes",
        ),
        Figure(
            "searches a second beside an import / alone",
            beside / alone,
            ">=",
            0.5,
            f"{beside:.1f} / {alone:.1f}",
        ),
    ]


if __name__ == "__main__":
    main("speed/service", measure)

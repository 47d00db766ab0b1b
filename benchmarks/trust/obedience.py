"""Thumbs are obeyed: what was rejected in a search is not shown again, picked ones stay on top.

Simulated people search with one to three pictures and give one to five thumbs each, to matches
anywhere in the first hundred, a third of them against what labels say, so that models disagree.
Each search is asked again after every thumb, after all of them, after learning labels and after a
restart: of the collection, over the API, as the page shows it, and some by the command line. A
search is obeyed if what was picked is first, in any order, and what was rejected is nowhere.
"""

import csv
import http.client
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "papers"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))

from live import indexed

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection import Ask
from service import HEADERS, Line, Server

MAX_THUMBS, REACH, AGAINST = 5, 100, 1 / 3
COMMANDS = 3
"""Searches that are asked by the command line as well: it takes seconds to start."""

_TILE = re.compile(r'<figure class="tile result[^"]*" data-id="(\d+)"')


@dataclass
class Asked:
    """A search, and the thumbs given in it."""

    like: tuple[int, ...]
    picked: set[int] = field(default_factory=set)
    rejected: set[int] = field(default_factory=set)

    def obeyed(self, found: list[int]) -> bool:
        """Return whether what was found is as the thumbs say."""
        return {*found[: len(self.picked)]} == self.picked and not self.rejected & {*found}


def sets(data: Path) -> dict[str, dict[Path, list[str]]]:
    """Return the pictures of the sets with their labels."""
    objects = sorted((data / "objects" / "images").glob("*/*.jpg"))
    with (data / "snapshots" / "labels.csv").open(encoding="utf-8", newline="") as file:
        snapshots = {
            data / "snapshots" / row["file"]: row["words"].split(";")
            for row in csv.DictReader(file)
            if row["words"]
        }
    return {"objects": {path: [path.parent.name] for path in objects}, "snapshots": snapshots}


def different_searches(
    ids: list[int], count: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Return what to search with; the thumbs of the same search twice would mix."""
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < count:
        like = rng.choice(ids, int(rng.integers(1, 4)), replace=False)
        drawn[tuple(like.tolist())] = None
    return [*drawn]


def page(port: int, like: tuple[int, ...]) -> list[int]:
    """Return the pictures that the page shows for a search, in order."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    query = urlencode([("like", number) for number in like])
    line.request("GET", f"/part/matches?{query}&k=200", headers=HEADERS)
    content = line.getresponse().read().decode()
    line.close()
    return [int(number) for number in _TILE.findall(content)]


def give_thumbs(
    line: Line, asked: Asked, labels: dict[int, list[str]], rng: np.random.Generator
) -> list[bool]:
    """Give some thumbs one after the other; return for each whether the next search obeys."""
    known = set(labels[asked.like[0]])
    results = []
    for _ in range(int(rng.integers(1, MAX_THUMBS + 1))):
        found = _api(line, asked.like)
        free = [number for number in found[:REACH] if number not in asked.picked]
        number = int(rng.choice(free))
        right = bool(known & set(labels[number])) ^ (rng.random() < AGAINST)
        (asked.picked if right else asked.rejected).add(number)
        said = {"like": asked.like, "picked" if right else "rejected": [number]}
        line.ask("/api/votes", said)
        results.append(asked.obeyed(_api(line, asked.like)))
    return results


def ask_all(place: Path, searches: list[Asked]) -> dict[str, float]:
    """Ask all searches again, in each way; return the shares that are obeyed."""
    with Collection.open(place) as store:
        paths = {row.id: row.places[0] for row in store.pictures.all()}
        library = [
            one.obeyed([match.id for match in store.search(Ask(one.like), 500)]) for one in searches
        ]
    server = Server(place)
    try:
        line = Line(server.port)
        api = [one.obeyed(_api(line, one.like)) for one in searches]
        shown = [one.obeyed(page(server.port, one.like)) for one in searches]
    finally:
        server.close()
    single = [one for one in searches if len(one.like) == 1][:COMMANDS]
    command = [one.obeyed(_command(place, paths[one.like[0]])) for one in single]
    ways = {"library": library, "API": api, "page": shown, "command line": command}
    return {
        f"{name} ({len(results)} searches)": float(np.mean(results))
        for name, results in ways.items()
    }


def _api(line: Line, like: tuple[int, ...]) -> list[int]:
    query = urlencode([("like", number) for number in like])
    return [one["id"] for one in line.ask(f"/api/search?{query}&k=500")["matches"]]


def _command(place: Path, picture: Path) -> list[int]:
    command = "from lookalike.service.command_line import main; main()"
    told = subprocess.run(
        [
            *(sys.executable, "-c", command, "search", str(picture)),
            *("-c", str(place), "-k", "500", "--json"),
        ],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    matches: list[dict[str, Any]] = json.loads(told.stdout)["matches"]
    return [int(match["id"]) for match in matches]


def measure(options: Options) -> list[Figure]:
    count = 20 if options.quick else 200
    figures = []
    for name, pictures in sets(options.data.resolve()).items():
        if options.quick and name != "objects":
            continue
        rng = np.random.default_rng(0)
        with tempfile.TemporaryDirectory() as folder:
            source = indexed(name, [(path, "") for path in pictures])
            place = Path(shutil.copytree(source, Path(folder) / "collection"))
            with Collection.open(place) as store:
                labels = {row.id: pictures[row.places[0]] for row in store.pictures.all()}
            ids = [*labels]
            searches = [Asked(like) for like in different_searches(ids, count, rng)]
            server = Server(place)
            try:
                line = Line(server.port)
                thumbs = [give_thumbs(line, one, labels, rng) for one in searches]
            finally:
                server.close()
            given = sum(map(len, thumbs))
            at_once = float(np.mean([obeyed for one in thumbs for obeyed in one]))
            figures.append(
                Figure(f"{name}: obeyed at once", at_once, ">=", 1, f"{given} thumbs, API")
            )
            for when in ("after a restart", "after learning labels and a restart"):
                if "learning" in when:
                    with Collection.open(place) as store:
                        store.learn(pictures)
                figures += [
                    Figure(f"{name}: obeyed {when}, {way}", share, ">=", 1)
                    for way, share in ask_all(place, searches).items()
                ]
    options.settings |= {"searches a set": count, "thumbs a search": f"1 to {MAX_THUMBS}"}
    return figures


if __name__ == "__main__":
    main("trust/obedience", measure)

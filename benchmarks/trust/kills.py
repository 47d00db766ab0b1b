"""Kill the server again and again, and check that nothing it acknowledged is lost.

A real server with a real collection is sent votes, labels, undos, deletions, imports and learning
jobs, and killed (-9) at a random moment. Then a fresh process opens the collection and checks that
every acknowledged event is in the log, unchanged; requests in progress took effect completely or
not at all; the log is intact; replaying it gives the same bytes with and without the last snapshot;
every picture has its vector, thumbnail and place; labels agree with the log; and searches work.
Of ten kills one is of a process that updates a collection of an older version instead, which must
be left at the old version or the new one, whole; one of a process that backs the collection up and
puts the backup back, where what is in its place must be whole, and a backup that is there complete;
and one of a process that learns and goes back to what was there, and must leave either. 1,000 kills
in four worlds side by side; ``--kills N`` sets another number. The settings tell what was killed.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection import Ask, restore_backup
from lookalike.collection.store import log as rows
from lookalike.collection.store.schema import OLDEST, VERSION
from lookalike.collection.votes import ledger
from lookalike.core.text import word_key
from lookalike.service.commands.serve import listening, run
from lookalike.service.web.app import make_app
from lookalike.service.web.settings import Settings

COLOURS = (
    (220, 40, 40),
    (40, 200, 60),
    (40, 60, 220),
    (230, 210, 40),
    (120, 40, 160),
    (20, 20, 20),
)
WORDS = ("Straße", "STRASSE", "Meer", "été", "x/y", "🐈")
PICTURES = 60
MAX_LIFE = 1.0
MAX_UPDATE = 0.1
MAX_RESTORE = 1.5
MAX_LEARNING = 4.0

ROOT = Path(__file__).resolve().parents[2]
OLDER = ROOT / f"tests/collection/older/version-{OLDEST}.tar.xz"
WORLDS = 4
HEADERS = {"X-Lookalike-Client": "1", "Content-Type": "application/json"}


def draw(path: Path, seed: int) -> Path:
    """Return a small picture, different for each seed."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(-60, 60, (48, 64, 3)) + np.array(COLOURS[seed % len(COLOURS)])
    buffer = BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(buffer, "PNG")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Beside first: a rescan must not meet a half of it.
    beside = path.with_suffix(".part")
    beside.write_bytes(buffer.getvalue())
    return beside.rename(path)


def forked(work: Callable[[], Any]) -> Any:
    """Run a function in a separate process; return its result, or fail as it did."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(read)
            told = json.dumps(work()).encode()
            with os.fdopen(write, "wb") as out:
                out.write(told)
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            raise
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as into:
        told = into.read()
    if os.waitpid(child, 0)[1]:
        raise SystemExit("the check failed; its message is above.")
    return json.loads(told)


def serve(place: Path, write: int) -> None:
    """Run the code of ``lookalike serve`` until killed."""
    settings = Settings(port=0)
    with Collection.open(place) as store, listening(settings) as door:
        port = door.getsockname()[1]
        run(make_app(store, settings), door, lambda: os.write(write, f"{port}\n".encode()) and None)


@dataclass
class World:
    """What the harness knows to have been acknowledged."""

    place: Path
    pictures: Path
    random: random.Random
    said: list[dict[str, Any]] = field(default_factory=list)
    under_way: str | None = None
    removed: set[int] = field(default_factory=set)
    removing: set[int] = field(default_factory=set)
    came: set[str] = field(default_factory=set)
    paths: dict[int, str] = field(default_factory=dict)
    sent: set[str | None] = field(default_factory=lambda: {None})
    acknowledged: int = 0
    there: list[int] = field(default_factory=list)
    drawn: int = PICTURES
    keys: int = 0
    learning: bool = False
    met: Counter[str] = field(default_factory=Counter)

    def live(self) -> None:
        """Start a server, talk to it, kill it."""
        read, write = os.pipe()
        server = os.fork()
        if server == 0:
            os.close(read)
            try:
                serve(self.place, write)
            finally:
                os._exit(1)
        os.close(write)
        with os.fdopen(read) as into:
            port = int(into.readline())
            life = self.random.random() * MAX_LIFE
            killer = threading.Timer(life, os.kill, (server, signal.SIGKILL))
            killer.start()
            with contextlib.suppress(OSError, http.client.HTTPException):
                self.talk(http.client.HTTPConnection("127.0.0.1", port, timeout=30))
        killer.join()
        os.waitpid(server, 0)
        self.met["the server, while it learned" if self.learning else "the server"] += 1
        self.learning = False

    def talk(self, line: http.client.HTTPConnection) -> None:
        """Send one request after another until the server is gone."""
        jobs: dict[str, list[str]] = {}
        while True:
            kind = self.random.choices(
                ["votes", "tags", "undo", "remove", "import", "learn", "look", "reset"],
                [50, 15, 10, 4, 10, 10, 6, 1],
            )[0]
            getattr(self, kind)(line, jobs)

    def ask(self, line: http.client.HTTPConnection, how: str, path: str, body: Any = None) -> Any:
        """Send a request; give the answer, or None where it was refused."""
        line.request(how, path, None if body is None else json.dumps(body), HEADERS)
        answer = line.getresponse()
        told = json.loads(answer.read())
        # Whatever is sent here makes sense: 422 says that the program and this no longer agree.
        if answer.status == 422 or answer.status >= 500:
            raise SystemExit(f"{how} {path}: {answer.status} {told}")
        return told if answer.status < 400 else None

    def say(self, line: http.client.HTTPConnection, path: str, body: dict[str, Any]) -> None:
        """Send a request that creates an event, with a key to recognise it by."""
        self.keys += 1
        self.under_way = f"key {self.keys}"
        told = self.ask(line, "POST", path, {**body, "key": self.under_way})
        if told is not None:
            self.said.append({**told.get("event", told), "key": self.under_way})
            self.sent.add(self.under_way)
            self.acknowledged += 1
        self.under_way = None

    def some(self, count: int) -> list[int]:
        """Draw pictures that are there."""
        return self.random.sample(self.there, count)

    def votes(self, line: http.client.HTTPConnection, _: Any) -> None:
        """Vote."""
        query, *others = self.some(8)
        told = {"like": [query], "picked": others[:2], "rejected": others[2:4], "shown": others}
        self.say(line, "/api/votes", told)

    def tags(self, line: http.client.HTTPConnection, _: Any) -> None:
        """Return or refuse a word."""
        word, shows = self.random.choice(WORDS), self.random.random() < 0.7
        self.say(line, "/api/tags", {"picture": self.some(1)[0], "word": word, "shows": shows})

    def undo(self, line: http.client.HTTPConnection, _: Any) -> None:
        """Undo something, perhaps an undoing."""
        if self.said:
            event = self.random.choice(self.said[-20:])
            self.say(line, "/api/undo", {"event": event["number"]})

    def reset(self, line: http.client.HTTPConnection, _: Any) -> None:
        """Discard all votes."""
        self.say(line, "/api/reset", {})

    def remove(self, line: http.client.HTTPConnection, _: Any) -> None:
        """Delete a picture."""
        if len(self.there) > PICTURES // 2:
            number = self.some(1)[0]
            self.removing.add(number)
            if self.ask(line, "DELETE", f"/api/pictures/{number}") is not None:
                self.removed.add(number)
            self.removing.discard(number)
            self.there.remove(number)

    def look(self, line: http.client.HTTPConnection, jobs: dict[str, list[str]]) -> None:
        """Search, and see which jobs are done."""
        self.ask(line, "GET", f"/api/search?like={self.some(1)[0]}&k=20")
        known = self.ask(line, "GET", "/api/jobs")
        unfinished = {job["kind"] for job in known if job["state"] in ("waiting", "running")}
        self.learning = "learn" in unfinished
        for job in known:
            if job["state"] == "done" and job["id"] in jobs:
                self.came |= set(jobs.pop(job["id"]))

    def learn(self, line: http.client.HTTPConnection, _: Any) -> None:
        """Order to learn from folders."""
        told = self.ask(line, "POST", "/api/jobs", {"kind": "learn", "folders": True})
        self.learning |= told is not None

    def __getattr__(self, name: str) -> Any:
        if name == "import":
            return self.bring
        raise AttributeError(name)

    def bring(self, line: http.client.HTTPConnection, jobs: dict[str, list[str]]) -> None:
        """Draw some pictures and order them to be imported."""
        seeds = range(self.drawn, self.drawn + 4)
        self.drawn += 4
        files = [str(draw(self.pictures / f"c{s % 6}" / f"{s}.png", s)) for s in seeds]
        told = self.ask(line, "POST", "/api/jobs", {"kind": "import", "paths": files})
        if told is not None:
            jobs[told["id"]] = files

    def check(self) -> None:
        """Open the collection in a fresh process and hold it against what was acknowledged."""
        wanted = [told["number"] for told in self.said]
        found = forked(lambda: look_into(self.place, wanted, self.under_way))
        rows = {row["number"]: row for row in found["events"]}
        for told in self.said:
            row = rows.get(told["number"])
            expect(row is not None, f"event {told['number']} was acknowledged and is lost")
            expect(row["kind"] == told["kind"], f"event {told['number']} is another one")
            said = {k: v for k, v in told["body"].items() if k in row["body"]}
            expect(said.items() <= row["body"].items(), f"event {told['number']} was changed")
        known = self.sent | {self.under_way}
        strange = [row["key"] for row in found["events"] if row["key"] not in known]
        # A repeated vote gives the first event: its own key is then stored nowhere.
        expect(not strange, f"events that were refused are stored: {strange}")
        there = {number for number, _ in found["pictures"]}
        expect(not there & self.removed, "a deleted picture is back")
        gone = set(self.there) - there - self.removing
        expect(not gone, f"pictures are lost: {gone}")
        self.removed |= self.removing - there
        self.removing = set()
        self.came -= {self.paths[number] for number in self.removed & self.paths.keys()}
        self.paths = dict(found["pictures"])
        lost = self.came - set(self.paths.values())
        expect(not lost, f"imported files are lost: {lost}")
        if self.under_way is not None:
            self.said += [row for row in found["events"] if row["key"] == self.under_way]
            self.sent.add(self.under_way)
        # The digests in the log show that older ones are as they were.
        self.said, self.under_way = self.said[-300:], None
        self.there = sorted(there)


def expect(held: bool, otherwise: str) -> None:
    """Stop with a message if a condition does not hold."""
    if not held:
        raise SystemExit(otherwise)


def look_into(place: Path, wanted: list[int], key: str | None) -> dict[str, Any]:
    """Check that a collection is intact; return its pictures, the events wanted and the last."""
    with Collection.open(place) as store:
        database = store._session.database
        expect(database.rows("PRAGMA integrity_check") == [("ok",)], "the database is damaged")
        expect(not database.rows("PRAGMA foreign_key_check"), "something has no picture")
        for table in ("records_1", "thumbnails", "places"):
            rows = database.rows(
                f"SELECT id FROM pictures WHERE id NOT IN (SELECT picture FROM {table})"
            )
            expect(not rows, f"pictures lack their {table}: {rows}")
        store.log.check()
        with_snapshot = ledger.Ledger.read(database)
        without = ledger.Ledger.read(database, ledger.Ledger())
        same = ledger.packed(with_snapshot.votes) == ledger.packed(without.votes)
        expect(same, "reading the log with and without the snapshot differs")
        check_words(store)
        if len(store):
            expect(bool(store.search(next(iter(store.pictures.all())).id, 5)), "nothing is found")
        rows = database.rows(
            "SELECT number, kind, key, body FROM events WHERE key = ? "
            "OR number IN (SELECT value FROM json_each(?)) "
            "OR number > (SELECT max(number) FROM events) - 100 ORDER BY number",
            *(key, json.dumps(wanted)),
        )
        return {
            "events": [
                {"number": number, "kind": kind, "key": key, "body": json.loads(body)}
                for number, kind, key, body in rows
            ],
            "pictures": database.rows(
                "SELECT picture, path FROM places WHERE picture IN (SELECT id FROM pictures)"
            ),
        }


def check_words(store: Collection) -> None:
    """Check that a picture has exactly the labels recorded in the log."""
    database = store._session.database
    undone = rows.undone(database)
    last = {
        (picture, key): after is not None
        for event, picture, key, after in database.rows(
            "SELECT event, picture, changes.key, after FROM changes "
            "JOIN events ON number = event WHERE kind = 'label' ORDER BY event"
        )
        if event not in undone
    }
    labels = store.labels.all()
    for (number, key), shows in last.items():
        if database.rows("SELECT 1 FROM pictures WHERE id = ?", number):
            has = any(word_key(label) == key for label in labels.get(number, []))
            expect(has == shows, f"{key} of picture {number} is not as the log says")


def kill_after(seconds: float, child: int) -> None:
    """Kill a process that was forked."""
    time.sleep(seconds)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def update_and_kill(place: Path, chance: random.Random) -> str:
    """Kill a process while it brings a collection of an older version up to date, and check it."""
    shutil.rmtree(place, ignore_errors=True)
    with tarfile.open(OLDER) as content:
        content.extractall(place, filter="data")
    expected = json.loads((place / "expected.json").read_text())
    child = os.fork()
    if child == 0:
        try:
            Collection.open(place / "collection").search(1)
        finally:
            os._exit(0)
    kill_after(chance.random() * MAX_UPDATE, child)
    file = place / "collection" / "collection.sqlite"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    whole = version in (OLDEST, VERSION)
    expect(whole, f"an update was left half way, at version {version}")
    found = forked(lambda: look_into_older(place))
    expect(found["labels"] == expected["labels"], "an update has lost something")
    expect(found == unkilled(), "a killed update answers otherwise than one in peace")
    return f"an update, {'after' if version == VERSION else 'before'} its commit"


@lru_cache
def unkilled() -> Any:
    """Return what a collection of an older version answers after an update in peace."""
    with tempfile.TemporaryDirectory() as place, tarfile.open(OLDER) as content:
        content.extractall(place, filter="data")
        return forked(lambda: look_into_older(Path(place)))


def look_into_older(place: Path) -> dict[str, Any]:
    """Return what a collection of an older version answers once it is up to date."""
    with Collection.open(place / "collection") as store:
        store.log.check()
        return {
            "pictures": len(store),
            "labels": {str(number): names for number, names in store.labels.all().items()},
            "plain": {
                str(n): [m.id for m in store.search(n, 10, learned=False)] for n in (1, 9, 18)
            },
            "learned": {str(n): [m.id for m in store.search(n, 10)] for n in (1, 9, 18)},
            "with others": [match.id for match in store.search(Ask((1, 2), (9,)), 10)],
            "of a word": [match.id for match in store.search_word("rot", 10)],
            "history": [[e.number, e.kind, e.undone] for e in store.log.history(100)],
        }


def restore_and_kill(place: Path, chance: random.Random) -> str:
    """Kill a process while it backs a collection up and puts the backup back, and check both."""
    copy, backup = place.with_name("copy"), place.with_name("backup")
    for folder in (copy, backup, *copy.parent.glob("copy.before-*")):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(place, copy)
    expected = forked(lambda: numbers_of(copy))
    child = os.fork()
    if child == 0:
        try:
            with Collection.open(copy) as store:
                store.upkeep.backup(backup)
            restore_backup(backup, copy)
        finally:
            os._exit(0)
    kill_after(chance.random() * MAX_RESTORE, child)
    expect(forked(lambda: numbers_of(copy)) == expected, "a restore has lost something")
    if backup.exists():
        fresh = place.with_name("fresh")
        shutil.rmtree(fresh, ignore_errors=True)
        restore_backup(backup, fresh)
        expect(forked(lambda: numbers_of(fresh)) == expected, "a backup lacks something")
    restored = any(copy.parent.glob("copy.before-*"))
    return "after a restore" if restored else "a restore" if backup.exists() else "a backup"


def learn_and_kill(place: Path, chance: random.Random) -> str:
    """Kill a process that learns and then goes back, and check that nothing else has changed."""
    copy = place.with_name("learning")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(place, copy)
    before, models = forked(lambda: [numbers_of(copy), models_of(copy)])
    child = os.fork()
    if child == 0:
        try:
            with Collection.open(copy) as store:
                store.learn(folders=True)
                store.rollback()
        finally:
            os._exit(0)
    kill_after(chance.random() * MAX_LEARNING, child)
    after, found = forked(lambda: [numbers_of(copy), models_of(copy)])
    # Learning may add labels by folder, and events.
    expect(after[0] == before[0], "learning has lost pictures")
    expect(after[1] >= before[1] and after[2] >= before[2], "learning has lost something")
    expect(found[: len(models)] == models, "learning has lost a model")
    return "learning" if found == models else "learning, after its commit"


def models_of(place: Path) -> list[list[Any]]:
    """Return the models of a collection by number and kind, oldest first."""
    with Collection.open(place) as store:
        return sorted([row.number, row.kind] for row in store.models.all())


def numbers_of(place: Path) -> list[int]:
    """Return what a collection has, once it is found sound."""
    with Collection.open(place) as store:
        found = store.upkeep.check()
        expect(found.sound, f"damaged: {found.findings}")
        return [len(store), len(store.log.history(1000)), len(store.labels.all())]


def survive(kills: int, seed: int) -> dict[str, Any]:
    """Create a collection and kill its server the given number of times."""
    with tempfile.TemporaryDirectory() as temporary:
        pictures = Path(temporary) / "pictures"
        for number in range(PICTURES):
            draw(pictures / f"c{number % 6}" / f"{number}.png", number)
        place = Path(temporary) / "collection"

        def make() -> int:
            with Collection.create(place) as store:
                store.add([pictures])
                return len(store)

        forked(make)
        world = World(place, pictures, random.Random(seed))
        world.check()
        older = Path(temporary) / "older"
        others = {
            0: (update_and_kill, older),
            3: (learn_and_kill, place),
            6: (restore_and_kill, place),
        }
        for kill in range(1, kills + 1):
            if kill % 10 in others:
                other, where = others[kill % 10]
                world.met[other(where, world.random)] += 1
            else:
                world.live()
                world.check()
            if kill % 50 == 0:
                print(f"world {seed}: {kill} kills, {world.keys} sent", file=sys.stderr, flush=True)
        told = {"sent": world.keys, "acknowledged": world.acknowledged}
        return {"met": world.met, "kills": kills, **told}


def measure(options: Options) -> list[Figure]:
    kills = options.settings.pop("kills", 20 if options.quick else 1000)
    count = max(1, min(WORLDS, kills // 4))
    with ThreadPoolExecutor(count) as pool:
        shares = [len(range(world, kills, count)) for world in range(count)]
        worlds = list(pool.map(one_world, range(count), shares))
    total = {
        name: sum(world[name] for world in worlds) for name in ("kills", "sent", "acknowledged")
    }
    met: Counter[str] = sum((Counter(world["met"]) for world in worlds), Counter())
    options.settings |= {"worlds at once": count, "killed": dict(sorted(met.items()))}
    return [
        Figure(
            "kills survived without loss",
            total["kills"],
            ">=",
            kills,
            f"{total['acknowledged']} of {total['sent']} events acknowledged, all there",
        ),
    ]


def one_world(seed: int, kills: int) -> dict[str, Any]:
    """Run a world in a separate process, which may fork."""
    done = subprocess.run(
        [sys.executable, __file__, "--world", str(seed), "--kills", str(kills)],
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"world {seed} did not survive; its message is above.")
    survived: dict[str, Any] = json.loads(done.stdout)
    return survived


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--world", type=int)
    chosen, sys.argv[1:] = parser.parse_known_args()
    if chosen.world is not None:
        print(json.dumps(survive(chosen.kills, chosen.world)))
        sys.exit()

    def measured(options: Options) -> list[Figure]:
        if chosen.kills:
            options.settings["kills"] = chosen.kills
        return measure(options)

    main("trust/kills", measured)

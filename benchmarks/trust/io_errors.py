"""Let every change that a command makes to the disk fail, and check that nothing is lost or raw.

A shim (``failing_writes.c``, preloaded; needs gcc and Linux) lets the n-th change fail: a write,
flush or truncation, an opening for writing, a renaming, deletion or new folder. It fails once,
with a full disk or an I/O error, or that and all that come after it, as on a disk that turned
read-only; for every n of every command and of requests to a server. Each time the command must end
well or with one sentence, never with a traceback, and no request may be answered as unexpected; a
fresh process then opens the collection, finds every event that was there before or acknowledged
since, and ``Collection.check`` finds nothing damaged. 2,000 errors, drawn from all there are. Each
is forked from a process that has run every command once, so nothing is imported or compiled in it.
"""

import ctypes
import errno
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from starlette.testclient import TestClient

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike import Collection
from lookalike.collection import Ask, Entry, SavedSearch
from lookalike.collection.store.schema import OLDEST
from lookalike.core.fingerprint import fingerprint
from lookalike.core.vectors import unit_rows
from lookalike.features import Feature, pack_vector, unpack_vectors
from lookalike.features.registry import FEATURES
from lookalike.images import decode
from lookalike.images.metadata import metadata_in
from lookalike.service.command_line import app
from lookalike.service.web.app import make_app
from lookalike.service.web.pages.errors import UNEXPECTED
from lookalike.service.web.settings import Settings

ERRORS, QUICK = 2_000, 60
FAILURES = ((errno.ENOSPC, False), (errno.EIO, False), (errno.EROFS, True))
"""Codes of errors, and whether all later changes fail as well."""
PRELOADED = "LOOKALIKE_FAILING_WRITES"
ROOT = Path(__file__).resolve().parents[2]
OLDER = ROOT / f"tests/collection/older/version-{OLDEST}.tar.xz"


@FEATURES.register
class Colours(Feature):
    """Describe a picture by the mean colours of a coarse grid."""

    name = "io-colours"

    def __init__(self) -> None:
        self.dimension = 48

    @property
    def fingerprint(self) -> str:
        """The name of the way vectors are made."""
        return fingerprint({"kind": self.name}, {})

    def record(self, image: Image.Image) -> bytes:
        """Return the record of a picture."""
        small = np.asarray(image.resize((4, 4)), np.float32)
        return pack_vector(unit_rows(small.reshape(1, -1) + 1))

    def vectors(self, records: Any) -> Any:
        """Return the vectors of records."""
        return unpack_vectors(records, self.dimension, sparse=False)


def prepare(world: Path) -> None:
    """Make pictures, a collection that has learned and was voted in, a backup, and an older one."""
    for number in range(24):
        rng = np.random.default_rng(number)
        colour = np.array([(220, 40, 40), (40, 200, 60), (40, 60, 220)][number % 3])
        pixels = np.clip(colour + rng.integers(-60, 60, (12, 16, 3)), 0, 255).astype(np.uint8)
        place = world / ("new" if number > 20 else "pictures") / "rgb"[number % 3]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"{number}.png")
    with Collection.create(world / "c", features=[Colours()]) as store:
        store.add([world / "pictures"])
        store.learn(folders=True, settings={"steps": 50})
        store.vote(Ask((1,)), picked=[2], rejected=[9])
        store.label(3, "Straße")
        store.albums.save("Red", SavedSearch(Ask((1,))))
        store.remove([5, 6])
        store.upkeep.backup(world / "backup")
    with tarfile.open(OLDER) as content:
        content.extractall(world / "older", filter="data")


Said = list[int]
"""The numbers of the events that a command was told are recorded."""


def commands(world: Path) -> dict[str, Callable[[Said], None]]:
    """Return every way to write, by name."""
    place = world / "c"

    def run(*given: str) -> Callable[[Said], None]:
        return lambda said: app([*given, "-c", str(place)], standalone_mode=False)

    def opened(*works: Callable[[Collection], Any]) -> Callable[[Said], None]:
        def work(said: Said) -> None:
            with Collection.open(place) as store:
                for one in works:
                    told = one(store)
                    said += [told.number] if isinstance(told, Entry) else []

        return work

    def made(said: Said) -> None:
        with Collection.create(world / "made", features=[Colours()]) as store:
            store.add([world / "new"])

    def updated(said: Said) -> None:
        with Collection.open(world / "older" / "collection") as store:
            store.search(1)

    def requests(said: Said) -> None:
        with Collection.open(place) as store:
            server = make_app(store, Settings())
            server.state.decoder = InProcess()
            headers = {"X-Lookalike-Client": "1"}
            with TestClient(server, "http://localhost", headers=headers) as client:
                for path, body in asked:
                    given = {"content": body} if isinstance(body, bytes) else {"json": body}
                    answer = client.post(path, **given)
                    if UNEXPECTED in answer.text:
                        raise RuntimeError(f"{path} is answered as unexpected")
                    if answer.status_code == 200 and "event" in answer.json():
                        said.append(answer.json()["event"]["number"])

    new = (world / "new/r/21.png").read_bytes()
    asked: list[tuple[str, Any]] = [
        ("/api/pictures?name=21.png", new),
        ("/api/queries", (world / "new/b/23.png").read_bytes()),
        ("/api/votes", {"like": [2], "picked": [4], "rejected": [8]}),
        ("/api/tags", {"picture": 3, "word": "Wort"}),
        ("/api/selection/remove", {"pictures": [7, 22]}),
        ("/api/people", {"name": "Ada", "change": "trust"}),
        ("/api/bin/empty", {}),
    ]
    pictures, out = world / "pictures", world / "out"
    return {
        "index": run("index", str(world / "new")),
        "a new collection": made,
        "an older collection": updated,
        "learn": run("learn", "--folders", "--set", "steps=50"),
        "learn --codes": run("learn", "--codes", "itq", "--bits", "8"),
        "say and vote": opened(
            lambda store: store.label(4, "Wort"),
            lambda store: store.label([1, 2, 4], "Wörter"),
            lambda store: store.vote(Ask((2,)), picked=[4], rejected=[8]),
            lambda store: store.undo(1),
        ),
        "duplicates and albums": opened(
            lambda store: store.duplicates.tell_apart([1, 2]),
            lambda store: store.duplicates.keep_one(1, [2]),
            lambda store: store.albums.save("Few", pictures=[3, 4]),
            lambda store: store.albums.open("Red"),
            lambda store: store.albums.delete("Red"),
        ),
        "a query": opened(
            lambda store: store.queries.keep((world / "new/r/21.png").read_bytes()),
        ),
        "remove": run("remove", str(pictures / "r/0.png")),
        "restore": run("restore"),
        "bin": run("bin", "--empty"),
        "undo": run("undo", "1"),
        "rollback": run("rollback"),
        "rollback --votes": run("rollback", "--votes"),
        "missing": run("missing"),
        "check": run("check"),
        "labels": run("labels", "--out", f"{out}.csv"),
        "tag csv": run("tag", str(world / "new"), "--write", "csv", "--out", f"{out}.csv"),
        "tag xmp": run("tag", str(world / "new"), "--write", "xmp", "--min-confidence", "0"),
        "sheet": run("search", str(pictures / "r/3.png"), "--sheet", f"{out}.html"),
        "duplicates": run("duplicates", "--sheet", f"{out}.html"),
        "albums": run("albums", "Red", "--out", f"{out}.csv"),
        "export": run("export", "--out", f"{out}.safetensors"),
        "backup": run("backup", str(world / "c.backup")),
        "restore backup": run("restore", str(world / "backup")),
        "people": opened(lambda store: store.people.trust("Ada")),
        "key": run("people", "key", "Ada"),
        "requests": requests,
    }


class InProcess:
    """Decodes here: a process for each error would take longer than all else."""

    decode = staticmethod(decode)
    metadata = staticmethod(metadata_in)

    def close(self) -> None:
        """Do nothing."""


def forked(work: Callable[[], str]) -> str:
    """Return what a function says in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            os.write(write, work().encode("utf-8", "replace")[:4000])
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as into:
        told = into.read().decode()
    os.waitpid(child, 0)
    return told


def tried(command: Callable[[Said], None], world: Path, n: int, code: int, *, lasting: bool) -> str:
    """Run a command whose n-th change fails.

    Say how many there were, a raw error if any, and which events were acknowledged.
    """
    shim = ctypes.CDLL(None)
    shim.failing_arm(os.fsencode(world), ctypes.c_long(n), code, lasting)
    raw, said = "", Said()
    try:
        command(said)
    except SystemExit:
        pass
    except BaseException as error:
        own = type(error).__module__.startswith(("lookalike", "click", "typer"))
        raw = "" if own else f"{type(error).__name__}: {error}"
    seen = shim.failing_seen()
    shim.failing_arm(b"", 0, 0, 0)
    return json.dumps([seen, raw, said])


def judged(place: Path, said: Said) -> str:
    """Open a collection, and say what is wrong with it."""
    try:
        with Collection.open(place) as store:
            log = {event.number for event in store.log.history(1000)}
            found = [one.problem for one in store.upkeep.check().findings if one.damage]
            store.search(1)
            lost = sorted(set(said) - log)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return f"events {lost} are lost" if lost else "; ".join(found)


def inside(options: Options) -> list[Figure]:
    """Inject the errors."""
    done = 0
    raw: list[str] = []
    lost: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        kept, world = Path(name) / "kept", Path(name) / "world"
        prepare(world)
        shutil.copytree(world, kept)
        places = {"c": world / "c", "older": world / "older" / "collection"}
        events = {which: numbers(place) for which, place in places.items()}
        every = commands(world)

        def fresh() -> None:
            shutil.rmtree(world)
            shutil.copytree(kept, world)

        def trial(command: str, n: int, code: int, *, lasting: bool) -> int:
            fresh()
            work = every[command]
            answer = forked(lambda: tried(work, world, n, code, lasting=lasting))
            seen, told, said = json.loads(answer)
            where = f"{command}, {errno.errorcode.get(code)} at {n}"
            if told:
                raw.append(f"{where}: {told}")
            which = "older" if command == "an older collection" else "c"
            if wrong := forked(lambda: judged(places[which], events[which] + said)):
                lost.append(f"{where}: {wrong}")
            return int(seen)

        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            for work in every.values():
                fresh()
                with suppress(SystemExit):
                    work(Said())
        counts = {command: trial(command, 0, 0, lasting=False) for command in every}
        plan = _plan(counts)
        most = QUICK if options.quick else ERRORS
        rounds = itertools.cycle(plan)
        while done < most:
            command, n, code, lasting = next(rounds)
            trial(command, n, code, lasting=lasting)
            done += 1
            if done % 100 == 0:
                print(f"{done} errors, {len(raw)} raw, {len(lost)} lost", file=sys.stderr)
    for told in (raw + lost)[:20]:
        print(told, file=sys.stderr)
    options.settings |= {"changes": counts, "distinct": min(len(plan), most)}
    return [
        Figure("errors injected", done, ">=", most),
        Figure("raw errors", len(raw), "<=", 0),
        Figure("events lost or collections damaged", len(lost), "<=", 0),
    ]


def numbers(place: Path) -> Said:
    """Return the numbers of all events of a collection."""
    with Collection.open(place) as store:
        return [event.number for event in store.log.history(1000)]


def _plan(counts: dict[str, int]) -> list[tuple[str, int, int, bool]]:
    """Return every change of every command with each failure, in an order drawn at random."""
    plan = [
        (command, n, *failure)
        for command, changes in counts.items()
        for n in range(1, changes + 1)
        for failure in FAILURES
    ]
    random.Random(0).shuffle(plan)
    return plan


if __name__ == "__main__":
    if PRELOADED in os.environ:
        main("trust/io_errors", inside)
    else:
        with tempfile.TemporaryDirectory() as place:
            library = Path(place) / "failing_writes.so"
            source = Path(__file__).with_suffix("").with_name("failing_writes.c")
            subprocess.run(
                ["gcc", "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"],
                check=True,
            )
            inner = {**os.environ, "LD_PRELOAD": str(library), PRELOADED: "1"}
            ran = subprocess.run([sys.executable, *sys.argv], env=inner, check=False)
            raise SystemExit(ran.returncode)

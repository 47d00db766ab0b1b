"""Writers that are killed, disks that are full, and what others left behind."""

import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lookalike.collection import Collection, adding, vectors
from lookalike.collection import database as databases
from lookalike.core.errors import CollectionBusy, CollectionError
from tests.collection.colours import Colours, album, picture
from tests.collection.test_add import consistent

# Adds, learns and removes without end, and says what it has finished.
WRITER = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from colours import Colours, picture
from lookalike.collection import Collection, adding, vectors

adding.BATCH_PICTURES = 3
vectors.LEAST_DRIFT, vectors.LEAST_TO_REDUCE, vectors.REDUCED = 0, 30, 4
folder = Path(sys.argv[1])
seed = int(sys.argv[2])
removed = set()
with Collection.open(folder / "c", feature=Colours()) as collection:
    print("ready", flush=True)
    while True:
        new = [picture(folder / "p" / ("ab"[n % 2]) / f"{{seed}}-{{n}}.png", (99, n, 9), (seed, n))
               for n in range(7)]
        seed += 1
        collection.add(new)
        print("added", *(str(path) for path in new), flush=True)
        collection.learn(folders=True, settings={{"steps": 20, "blend": 0.5}})
        print("learned", len(collection.models()), flush=True)
        gone = [row.id for row in collection.pictures()][:3]
        print("removing", *gone, flush=True)
        collection.remove(gone)
        print("removed", *gone, flush=True)
"""


def test_killed_at_any_moment(tmp_path, monkeypatch):
    """Whatever was acknowledged is there, whole; the rest is there whole or not at all."""
    monkeypatch.setattr(vectors, "REDUCED", 4)
    album(tmp_path / "p", 6)
    with Collection.create(tmp_path / "c", feature=Colours()) as collection:
        collection.add([tmp_path / "p"])
    draw = random.Random(0)
    added, removed, perhaps, learned = set(), set(), set(), 0
    for kill in range(12):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(1000 * kill)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout.readline() == "ready\n"
        time.sleep(draw.uniform(0, 0.4))
        writer.send_signal(signal.SIGKILL)
        for line in writer.communicate()[0].splitlines():
            what, *names = line.split(" ")
            if what == "added":
                added |= set(names)
            elif what == "learned":
                learned = int(names[0])
            else:
                (removed if what == "removed" else perhaps).update(map(int, names))
        with Collection.open(tmp_path / "c", feature=Colours()) as collection:
            rows = list(collection.pictures())
            assert collection._database.rows("PRAGMA integrity_check") == [("ok",)]
            assert collection._database.rows("PRAGMA foreign_key_check") == []
            for table in ("vectors", "thumbnails"):
                count = collection._database.row(f"SELECT count(*) FROM {table}")
                assert count == (len(rows),)
            assert not {row.id for row in rows} & removed
            here = {str(place): row.id for row in rows for place in row.places}
            last = max(here.values())
            # What was added is there, but for what was removed since, or was about to be.
            assert len(added - here.keys()) <= len(removed | perhaps)
            assert {name for name in added if name not in here} <= added
            serving = collection._serve()
            assert sorted(serving.plain.ids.tolist()) == sorted(row.id for row in rows)
            fresh = vectors.load_index(serving.space, collection._database, Path("no cache"))
            assert (
                fresh.vectors[fresh.ids.argsort()]
                == serving.plain.vectors[serving.plain.ids.argsort()]
            ).all()
            assert len(collection.models()) >= learned
            assert len(collection.search(last, 5)) == 5
            collection.remove([])
            left = {file.name for file in (tmp_path / "c").rglob("*") if file.name[0] == "."}
            assert left == set()


@pytest.mark.parametrize("step", range(8))
def test_killed_at_each_commit(tmp_path, step):
    """A writer that dies on the way into or out of its n-th transaction leaves a whole state."""
    album(tmp_path / "p", 4)
    with Collection.create(tmp_path / "c", feature=Colours()) as collection:
        collection.add([tmp_path / "p" / "rot", tmp_path / "p" / "grün"])
    child = os.fork()
    if child == 0:
        count = itertools.count()
        real = databases._connect

        class Dying(sqlite3.Connection):
            def execute(self, sql, *values):
                if sql == "COMMIT" and next(count) == step // 2:
                    if step % 2:
                        super().execute(sql, *values)
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().execute(sql, *values)

        connect = sqlite3.connect
        sqlite3.connect = lambda *given, **named: connect(*given, factory=Dying, **named)
        try:
            # The reader's snapshots commit too, so only writers may die.
            reader = real(tmp_path / "c" / "collection.sqlite")
            reader.close()
            adding.BATCH_PICTURES = 2
            writing = Collection.open(tmp_path / "c", feature=Colours())
            writing.add([tmp_path / "p"], threads=1)
            writing.remove([1])
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    with Collection.open(tmp_path / "c", feature=Colours()) as collection:
        assert len(consistent(collection)) in (8, 10, 12, 11)
        collection.add([tmp_path / "p"])
        assert len(consistent(collection)) == 12


def test_the_lock_of_a_killed_writer_is_free(collection):
    child = os.fork()
    if child == 0:
        collection._folder.writing().__enter__()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert collection.remove([1]) == 1


def test_a_writer_in_another_process_is_named(collection):
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        with collection._folder.writing():
            os.write(tell, b"x")
            time.sleep(60)
    os.read(ready, 1)
    with pytest.raises(CollectionBusy, match=f"process {child}"):
        collection.remove([1])
    assert len(collection.search(1)) == 10
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert collection.remove([1]) == 1


def test_what_others_left_behind_is_cleaned_and_the_rest_left(collection, pictures):
    folder = collection.path
    hexes = "0123456789abcdef"
    stale = [
        f".manifest.json.{hexes}",
        f"reduction-{hexes * 2}.safetensors",
        "models/77.safetensors",
        f"models/.78.safetensors.{hexes}",
        f"cache/index-{hexes * 2}.safetensors",
    ]
    mine = ["notes.txt", "models/readme", ".hidden", "reduction-of-weight.safetensors"]
    for name in stale + mine:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"left behind")
    with Collection.open(folder, feature=Colours()) as again:
        assert len(again.search(1)) == 10
        assert all((folder / name).exists() for name in stale)
        again.add([pictures])
    assert not any((folder / name).exists() for name in stale)
    assert all((folder / name).exists() for name in mine)


@pytest.mark.parametrize("room", [0, 1, 2, 5, 9])
def test_a_full_disk_keeps_what_was_committed(collection, pictures, room, monkeypatch):
    monkeypatch.setattr(adding, "BATCH_PICTURES", 4)
    for number in range(40):
        picture(pictures / f"neu-{number}.png", (number, 9, 9), 500 + number)
    real = databases._connect

    def cramped(path):
        connection = real(path)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        start.setdefault("pages", pages)
        connection.execute(f"PRAGMA max_page_count = {start['pages'] + room}")
        return connection

    start = {}
    monkeypatch.setattr(databases, "_connect", cramped)
    with pytest.raises(CollectionError, match="full"):
        collection.add([pictures])
    assert len(consistent(collection)) < 64
    monkeypatch.setattr(databases, "_connect", real)
    collection.add([pictures])
    assert len(consistent(collection)) == 64


def test_each_statement_of_a_write_may_fail(collection, pictures, monkeypatch):
    """An I/O error at the n-th statement, for every n: told, and nothing half done."""
    picture(pictures / "neu.png", (3, 9, 9), 500)
    connect = sqlite3.connect
    for nth in itertools.count():
        count = itertools.count()
        failed = []

        class Failing(sqlite3.Connection):
            def execute(self, sql, *values, count=count, nth=nth, failed=failed):
                if next(count) == nth:
                    failed.append(sql)
                    raise sqlite3.OperationalError("disk I/O error")
                return super().execute(sql, *values)

        monkeypatch.setattr(sqlite3, "connect", lambda *g, **n: connect(*g, factory=Failing, **n))
        try:
            collection.add([pictures])
            collection.remove([row.id for row in collection.pictures()][-1:])
        except CollectionError as error:
            assert "disk I/O error" in str(error)
        monkeypatch.setattr(sqlite3, "connect", connect)
        assert len(consistent(collection)) in (24, 25)
        if not failed:
            break
        if len(collection) == 25:
            collection.remove([row.id for row in collection.pictures()][-1:])
    assert nth > 10

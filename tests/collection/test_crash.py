"""Writers that are killed, disks that are full, and what others left behind."""

import itertools
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from lookalike.collection import Collection
from lookalike.collection.store import database as databases
from lookalike.core.errors import CollectionBusy, CollectionError
from tests.collection.beside import beside, current_ranker
from tests.collection.colours import Colours, album, picture
from tests.collection.pictures.test_adding import consistent
from tests.gates import OPEN


class Writers:
    """Forks of ``writer.py``, one at a time."""

    def __init__(self):
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("writer.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, command, folder, number=0):
        self._server.stdin.write(f"{command} {number} {folder}\n")
        self._server.stdin.flush()
        self.pid = int(self._line()[1])
        if command in ("work", "lock"):
            assert self._line() == ["ready"]

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        return self.rest()

    def rest(self):
        """Return what the writer has said until it was dead."""
        lines = []
        while self._line() != ["dead"]:
            lines.append(self._last)
        return lines

    def close(self):
        if self._last != ["dead"]:
            os.kill(self.pid, signal.SIGKILL)
        self._server.stdin.close()
        self._server.wait()
        self._server.stdout.close()

    def _line(self):
        line = self._server.stdout.readline()
        assert line, "the writers' server has ended"
        self._last = line.rstrip("\n").split(" ")
        return self._last


@pytest.fixture(scope="module")
def writers():
    started = Writers()
    yield started
    started.close()


KILLS = 25


def test_killed_at_any_moment(tmp_path, writers, set_limits):
    """Whatever was acknowledged is there, whole; the rest is there whole or not at all."""
    set_limits(reduced=4)
    album(tmp_path / "p", 6)
    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        collection.add([tmp_path / "p"])
    draw = random.Random(0)
    added, removed, begun, learned, words = {}, set(), set(), 0, 0
    for kill in range(8 * KILLS):
        # On a busy machine a writer needs longer until it has done something of each kind.
        if kill >= KILLS and added and removed and learned and words:
            break
        writers.start("work", tmp_path, 1000 * kill)
        time.sleep(draw.uniform(0, 0.6 * 2 ** (kill // KILLS)))
        for what, *names in writers.kill():
            if what == "added":
                for number, path in (name.split("=", 1) for name in names):
                    added[path] = int(number)
            elif what == "learned":
                learned = int(names[0])
            else:
                (removed if what == "removed" else begun).update(map(int, names))
        with Collection.open(tmp_path / "c", features=[Colours()]) as collection:
            database = beside(collection).database
            assert database.rows("PRAGMA integrity_check") == [("ok",)]
            assert database.rows("PRAGMA foreign_key_check") == []
            rows = list(collection.pictures.all())
            ids = sorted(row.id for row in rows)
            for table in ("records_1", "thumbnails"):
                kept = f"SELECT count(*) FROM {table} JOIN pictures ON id = picture"
                assert database.row(kept) == (len(ids),)
            assert not set(ids) & removed
            assert begun.isdisjoint(ids) or begun - removed <= set(ids)
            begun &= set(ids)
            # What was added is there, but for the oldest, which were removed.
            here = {str(place): row.id for row in rows for place in row.places}
            assert all(added[path] < ids[0] for path in added.keys() - here.keys())
            ranker = current_ranker(collection)
            assert sorted(ranker.plain.ids.tolist()) == ids
            fresh = ranker.space.load_index(database, Path("no cache"))
            order, cached = fresh.ids.argsort(), ranker.plain.ids.argsort()
            # A product of matrices rounds by the number of its rows.
            np.testing.assert_allclose(
                fresh.vectors[order], ranker.plain.vectors[cached], atol=1e-4
            )
            assert len(collection.models.all()) >= learned
            assert len(collection.search(ids[-1], 5)) == 5
            if ranker.annotator is not None:
                words += len(collection.search_word(next(iter(collection.words.learned())), 5)) == 5
            # Whoever writes next tidies up.
            collection.add([])
            assert not [f for f in (tmp_path / "c").rglob("*") if f.name.startswith(".")]
    assert added
    assert removed
    assert learned
    assert words


@pytest.mark.parametrize("step", range(12))
def test_killed_at_each_commit(tmp_path, writers, step):
    """A writer that dies before or after its n-th commit leaves the state before or after."""
    album(tmp_path / "p", 4)
    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        collection.add([tmp_path / "p" / "rot", tmp_path / "p" / "grün"])
    writers.start("die", tmp_path, step)
    survived = writers.rest() == [["survived"]]
    with Collection.open(tmp_path / "c", features=[Colours()]) as collection:
        # Commits: the roots, two batches of two, what became of their files, and the removal.
        expected = [8, 8, 8, 10, 10, 12, 12, 12, 12, 11, 11, 11][step]
        assert len(consistent(collection)) == expected
        assert survived == (step >= 10)
        collection.add([tmp_path / "p"])
        assert len(consistent(collection)) == (11 if step >= 9 else 12)


def everything(folder):
    """All that a reader can see of what was learned, and what it does with it."""
    with Collection.open(folder, features=[Colours()]) as collection:
        tags = [picture.tags for picture in collection.words.tag([folder.parent / "p"], 3).pictures]
        return (
            collection.labels.all(),
            collection.models.all(),
            beside(collection).rankers.row(),
            collection.search(1, 9),
            [[tag.word for tag in some] for some in tags],
            collection.search_word("rot", 9),
            collection.models.evaluate_words(),
        )


def test_killed_while_learning(tmp_path, writers):
    """A writer killed at any step of learning leaves all as before it, or as after it."""
    album(tmp_path / "p", 6)
    with Collection.create(tmp_path / "c", features=[Colours()], gate=OPEN) as collection:
        collection.add([tmp_path / "p"])
        learned = collection.learn(folders=True, settings={"steps": 50, "blend": 0.5})
        assert learned.similarity.published
        assert learned.words.published
    before = everything(tmp_path / "c")
    kept = shutil.copytree(tmp_path / "c", tmp_path / "kept")
    writers.start("teach", tmp_path, -1)
    ((_, events),) = writers.rest()
    after = everything(tmp_path / "c")
    assert (len(before[1]), len(after[1])) == (2, 4)
    last = int(events) - 1
    finished = []
    for step in [*range(0, last - 8, (last - 8) // 5), *range(last - 8, last + 1)]:
        shutil.rmtree(tmp_path / "c")
        shutil.copytree(kept, tmp_path / "c")
        writers.start("teach", tmp_path, step)
        assert writers.rest() == []
        found = everything(tmp_path / "c")
        finished.append(len(found[1]) == 4)
        assert without_times(found) == without_times(after if finished[-1] else before)
        with Collection.open(tmp_path / "c", features=[Colours()]) as collection:
            collection.add([])
        assert not [f for f in (tmp_path / "c").rglob("*") if f.name.startswith(".")]
    assert finished == sorted(finished)
    assert set(finished) == {False, True}


def without_times(found):
    labels, models, *rest = found
    return [labels, [replace(model, made="") for model in models], *rest]


def test_a_writer_in_another_process_is_named(tmp_path, writers, pictures):
    with Collection.create(tmp_path / "c", features=[Colours()]) as collection:
        collection.add([pictures])
        writers.start("lock", tmp_path)
        with pytest.raises(CollectionBusy, match=f"process {writers.pid}"):
            collection.add([pictures])
        assert len(collection.search(1)) == 10
        writers.kill()
        assert collection.add([pictures]).known == 24


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
    with Collection.open(folder, features=[Colours()]) as again:
        assert len(again.search(1)) == 10
        assert all((folder / name).exists() for name in stale)
        again.add([pictures])
    assert not any((folder / name).exists() for name in stale)
    assert all((folder / name).exists() for name in mine)


@pytest.fixture
def fresh_connections(collection, monkeypatch):
    """Let every transaction of the collection have a connection of its own."""
    database = collection._session.database
    monkeypatch.setattr(database, "_keep", lambda connection: connection.close())
    database._writer().close()


@pytest.mark.usefixtures("fresh_connections")
@pytest.mark.parametrize("room", [0, 1, 2, 3])
def test_a_full_disk_keeps_what_was_committed(collection, pictures, room, monkeypatch, set_limits):
    set_limits(batch=4)
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
    with monkeypatch.context() as patch:
        patch.setattr(databases, "_connect", cramped)
        with pytest.raises(CollectionError, match="full"):
            collection.add([pictures])
        assert len(consistent(collection)) < 64
    collection.add([pictures])
    assert len(consistent(collection)) == 64


@pytest.mark.usefixtures("fresh_connections")
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

        told = []
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", partial(connect, factory=Failing))
            try:
                collection.add([pictures], removed=True)
                collection.remove([row.id for row in collection.pictures.all()][-1:])
            except CollectionError as error:
                told.append(str(error))
        assert len(told) == len(failed)
        assert all("disk I/O error" in text for text in told)
        assert len(consistent(collection)) in (24, 25)
        if not failed:
            break
        if len(collection) == 25:
            collection.remove([row.id for row in collection.pictures.all()][-1:])
    assert nth > 10

"""A collection that the version before made opens, nothing is lost, and it goes on."""

import hashlib
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from lookalike.collection import Ask, Collection, restore_backup
from lookalike.collection.store import migrations
from lookalike.collection.store.database import Database
from lookalike.collection.store.schema import VERSION, create_records
from lookalike.core.errors import CollectionError, DamagedFile
from tests.collection.older.golden import QUICK, answers, make

OLDEST, LATEST = 8, 10
ARCHIVES = Path(__file__).parents[1] / "older"


@pytest.fixture
def older(tmp_path):
    """The folder of a collection of the oldest version, and what it answered then."""
    return unpacked(OLDEST, tmp_path)


def unpacked(number, tmp_path):
    with tarfile.open(ARCHIVES / f"version-{number}.tar.xz") as archive:
        archive.extractall(tmp_path / "older", filter="data")
    expected = json.loads((tmp_path / "older" / "expected.json").read_text())
    expected.pop("duplicates", None)  # which pictures are alike enough is told otherwise now
    return tmp_path / "older" / "collection", expected


def connected(place):
    return closing(sqlite3.connect(place / "collection.sqlite", isolation_level=None))


def version(place):
    with connected(place) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def check(collection, expected):
    answer = {"token": expected["token"], **answers(collection, expected["token"])}
    assert answer.keys() == expected.keys()
    # Those who spoke are trusted by further events.
    answer["log"] = answer["log"][-len(expected["log"]) :]
    for name, value in expected.items():
        wanted = pytest.approx(value, abs=1e-3) if name.endswith("scores") else value
        assert answer[name] == wanted, name
    collection.log.check()
    checked = collection.upkeep.check()
    assert [finding.problem for finding in checked.findings if finding.damage] == []


@pytest.mark.parametrize("number", [OLDEST, LATEST])
def test_nothing_is_lost(tmp_path, number):
    place, expected = unpacked(number, tmp_path)
    assert version(place) == number
    with Collection.open(place) as collection:
        check(collection, expected)
    assert version(place) == VERSION
    with Collection.open(place) as again:
        check(again, expected)


def test_a_collection_of_this_version_answers_as_much(tmp_path):
    """So that the next version can be tested by an archive of it."""
    make(tmp_path)
    expected = json.loads((tmp_path / "expected.json").read_text())
    with Collection.open(tmp_path / "collection") as collection:
        check(collection, expected)


def schema(file):
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema")
        return sorted((*row, " ".join((sql or "").split())) for *row, sql in rows)


@pytest.mark.parametrize("number", [OLDEST, LATEST])
def test_its_schema_is_that_of_a_new_one(tmp_path, number):
    place, _ = unpacked(number, tmp_path)
    Database(place / "collection.sqlite").close()
    Database.create(tmp_path / "new.sqlite")
    with closing(sqlite3.connect(tmp_path / "new.sqlite")) as connection:
        for ranker in (1, 2):
            connection.execute(create_records(ranker))
    assert schema(place / "collection.sqlite") == schema(tmp_path / "new.sqlite")
    with connected(place) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_it_goes_on(older):
    place, expected = older
    with Collection.open(place) as collection:
        votes = collection.votes.standing().votes
        assert collection.vote(Ask((1,)), picked=[2, 3], who="Ada", key="a vote").number == 9
        collection.vote(Ask((2,)), picked=[4], rejected=[11])
        assert collection.votes.standing().votes == votes + 1
        collection.label(7, "Köln")
        assert collection.rollback().similarity == 1
        assert collection.learn(settings=QUICK).similarity.before is not None
        collection.restore([17])
        # The archive was unpacked elsewhere: the files are found again by their content.
        report = collection.add([place.parent / "pictures"])
        assert report.added == 1  # that of the picture that was erased
        assert collection.pictures.get(1).places
        collection.log.check()
    assert len(expected["pictures"]) == 18


def test_what_was_said_before_can_be_undone(older):
    place, _ = older
    with Collection.open(place) as collection:
        said = [event for event in collection.log.history(100) if not event.undone]
        undone = 0
        for event in said:
            if event.kind not in ("learn", "erasure", "feature", "undo", "erased"):
                collection.undo(event.number)
                undone += 1
        assert undone >= 12
        assert collection.labels.all() == {}
        assert collection.votes.standing().votes == 0
        assert {row.id for row in collection.pictures.all()} >= {17, 20}
        collection.log.check()


def test_missing_sums_are_made_and_wrong_ones_stay(older):
    place, expected = older
    with connected(place) as connection:
        for table in ("thumbnails", "places", "given", "records_1"):
            connection.execute(f"UPDATE {table} SET crc = NULL WHERE picture != 3")
        connection.execute("UPDATE thumbnails SET crc = crc + 1 WHERE picture = 3")
    with Collection.open(place) as collection:
        (finding,) = (finding for finding in collection.upkeep.check().findings if finding.damage)
        assert "thumbnail" in finding.problem
        with pytest.raises(DamagedFile, match="checksum differs"):
            collection.pictures.thumbnail(3)
        assert collection.pictures.thumbnail(4)
        assert len(collection) == len(expected["pictures"])


KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path

connect, left = sqlite3.connect, [int(sys.argv[2])]

class Counting(sqlite3.Connection):
    writing = False
    def execute(self, sql, *values):
        self.writing |= sql == "BEGIN IMMEDIATE"
        left[0] -= self.writing
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        result = super().execute(sql, *values)
        if sql == "COMMIT" and sys.argv[2] == "-1":
            os.kill(os.getpid(), signal.SIGKILL)
        return result

sqlite3.connect = lambda *given, **named: connect(*given, **{"factory": Counting, **named})
from lookalike.collection.store.database import Database
Database(Path(sys.argv[1])).close()
"""


@pytest.mark.parametrize("step", [2, 6, 12, 18, 24, 30, 36, -1])
def test_killed_on_the_way_it_is_left_whole(older, step):
    """Killed at a statement, or after the commit, it has the one version or the other."""
    place, expected = older
    command = [sys.executable, "-c", KILLED, str(place / "collection.sqlite"), str(step)]
    status = subprocess.run(command, check=False).returncode
    assert status == -signal.SIGKILL or (status == 0 and step > 24)
    if step in (2, -1):
        assert version(place) == (VERSION if step == -1 else OLDEST)
    with Collection.open(place) as collection:
        check(collection, expected)
    assert version(place) == VERSION


def test_a_migration_that_fails_changes_nothing(older, monkeypatch):
    place, expected = older
    before = schema(place / "collection.sqlite")

    def fail(connection):
        connection.execute("DELETE FROM events")
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setitem(migrations.MIGRATIONS, OLDEST, fail)
        with pytest.raises(CollectionError, match="disk is full"):
            Collection.open(place)
    assert version(place) == OLDEST
    assert schema(place / "collection.sqlite") == before
    with Collection.open(place) as collection:
        check(collection, expected)


def test_another_process_may_have_migrated_it_meanwhile(older, monkeypatch):
    place, expected = older
    once = Database._migrate

    def late(self):
        with monkeypatch.context() as patch:
            patch.setattr(Database, "_migrate", once)
            Database(place / "collection.sqlite").close()
        once(self)

    monkeypatch.setattr(Database, "_migrate", late)
    with Collection.open(place) as collection:
        check(collection, expected)


def test_other_columns_are_refused(older):
    place, _ = older
    with connected(place) as connection:
        connection.execute("ALTER TABLE albums ADD COLUMN other TEXT")
    with pytest.raises(DamagedFile, match=r"albums .* Restore a backup"):
        Collection.open(place)
    assert version(place) == OLDEST


def test_a_log_that_lost_its_end_still_says_so(older, caplog):
    place, _ = older
    with connected(place) as connection:
        connection.execute("DELETE FROM events WHERE number = 23")
    with Collection.open(place) as collection:
        assert "event 23 of the log is another than the one acknowledged" in caplog.text
        with pytest.raises(DamagedFile, match="nothing more is recorded"):
            collection.label(1, "word")
        assert collection.search(1)


def test_read_only_it_is_refused(older):
    place, _ = older
    with pytest.raises(CollectionError, match="Open it once where you may write"):
        Collection.open(place, read_only=True)
    assert version(place) == OLDEST


@pytest.mark.parametrize(
    ("number", "error", "remedy"),
    [
        (0, DamagedFile, "not the database of a collection"),
        (OLDEST - 1, CollectionError, r"Open it once with lookalike 0\.1\.0, or index again"),
        (VERSION + 1, DamagedFile, "Update lookalike"),
    ],
)
def test_other_versions_are_refused_and_left_alone(older, number, error, remedy):
    place, _ = older
    with connected(place) as connection:
        connection.execute(f"PRAGMA user_version = {number}")
    before = hashlib.sha256((place / "collection.sqlite").read_bytes()).digest()
    with pytest.raises(error, match=remedy):
        Collection.open(place)
    assert hashlib.sha256((place / "collection.sqlite").read_bytes()).digest() == before


def test_a_newer_folder_is_refused(older):
    place, _ = older
    (place / "manifest.json").write_text(json.dumps({"format": 3}))
    with pytest.raises(DamagedFile, match="Update lookalike"):
        Collection.open(place)
    assert version(place) == OLDEST


def test_a_backup_of_it_can_be_restored(older, tmp_path):
    place, expected = older
    backup = tmp_path / "backup"
    shutil.copytree(place, backup, ignore=shutil.ignore_patterns("lock", "log-end*"))
    files = {
        file.relative_to(backup).as_posix(): {
            "bytes": file.stat().st_size,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        }
        for file in backup.rglob("*")
        if file.is_file()
    }
    content = {"format": 1, "made": "", "uploads": b"/elsewhere/uploads".hex(), "files": files}
    (backup / "backup.json").write_text(json.dumps(content))
    restore_backup(backup, tmp_path / "restored")
    with Collection.open(tmp_path / "restored") as collection:
        check(collection, expected)

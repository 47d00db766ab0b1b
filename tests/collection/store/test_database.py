"""Databases of an older version load, and become ones of this version whole."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from threading import Event, Thread

import pytest

from lookalike.collection import Collection, InUse
from lookalike.collection.store.database import Database
from lookalike.collection.store.schema import UPDATES, VERSION, create_records
from lookalike.core.errors import CollectionError, DamagedFile
from tests.collection.colours import Colours
from tests.gates import OPEN

VERSION_1 = """
PRAGMA page_size = 8192;
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
PRAGMA application_id = 1819242347;
PRAGMA user_version = 1;
CREATE TABLE pictures (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sha256 TEXT NOT NULL UNIQUE,
    format TEXT NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    taken TEXT,
    added TEXT NOT NULL
);
CREATE TABLE places (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL
);
CREATE INDEX places_of_picture ON places (picture);
CREATE TABLE vectors (
    picture INTEGER PRIMARY KEY REFERENCES pictures ON DELETE CASCADE,
    raw BLOB NOT NULL
);
CREATE TABLE thumbnails (
    picture INTEGER PRIMARY KEY REFERENCES pictures ON DELETE CASCADE,
    jpeg BLOB NOT NULL
);
CREATE TABLE labels (
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    label TEXT NOT NULL,
    PRIMARY KEY (picture, label)
) WITHOUT ROWID;
CREATE TABLE clicks (
    query TEXT NOT NULL,
    picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
    weight REAL NOT NULL,
    PRIMARY KEY (query, picture)
) WITHOUT ROWID;
CREATE INDEX clicks_of_picture ON clicks (picture);
CREATE TABLE refused (path TEXT PRIMARY KEY, reason TEXT NOT NULL, noted TEXT NOT NULL);
CREATE TABLE roots (path TEXT PRIMARY KEY);
CREATE TABLE models (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    file TEXT,
    previous INTEGER,
    published INTEGER NOT NULL,
    source TEXT NOT NULL,
    threshold REAL NOT NULL,
    settings TEXT NOT NULL,
    figures TEXT NOT NULL,
    held_back BLOB NOT NULL,
    learned_from BLOB NOT NULL,
    made TEXT NOT NULL
);
CREATE TABLE state (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
COMMIT;
"""
"""The tables as version 1 made them."""

SETTINGS = {"steps": 300, "blend": 0.5}

FEATURE = {"name": "colours", "fingerprint": Colours().fingerprint}
"""What the manifest of version 1 says."""


@pytest.fixture
def old(collection):
    """The folder of a collection of version 1 that learned twice, with what a search finds."""
    names = {row.id: row.places[0].parent.name for row in collection.pictures()}
    clicks = {}
    for number, name in names.items():
        clicks.setdefault(name, {})[str(collection.picture(number).places[0])] = 1.0
    for _ in range(2):
        assert collection.learn(clicks=clicks, settings=SETTINGS).similarity.published
    found = collection.search(1, 9)
    collection.close()
    file = collection.path / "collection.sqlite"
    now = file.with_name("now.sqlite")
    file.rename(now)
    (collection.path / "log-end").unlink()
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.executescript(VERSION_1)
        connection.execute("ATTACH ? AS now", (str(now),))
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        for (table,) in tables.fetchall():
            if table != "sqlite_sequence":
                columns = connection.execute(f"PRAGMA main.table_info({table})").fetchall()
                names = ", ".join(column[1] for column in columns)
                source = "records_1" if table == "vectors" else table
                taken = names.replace("raw", "record")
                connection.execute(f"INSERT INTO {table} SELECT {taken} FROM now.{source}")
        # What was in use, and the only feature, as version 1 kept them.
        connection.execute("INSERT INTO state SELECT 'model', similarity FROM now.rankers")
    now.unlink()
    (collection.path / "features" / "1.safetensors").rename(collection.path / "feature.safetensors")
    manifest = {"format": 1, "feature": FEATURE}
    (collection.path / "manifest.json").write_text(json.dumps(manifest))
    return collection.path, found


def version(folder):
    with closing(sqlite3.connect(folder / "collection.sqlite")) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def test_a_database_of_version_1_loads(old):
    folder, found = old
    assert version(folder) == 1
    with Collection.open(folder, features=[Colours()], gate=OPEN) as collection:
        assert collection.search(1, 9) == found
        kinds = [(model.number, model.kind, model.current) for model in collection.models()]
        assert kinds == [(1, "similarity", False), (2, "similarity", True)]
        runs = collection._opened.database.rows("SELECT number, run FROM models")
        assert runs == [(1, 1), (2, 2)]
        assert collection.evaluate()[1].queries
        assert collection.rollback() == InUse(1, None)
        with pytest.raises(CollectionError, match="lookalike learn --labels"):
            collection.tag([])
        learned = collection.learn(folders=True, settings=SETTINGS)
        assert learned.words.model == 4
    assert version(folder) == VERSION
    with Collection.open(folder, features=[Colours()]) as again:
        assert again.rollback() == InUse(1, None, learned.labels.number)


def test_its_tables_become_those_of_a_new_one(old, tmp_path):
    folder, _ = old
    Database(folder / "collection.sqlite", FEATURE).close()
    Database.create(tmp_path / "new.sqlite")
    with closing(sqlite3.connect(tmp_path / "new.sqlite")) as connection:
        connection.execute(create_records(1))
    told = []
    for file in (folder / "collection.sqlite", tmp_path / "new.sqlite"):
        with closing(sqlite3.connect(file)) as connection:
            tables = connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
            ).fetchall()
            columns = "SELECT * FROM pragma_table_info(?)"
            told.append({name: connection.execute(columns, name).fetchall() for name in tables})
    assert told[0] == told[1]
    assert ("models",) in told[0]


KILLED = """
import json, os, signal, sqlite3, sys
from pathlib import Path
from lookalike.collection.store.database import Database

connect, after = sqlite3.connect, sys.argv[2] == "after"

class Dying(sqlite3.Connection):
    def execute(self, sql, *values):
        if sql == "COMMIT":
            if after:
                super().execute(sql, *values)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(sql, *values)

sqlite3.connect = lambda *given, **named: connect(*given, factory=Dying, **named)
Database(Path(sys.argv[1]), json.loads(sys.argv[3]))
"""


@pytest.mark.parametrize(("moment", "left"), [("before", 1), ("after", VERSION)])
def test_killed_while_it_is_brought_up(old, moment, left):
    folder, found = old
    arguments = [sys.executable, "-c", KILLED, str(folder / "collection.sqlite"), moment]
    arguments.append(json.dumps(FEATURE))
    assert subprocess.run(arguments, check=False).returncode == -signal.SIGKILL
    assert version(folder) == left
    with Collection.open(folder, features=[Colours()]) as collection:
        assert collection.search(1, 9) == found
    assert version(folder) == VERSION


def test_a_step_that_fails_leaves_the_version_before(old, monkeypatch):
    folder, found = old

    def broken(connection, feature):
        connection.execute("ALTER TABLE models ADD COLUMN kind TEXT")
        connection.execute("UPDATE nowhere SET x = 1")

    with monkeypatch.context() as patch:
        patch.setitem(UPDATES, 1, broken)
        with pytest.raises(CollectionError, match="no such table"):
            Collection.open(folder, features=[Colours()])
    assert version(folder) == 1
    with Collection.open(folder, features=[Colours()]) as collection:
        assert collection.search(1, 9) == found


def test_another_process_may_have_brought_it_up(old, monkeypatch):
    folder, found = old
    update = Database._update

    def late(self, feature):
        with monkeypatch.context() as patch:
            patch.setattr(Database, "_update", update)
            Database(folder / "collection.sqlite", FEATURE).close()
        update(self, feature)

    monkeypatch.setattr(Database, "_update", late)
    with Collection.open(folder, features=[Colours()]) as collection:
        assert collection.search(1, 9) == found


def test_a_database_without_a_version_is_foreign(old):
    folder, _ = old
    with closing(sqlite3.connect(folder / "collection.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 0")
    with pytest.raises(DamagedFile, match="not the database of a collection"):
        Collection.open(folder, features=[Colours()])


def test_what_was_deleted_is_emptied_while_another_thread_writes(collection):
    database = collection._opened.database
    writing, waits = Event(), Event()
    read = []

    def write():
        with database.transaction():
            writing.set()
            waits.wait(10)
            time.sleep(0.2)  # until the other waits for us, as far as one can tell
            read.append(database.rows("SELECT 1"))

    writer = Thread(target=write)
    writer.start()
    assert writing.wait(10)
    emptier = Thread(target=database.forget)
    emptier.start()
    waits.set()
    writer.join(10)
    stuck = not read
    emptier.join(60)
    assert not stuck
    assert (collection.path / "collection.sqlite-wal").stat().st_size == 0

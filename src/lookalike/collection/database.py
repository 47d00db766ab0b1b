"""The SQLite file: what a collection holds is what is committed there."""

import json
import logging
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from lookalike.core.errors import CollectionError, DamagedFile, InvalidInput

VERSION = 3
APPLICATION = 0x6C6F6F6B

_FINGERPRINT = re.compile("[0-9a-f]{32}")

_log = logging.getLogger(__name__)

_EVENTS = (
    # What people said, in order; rows are only ever added. "about" is what to find them by: the
    # query voted on, the picture and word named, the event undone.
    """
    CREATE TABLE events (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        who TEXT NOT NULL,
        key TEXT UNIQUE,
        about TEXT,
        body TEXT NOT NULL,
        digest BLOB NOT NULL
    )
    """,
    "CREATE INDEX events_about ON events (about, number) WHERE about IS NOT NULL",
    # What was learned from the votes up to an event, so that not all have to be read again.
    "CREATE TABLE snapshots (event INTEGER PRIMARY KEY, state BLOB NOT NULL)",
    # Words that a picture was said not to show.
    """
    CREATE TABLE refusals (
        picture INTEGER NOT NULL REFERENCES pictures ON DELETE CASCADE,
        word TEXT NOT NULL,
        PRIMARY KEY (picture, word)
    ) WITHOUT ROWID
    """,
    # Files whose pictures were removed, by a digest of path, size and time: a rescan leaves them
    # out while they are as they were, and nothing of them can be read here.
    "CREATE TABLE left_out (digest BLOB PRIMARY KEY) WITHOUT ROWID",
    # Pictures and regions that are searched with; a region goes with its picture.
    """
    CREATE TABLE queries (
        token TEXT PRIMARY KEY,
        raw BLOB NOT NULL,
        jpeg BLOB NOT NULL,
        asked INTEGER NOT NULL,
        picture INTEGER REFERENCES pictures ON DELETE CASCADE
    )
    """,
    "CREATE INDEX queries_of_picture ON queries (picture) WHERE picture IS NOT NULL",
    # With all that pictures are filtered by, so that a page far down is found in it alone.
    "CREATE INDEX pictures_by_date ON pictures (taken, id, format, width, height, bytes)",
    "CREATE INDEX labels_by_name ON labels (label)",
    # A number that changes whenever pictures come or go, so that a vote is told from an import.
    "INSERT OR IGNORE INTO state VALUES ('changes', 0)",
    """
    CREATE TRIGGER picture_came AFTER INSERT ON pictures
    BEGIN UPDATE state SET value = value + 1 WHERE key = 'changes'; END
    """,
    """
    CREATE TRIGGER picture_went AFTER DELETE ON pictures
    BEGIN UPDATE state SET value = value + 1 WHERE key = 'changes'; END
    """,
)

# Three float16 vectors of 1,280 fit into a page of 8 kB; of 4 kB, one.
_SCHEMA = f"""
PRAGMA page_size = 8192;
PRAGMA journal_mode = WAL;
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
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
    made TEXT NOT NULL,
    kind TEXT NOT NULL DEFAULT 'similarity',
    run INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE state (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
{";".join(_EVENTS)};
COMMIT;
"""

_UPDATES = {
    # What was learned is a similarity, or tags since; models of one run share their run.
    1: (
        "ALTER TABLE models ADD COLUMN kind TEXT NOT NULL DEFAULT 'similarity'",
        "ALTER TABLE models ADD COLUMN run INTEGER NOT NULL DEFAULT 0",
        "UPDATE models SET run = number",
    ),
    2: _EVENTS,
}
"""What makes the tables of a version those of the next."""


def stored(path: str | Path) -> bytes:
    """Return a path as the database keeps it: absolute, in the file system's own bytes.

    Bind it as ``CAST(? AS TEXT)``: names that are not UTF-8 come back as they were.
    """
    return os.path.abspath(path).encode("utf-8", "surrogateescape")  # noqa: PTH100


def numbers(ids: Iterable[int]) -> str:
    """Return ids for ``IN (SELECT value FROM json_each(?))``."""
    return json.dumps([int(number) for number in ids])


class Database:
    """A connection that reads, shared by threads, and a fresh one for each work of writing.

    So readers, in this process and in others, see what was committed and nothing else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = RLock()
        with _told(path):
            self._reader = _connect(path)
        try:
            self._check()
        except BaseException:
            self._reader.close()
            raise

    @classmethod
    def create(cls, path: Path) -> None:
        """Make an empty database where there is none."""
        with _told(path):
            connection = sqlite3.connect(path, isolation_level=None)
            try:
                connection.executescript(_SCHEMA)
            finally:
                connection.close()

    def close(self) -> None:
        """Close the connection that reads."""
        with self._lock:
            self._reader.close()

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Read rows, all of them."""
        with self._lock, _told(self._path):
            try:
                return self._reader.execute(sql, values).fetchall()
            except OverflowError as error:
                raise InvalidInput("Collection: a number is larger than any there is.") from error

    def row(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        """Read one row, or None."""
        found = self.rows(sql, *values)
        return found[0] if found else None

    def state(self) -> dict[str, Any]:
        """Read what is current: the model and the reduction."""
        found = dict(self.rows("SELECT key, value FROM state"))
        with self.parsing("what is current"):
            for key, value in found.items():
                if key == "reduction":
                    if not _FINGERPRINT.fullmatch(value):
                        raise ValueError(f"{key} is {value!r:.80}")
                elif not isinstance(value, int):
                    raise ValueError(f"{key} is {value!r:.80}")
        return found

    @contextmanager
    def parsing(self, what: str) -> Iterator[None]:
        """Say of a value that cannot be made out that the database is damaged."""
        try:
            yield
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise DamagedFile(
                f"{self._path} is damaged: {what} cannot be made out: {error}. Put back a copy of "
                f"the collection, or index again."
            ) from error

    def version(self) -> int:
        """Return a number that changes when anyone commits."""
        return int(self.rows("PRAGMA data_version")[0][0])

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all reading inside see one moment."""
        with self._lock:
            self.rows("BEGIN")
            try:
                yield
            finally:
                self.rows("COMMIT")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Return a connection whose changes are committed together at the end, or not at all."""
        with _told(self._path):
            connection = _connect(self._path)
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()

    def forget(self) -> None:
        """Empty the log, which still holds what was deleted."""
        # A connection of its own: a writer may need the shared one before it lets us go on.
        with _told(self._path), closing(_connect(self._path)) as connection:
            (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            _log.warning("%s: the log was not emptied, since another process reads", self._path)

    def _check(self) -> None:
        application = self.rows("PRAGMA application_id")[0][0]
        version = self.rows("PRAGMA user_version")[0][0]
        if application != APPLICATION or version < 1:
            raise DamagedFile(f"{self._path} is not the database of a collection.")
        if version > VERSION:
            raise DamagedFile(
                f"{self._path} has the version {version}; this lookalike reads up to {VERSION}. "
                f"Update lookalike."
            )
        if version < VERSION:
            self._update()

    def _update(self) -> None:
        """Bring the tables to this version, all or nothing."""
        with self.transaction() as connection:
            # Another process may have done it while we waited.
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            for older in range(version, VERSION):
                for change in _UPDATES[older]:
                    connection.execute(change)
                connection.execute(f"PRAGMA user_version = {older + 1}")


def _connect(path: Path) -> sqlite3.Connection:
    where = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(
        where, uri=True, timeout=30, isolation_level=None, check_same_thread=False
    )
    try:
        connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say in our words what SQLite objects to."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise CollectionError(
            f"{path} cannot be used: {error}. What was finished before is kept; see that the "
            f"disk has room and the folder may be written to, then do it again."
        ) from error
    except sqlite3.ProgrammingError as error:
        if "closed" not in str(error):
            raise
        raise CollectionError(f"The collection of {path} was closed. Open it again.") from error
    except sqlite3.DatabaseError as error:
        raise DamagedFile(
            f"{path} is damaged: {error}. Put back a copy of the collection, or index again."
        ) from error

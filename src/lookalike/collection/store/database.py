"""The SQLite file: what a collection holds is what is committed there."""

import json
import logging
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import Any

from lookalike.collection.store import sums
from lookalike.collection.store.log_end import LogEnd, end_of
from lookalike.collection.store.schema import APPLICATION, OLDEST, SCHEMA, VERSION
from lookalike.core.earth import kilometres
from lookalike.core.errors import CollectionError, DamagedFile, InvalidInput

_log = logging.getLogger(__name__)

WRITING_KIB = 65_536
"""What a transaction may keep in memory before it writes: labels of many pictures go far apart."""


def stored(path: str | Path) -> bytes:
    """Return a path as the database keeps it: absolute, in the file system's own bytes.

    Bind it as ``CAST(? AS TEXT)``: names that are not UTF-8 come back as they were.
    """
    return os.path.abspath(path).encode("utf-8", "surrogateescape")  # noqa: PTH100


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_since(at: str) -> float:
    """Return the seconds since a time that :func:`now` returned."""
    return (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds()


def numbers(ids: Iterable[int]) -> str:
    """Return ids for ``IN (SELECT value FROM json_each(?))``."""
    return json.dumps([int(number) for number in ids])


class Database:
    """A connection that reads, shared by threads, and one for each transaction.

    So readers, in this process and in others, see what was committed and nothing else. A connection
    whose transaction was committed is kept for the next one: to open one takes longer than a vote
    takes to write.

    Parameters
    ----------
    path : Path
        The file; one of an older version is brought to this one when it is first opened.
    read_only : bool
        Whether nothing is written, not even beside the database.

    Attributes
    ----------
    lock : RLock
        Held by a thread that writes.
    passing : dict from token to thumbnail and records by ranker
        What is searched with while the database is read-only.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self.read_only = read_only
        self.lock, self._lock = RLock(), RLock()
        self._end = LogEnd(path.with_name("log-end"))
        self._damaged = path.with_name("damaged-log")
        self._idle: sqlite3.Connection | None = None
        self._is_closed = False
        self.passing: dict[str, tuple[bytes, Mapping[int, bytes]]] = {}
        with _explained(path):
            self._reader = self._connection()
            self._file = _identity(path)
        try:
            self._check_version()
            self._look_at_end()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: Path) -> None:
        """Make an empty database where there is none."""
        with _explained(path):
            connection = sqlite3.connect(path, isolation_level=None)
            try:
                connection.executescript(SCHEMA)
            finally:
                connection.close()

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            self._is_closed = True
            self._reader.close()
            if self._idle is not None:
                self._idle.close()
                self._idle = None

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Read rows, all of them."""
        with self._lock, _explained(self._path):
            try:
                return self._reader.execute(sql, values).fetchall()
            except OverflowError as error:
                raise InvalidInput("Collection: id or offset too large.") from error
            except UnicodeEncodeError as error:
                raise InvalidInput(
                    f"Collection: text must be whole characters; got half of one in "
                    f"{error.object!r:.80}."
                ) from error

    def row(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        """Read one row, or None."""
        rows = self.rows(sql, *values)
        return rows[0] if rows else None

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        return int(self.rows(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608

    def changes(self) -> int:
        """Return a number that changes whenever pictures or their records come or go."""
        row = self.row("SELECT value FROM state WHERE key = 'changes'")
        with self.parsing("the count of changes"):
            return 0 if row is None else int(row[0])

    @contextmanager
    def parsing(self, what: str) -> Iterator[None]:
        """Raise DamagedFile for a value inside that cannot be read."""
        try:
            yield
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise DamagedFile(
                f"{self._path} is damaged: {what} cannot be read: {error}. Restore a backup of "
                f"the collection, or index again."
            ) from error

    def version(self) -> int:
        """Return a number that changes when anyone commits."""
        self.check_place()
        return int(self.rows("PRAGMA data_version")[0][0])

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Make everything read inside come from one moment."""
        with self._lock:
            self.rows("BEGIN")
            try:
                yield
            finally:
                self.rows("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Return a connection of its own, for reading much without keeping others waiting."""
        with _explained(self._path), closing(self._connection()) as connection:
            self.check_place()
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Return a connection whose changes are committed together at the end, or not at all."""
        self.check_writable()
        with self._transaction() as connection:
            self._end.check(lambda sql, *values: connection.execute(sql, values).fetchall())
            yield connection
            end = end_of(connection)
        self._end.write(end)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with _explained(self._path):
            connection = self._writer()
            try:
                connection.execute(f"PRAGMA cache_size = -{WRITING_KIB}")
                connection.execute("BEGIN IMMEDIATE")
                self.check_place()
                yield connection
                connection.execute("COMMIT")
                connection.execute("PRAGMA shrink_memory")
            except BaseException:
                connection.close()
                raise
            self._keep(connection)

    def _writer(self) -> sqlite3.Connection:
        """Return a connection that nobody else uses."""
        with self._lock:
            kept, self._idle = self._idle, None
        return _connect(self._path) if kept is None else kept

    def _keep(self, connection: sqlite3.Connection) -> None:
        """Keep a connection for the next transaction, unless there is one or all was closed."""
        with self._lock:
            if self._idle is None and not self._is_closed:
                self._idle = connection
            else:
                connection.close()

    def check_writable(self) -> None:
        """Raise CollectionError if the collection was opened read-only."""
        if self.read_only:
            raise CollectionError(
                f"{self._path.parent} is read-only: nothing can be changed. Open it where you may "
                f"write, or without --read-only."
            )

    def _connection(self) -> sqlite3.Connection:
        """Return a connection that reads."""
        if not self.read_only:
            return _connect(self._path)
        try:
            connection = _connect(self._path, "mode=ro")
            connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        except sqlite3.OperationalError as error:
            # SQLite cannot keep its own files beside; nobody else can write here, either.
            log = self._path.with_name(f"{self._path.name}-wal")
            if log.exists() and log.stat().st_size:
                raise CollectionError(
                    f"{self._path.parent} cannot be opened read-only: it was not closed, and what "
                    f"was written last is still in {log.name}. Open it once where you may write."
                ) from error
            return _connect(self._path, "immutable=1")
        return connection

    def check_place(self) -> None:
        """Raise CollectionError if another database lies at the path of the open one by now."""
        try:
            same = _identity(self._path) == self._file
        except OSError:
            same = False
        if not same:
            raise CollectionError(
                f"{self._path.parent} is not the collection that was opened: its folder was "
                f"replaced, moved or deleted meanwhile. Nothing was written. Open it again, or "
                f"restart the server."
            )

    def check_end(self) -> None:
        """Raise DamagedFile if the log does not reach where it once ended."""
        self._end.check(self.rows)

    def damaged_ends(self) -> list[Path]:
        """Return the files with the end of the log that cannot be read."""
        return self._end.damaged()

    def forget(self) -> None:
        """Empty the log, which still holds what was deleted."""
        # A connection of its own: a writer may need the shared one before it lets us go on.
        with _explained(self._path), closing(_connect(self._path)) as connection:
            (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        try:
            self._damaged.unlink(missing_ok=True)
        except OSError as error:
            raise CollectionError(
                f"Cannot delete {self._damaged}, which may hold what was erased: "
                f"{error.strerror or error}. All else is erased; delete it by hand."
            ) from error
        if busy:
            _log.warning("%s: the log was not emptied, since another process reads", self._path)

    def _look_at_end(self) -> None:
        """Warn if the last events are gone; from now on, notice it where nobody did.

        And if rows of the bin are damaged: their pictures would be back without a word.
        """
        if self.rows(
            "SELECT 1 FROM bin WHERE picture NOT IN (SELECT id FROM all_pictures) LIMIT 1"
        ):
            _log.warning(
                "%s is damaged: the bin names pictures that are not there. “lookalike check” says "
                "what to do",
                self._path,
            )
        try:
            self.check_end()
        except DamagedFile as error:
            _log.warning("%s%s", error, "" if self.read_only else self._set_aside())
            return
        if not self.read_only:
            with self._lock:
                self._end.complete(lambda: end_of(self._reader))

    def _set_aside(self) -> str:
        """Keep a copy of a damaged write-ahead log, which SQLite deletes; return where it is."""
        log = self._path.with_name(f"{self._path.name}-wal")
        try:
            if log.stat().st_size and not self._damaged.exists():
                shutil.copyfile(log, self._damaged)
        except OSError:
            return ""
        return f" What is left of the write-ahead log is kept in {self._damaged}."

    def _check_version(self) -> None:
        """Raise an error if the file cannot be read; bring one of an older version to this one."""
        application = self.rows("PRAGMA application_id")[0][0]
        version = self.rows("PRAGMA user_version")[0][0]
        if application != APPLICATION or version < 1:
            raise DamagedFile(f"{self._path} is not the database of a collection.")
        if version > VERSION:
            raise DamagedFile(
                f"{self._path} has the version {version}; this lookalike reads up to {VERSION}. "
                f"Update lookalike."
            )
        if version < OLDEST:
            raise CollectionError(
                f"{self._path} has the version {version}; this lookalike reads from {OLDEST} on. "
                f"Open it once with lookalike 0.1.0, or index again. Nothing was changed."
            )
        if version < VERSION and self.read_only:
            raise CollectionError(
                f"{self._path} has the version {version}, and is read-only. Open it once where you "
                f"may write, so that it is brought to version {VERSION}."
            )
        if version < VERSION:
            self._migrate()

    def _migrate(self) -> None:
        """Bring the tables to this version, all or nothing."""
        from lookalike.collection.store.migrations import migrate

        with _explained(self._path), closing(_connect(self._path)) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.execute(f"PRAGMA cache_size = -{WRITING_KIB}")
            connection.execute("BEGIN IMMEDIATE")
            self.check_place()
            is_whole = True
            try:
                self._end.check(lambda sql, *values: connection.execute(sql, values).fetchall())
            except DamagedFile:
                is_whole = False
            # Another process may have done it while this one waited; then nothing is left to do.
            migrate(connection)
            if is_whole:
                # It names a digest that may be another now; one that told of a loss still does.
                self._end.delete()
            connection.execute("COMMIT")


def _connect(path: Path, mode: str = "mode=rw") -> sqlite3.Connection:
    where = f"{path.absolute().as_uri()}?{mode}"
    connection = sqlite3.connect(
        where, uri=True, timeout=30, isolation_level=None, check_same_thread=False
    )
    try:
        connection.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        sums.register(connection)
        connection.create_function("kilometres", 4, kilometres, deterministic=True)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _identity(path: Path) -> tuple[int, int]:
    """Return what tells a file from every other while it is open."""
    facts = path.stat()
    return facts.st_dev, facts.st_ino


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Raise what SQLite objects to as an error of ours, with a remedy."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise CollectionError(
            f"{path} cannot be used: {error}. Finished work is kept; check disk space and "
            f"permissions, then try again."
        ) from error
    except sqlite3.ProgrammingError as error:
        if "closed" not in str(error):
            raise
        raise CollectionError(f"The collection of {path} was closed. Open it again.") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        # What SQLite says of damage may quote it, and then not be text.
        what = "it is not a sound database" if isinstance(error, UnicodeDecodeError) else error
        raise DamagedFile(
            f"{path} is damaged: {what}. Restore a backup of the collection, or index again."
        ) from error

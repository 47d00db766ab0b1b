"""Where the log ends, kept twice beside the database.

SQLite drops what follows a damaged place of its write-ahead log without a word, so the last events
would be gone as if nobody had said them. Two files beside the database have the number and digest
of the last event, and the count of comings and goings of pictures. They are written after a commit,
which is on disk by then: they may lag behind the database, after a kill or a power cut, and are
never ahead of it. So they need not be flushed, and cost a vote some microseconds. One that is
damaged is written again with the next event.
"""

import os
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from lookalike.core.arrays import write_whole
from lookalike.core.errors import CollectionError, DamagedFile

_LENGTH = 96


@dataclass(frozen=True, slots=True)
class End:
    """The last event by number and digest, and how often pictures came or went."""

    event: int
    digest: str
    changes: int

    def written(self) -> bytes:
        """Return the content of the file: one line, with a checksum."""
        text = f"{self.event} {self.digest or '-'} {self.changes}"
        return f"{text} {zlib.crc32(text.encode()):08x}".ljust(_LENGTH - 1).encode() + b"\n"

    @classmethod
    def read(cls, content: bytes) -> "End | None":
        """Return what :meth:`written` wrote; None for anything else."""
        try:
            text, check = content.decode("ascii").strip().rsplit(" ", 1)
            event, digest, changes = text.split(" ")
            if int(check, 16) == zlib.crc32(text.encode()):
                return cls(int(event), "" if digest == "-" else digest, int(changes))
        except ValueError:
            pass
        return None


def end_of(connection: Connection) -> End:
    """Return where the log of a database ends."""
    last = connection.execute(
        "SELECT number, digest FROM events ORDER BY number DESC LIMIT 1"
    ).fetchone()
    row = connection.execute("SELECT value FROM state WHERE key = 'changes'").fetchone()
    number, digest = (0, b"") if last is None else last
    return End(int(number), bytes(digest).hex(), 0 if row is None else int(row[0]))


class LogEnd:
    """Two files with the end of the log: where one is damaged, the other still says it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = (path, path.with_name(f"{path.name}.copy"))

    def read(self) -> End | None:
        """Return what the files say, the later of the two, or None if neither says anything."""
        ends = [end for file in self._files if (end := _read(file)) is not None]
        return max(ends, key=lambda end: (end.event, end.changes), default=None)

    def damaged(self) -> list[Path]:
        """Return the files that are there and say nothing."""
        return [file for file in self._files if file.exists() and _read(file) is None]

    def write(self, end: End) -> None:
        """Write where the log ends now; without the files, only its end is not watched."""
        for file in self._files:
            with suppress(OSError):
                _write(file, end.written())

    def complete(self, end: Callable[[], End]) -> None:
        """Make a file that is missing from the other, or from where the log ends."""
        if not all(file.exists() for file in self._files) and not self.damaged():
            self.write(self.read() or end())

    def delete(self) -> None:
        """Delete the files for good, so that they are not back after a power cut."""
        try:
            for file in self._files:
                file.unlink(missing_ok=True)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise CollectionError(f"cannot delete {self.path}: {error}. Try again.") from error

    def check(self, rows: Callable[..., Any]) -> None:
        """Raise DamagedFile if the log does not reach where it once ended.

        ``rows`` reads from the database; the files are read first, so that what is committed
        meanwhile does no harm.
        """
        end = self.read()
        if end is None:
            if damaged := self.damaged():
                raise DamagedFile(
                    f"{self._named(damaged)} cannot be read: whether the last events are still "
                    f"there cannot be told. Searches go on; nothing more is recorded. Look at "
                    f"the last events (lookalike history). If none is missing, delete "
                    f"{self._named(damaged)}; else restore a backup (lookalike restore BACKUP)."
                )
            return
        last = rows("SELECT ifnull(max(number), 0) FROM events")[0][0]
        result = rows("SELECT lower(hex(digest)) FROM events WHERE number = ?", end.event)
        changes = rows("SELECT value FROM state WHERE key = 'changes'")
        if last < end.event:
            what = f"the log ends at event {last}, but event {end.event} was acknowledged"
        elif end.event and (not result or result[0][0] != end.digest):
            what = f"event {end.event} of the log is another than the one acknowledged"
        elif changes and int(changes[0][0]) < end.changes:
            what = "pictures that were added or removed last are not"
        else:
            return
        raise DamagedFile(
            f"{self.path.parent} has lost what was written last: {what}. The write-ahead log of "
            f"the database was damaged or deleted, or an older database put in its place. "
            f"Searches go on; nothing more is recorded. Restore a backup (lookalike restore "
            f"BACKUP), or, to go on without what is lost, delete {self._named(self._files)}."
        )

    def _named(self, files: Iterable[Path]) -> str:
        return " and ".join(map(str, files))


def _read(file: Path) -> End | None:
    try:
        return End.read(file.read_bytes()[:_LENGTH])
    except OSError:
        return None


def _write(file: Path, content: bytes) -> None:
    """Write a file in place, without a flush; one that is not there comes to be whole."""
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        write_whole(file, content)
        return
    try:
        os.pwrite(handle, content, 0)
    finally:
        os.close(handle)

"""Where the log ends, kept a second time beside the database.

SQLite drops what follows a damaged place of its write-ahead log without a word, so the last events
would be gone as if nobody had said them. A file beside the database has the number and digest of
the last event, and the count of comings and goings of pictures. It is written after a commit, which
is on disk by then: it may lag behind the database, after a kill or a power cut, and is never ahead
of it. So it need not be flushed, and costs a vote some microseconds.
"""

import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Connection
from typing import Any

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
    """The file with the end of the log; one that is missing or damaged says nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> End | None:
        """Return what the file says, or None."""
        try:
            return End.read(self.path.read_bytes()[:_LENGTH])
        except OSError:
            return None

    def write(self, end: End) -> None:
        """Write where the log ends now; without the file, only its end is not watched."""
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
            try:
                os.pwrite(handle, end.written(), 0)
            finally:
                os.close(handle)
        except OSError:
            return

    def delete(self) -> None:
        """Delete the file for good, so that it is not back after a power cut."""
        try:
            self.path.unlink(missing_ok=True)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise CollectionError(f"cannot delete {self.path}: {error}. Try again.") from error

    def check(self, rows: Callable[..., Any]) -> None:
        """Raise DamagedFile if the log does not reach where it once ended.

        ``rows`` reads from the database; the file is read first, so that what is committed
        meanwhile does no harm.
        """
        end = self.read()
        if end is None:
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
            f"BACKUP), or, to go on without what is lost, delete {self.path}."
        )

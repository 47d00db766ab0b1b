"""Uploaded files: the collection's own, which go with their pictures, even after a kill."""

import logging
import os
import time
from collections.abc import Iterable
from pathlib import Path
from sqlite3 import Connection

from lookalike.collection.store.database import Database, numbers, stored
from lookalike.collection.store.folder import Folder

LEFT_SECONDS = 3600
"""How old a file that no picture has must be to count as left over, not as about to be added."""

_log = logging.getLogger(__name__)


def of_pictures(folder: Folder, connection: Connection, ids: Iterable[int]) -> list[Path]:
    """Return the uploaded files of pictures."""
    places = connection.execute(
        "SELECT path FROM places WHERE picture IN (SELECT value FROM json_each(?))",
        (numbers(ids),),
    ).fetchall()
    return [Path(path) for (path,) in places if Path(path).parent == folder.uploads]


def note_erased(connection: Connection, files: Iterable[Path]) -> None:
    """Note files that are to be deleted once this transaction is committed."""
    connection.executemany(
        "INSERT OR IGNORE INTO leftovers VALUES (CAST(? AS TEXT))",
        [(stored(file),) for file in files],
    )


def sweep(folder: Folder, database: Database) -> int:
    """Delete files of erased pictures, and old ones that no picture has; return how many.

    The lock must be held.
    """
    listed = [Path(path) for (path,) in database.rows("SELECT path FROM leftovers")]
    files = [file for file in listed if file.parent == folder.uploads]
    files += _unknown(folder, database)
    done = 0
    for file in files:
        try:
            file.unlink(missing_ok=True)
            done += 1
        except OSError as error:
            _log.warning("%s was not deleted: %s", file, error)
    if listed:
        with database.transaction() as connection:
            connection.executemany(
                "DELETE FROM leftovers WHERE path = CAST(? AS TEXT)",
                [(stored(file),) for file in listed if not os.path.lexists(file)],
            )
    return done


def _unknown(folder: Folder, database: Database) -> list[Path]:
    """Return old files among the uploads that no picture has."""
    try:
        found = {
            entry.path for entry in os.scandir(folder.uploads) if _is_old(entry.stat().st_mtime)
        }
    except OSError:
        return []
    if not found:
        return []
    start = stored(folder.uploads)
    known = database.rows(
        "SELECT path FROM places WHERE path > CAST(? AS TEXT) AND path < CAST(? AS TEXT)",
        *(start + b"/", start + b"0"),
    )
    return [Path(path) for path in sorted(found - {path for (path,) in known})]


def _is_old(mtime: float) -> bool:
    return mtime < time.time() - LEFT_SECONDS

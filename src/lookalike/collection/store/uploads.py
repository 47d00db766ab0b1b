"""Uploaded files: the collection's own, which go with their pictures, even after a kill."""

import hashlib
import logging
import os
import time
from collections.abc import Iterable
from pathlib import Path
from sqlite3 import Connection
from typing import NamedTuple

from lookalike.collection.store.database import Database, numbers, stored
from lookalike.collection.store.folder import UPLOADS, Folder

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


class Moved(NamedTuple):
    """An uploaded file, and the number and path of the place where its picture's file was."""

    file: Path
    place: int
    picture: int
    before: Path


def moved(folder: Folder, database: Database) -> list[Moved]:
    """Return uploaded files that are elsewhere than noted, as after the collection was moved.

    They are known by their content.
    """
    return [
        Moved(file, number, picture, path)
        for file in strays(folder, database)
        for number, picture, path in _places_of(database, file)
        if path.parent.name == UPLOADS and (path.name == file.name or not path.exists())
    ]


def settle(folder: Folder, database: Database) -> None:
    """Note where uploaded files are after the collection was moved or copied.

    The lock must be held.
    """
    if result := moved(folder, database):
        with database.transaction() as connection:
            connection.executemany(
                "UPDATE places SET path = CAST(?2 AS TEXT), lost = NULL, crc = row_sum(?1, ?2) "
                "WHERE id = ?3",
                [(it.picture, stored(it.file), it.place) for it in result],
            )


def sweep(folder: Folder, database: Database) -> int:
    """Delete files of erased pictures, and old ones that no picture has; return how many.

    A file that is the only one left of a picture is never deleted. The lock must be held.
    """
    listed = [Path(path) for (path,) in database.rows("SELECT path FROM leftovers")]
    files = [file for file in listed if file.parent == folder.uploads]
    files += [file for file in strays(folder, database) if _is_left_over(database, file)]
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


def strays(folder: Folder, database: Database) -> list[Path]:
    """Return the files among the uploads that are the place of no picture."""
    try:
        result = {entry.path for entry in os.scandir(folder.uploads)}
    except OSError:
        return []
    if not result:
        return []
    start = stored(folder.uploads)
    known = database.rows(
        "SELECT path FROM places WHERE path > CAST(? AS TEXT) AND path < CAST(? AS TEXT)",
        *(start + b"/", start + b"0"),
    )
    return [Path(path) for path in sorted(result - {path for (path,) in known})]


def _is_left_over(database: Database, file: Path) -> bool:
    """Return whether a file is old, and not the only one left of a picture."""
    try:
        if file.stat().st_mtime >= time.time() - LEFT_SECONDS:
            return False
    except OSError:
        return False
    places = _places_of(database, file)
    return not places or any(path.exists() for _, _, path in places)


def _places_of(database: Database, file: Path) -> list[tuple[int, int, Path]]:
    """Return the places of the picture whose content a file has, with their numbers and its id."""
    try:
        with file.open("rb") as content:
            sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        return []
    rows = database.rows(
        "SELECT places.id, picture, path FROM places JOIN all_pictures "
        "ON picture = all_pictures.id WHERE sha256 = ?",
        sha256,
    )
    return [(number, picture, Path(path)) for number, picture, path in rows]

"""Erase pictures of the bin, with all that is kept of them."""

import os
from collections.abc import Iterable
from pathlib import Path
from sqlite3 import Connection

from lookalike.collection.opened import Opened
from lookalike.collection.pictures.adding import leave_out
from lookalike.collection.store import binned, events
from lookalike.collection.store.database import numbers

UPLOADS = "uploads"
"""The folder of a collection that holds files of its own."""


def uploads(opened: Opened) -> Path:
    """Return the folder of the files that are the collection's own."""
    # As paths are stored: without "..", which Path.absolute keeps.
    return Path(os.path.abspath(opened.path)) / UPLOADS  # noqa: PTH100


def empty(opened: Opened, ids: Iterable[int] | None, *, who: str) -> int:
    """Erase pictures of the bin, or all in it, and return how many.

    Uploaded files go with them; others are never touched. The log keeps that pictures were erased.
    """
    database, rankers = opened.database, opened.rankers
    with opened.writing():
        with database.transaction() as connection:
            gone = binned.holds(connection, ids)
        if not gone:
            return 0
        spaces = [row.space for row in rankers.rows() if row.space is not None]
        caches = [opened.folder.cache(space) for space in spaces]
        # They hold the vectors, and must not outlive them if we are stopped half way.
        cached = [cache.exists() for cache in caches]
        for cache in caches:
            cache.unlink(missing_ok=True)
        with database.transaction() as connection:
            files = _own_files(opened, connection, gone)
            leave_out(connection, gone)
            body = {"pictures": len(gone), "erased": binned.erase(connection, gone)}
            events.append(connection, "erasure", body, who=who)
        for file in files:
            file.unlink(missing_ok=True)
        database.forget()
        if any(cached):
            for ranker in rankers.usable(learned=False):
                rankers.save_cache(ranker)
    return len(gone)


def _own_files(opened: Opened, connection: Connection, ids: Iterable[int]) -> list[Path]:
    places = connection.execute(
        "SELECT path FROM places WHERE picture IN (SELECT value FROM json_each(?))",
        (numbers(ids),),
    ).fetchall()
    return [Path(path) for (path,) in places if Path(path).parent == uploads(opened)]

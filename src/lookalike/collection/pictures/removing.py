"""Remove pictures, with all that is kept of them."""

from collections.abc import Iterable
from pathlib import Path

from lookalike.collection.opened import Opened
from lookalike.collection.pictures.adding import leave_out
from lookalike.collection.store import events
from lookalike.collection.store.database import numbers


def remove(
    opened: Opened, pictures: Iterable[int | str | Path], *, who: str, key: str | None
) -> int:
    """Remove pictures, all or none, and return how many went."""
    database, rankers = opened.database, opened.rankers
    with opened.writing():
        if database.row("SELECT 1 FROM events WHERE key = ?", key) is not None:
            return 0
        ids = {opened.id_of(picture) for picture in pictures}
        if not ids:
            return 0
        spaces = [row.space for row in rankers.rows() if row.space is not None]
        caches = [opened.folder.cache(space) for space in spaces]
        # They hold the vectors, and must not outlive them if we are stopped half way.
        cached = [cache.exists() for cache in caches]
        for cache in caches:
            cache.unlink(missing_ok=True)
        with database.transaction() as connection:
            leave_out(connection, ids)
            connection.execute(
                "DELETE FROM pictures WHERE id IN (SELECT value FROM json_each(?))",
                (numbers(ids),),
            )
            events.append(connection, "deletion", {"pictures": sorted(ids)}, who=who, key=key)
        database.forget()
        if any(cached):
            for ranker in rankers.usable():
                rankers.save_cache(ranker)
    return len(ids)

"""Erase pictures of the bin, with all that is kept of them."""

from collections.abc import Iterable

from lookalike.collection.log.erasing import erase
from lookalike.collection.ranking.session import Session
from lookalike.collection.store import bin as bin_rows
from lookalike.collection.store import places, uploads
from lookalike.core.errors import CollectionError


def empty(session: Session, ids: Iterable[int] | None, *, who: str) -> int:
    """Erase pictures of the bin, or all in it, and return how many.

    Uploaded files go with them; others are never touched. The log keeps that pictures were erased
    and that something was said of them, not what.
    """
    database, rankers = session.database, session.rankers
    with session.writing():
        with database.transaction() as connection:
            gone = bin_rows.contents(connection, ids)
        if not gone:
            return 0
        spaces = [row.space for row in rankers.rows() if row.space is not None]
        caches = [session.folder.cache(space) for space in spaces]
        # They hold the vectors, and must not outlive them if we are stopped half way.
        cached = [cache.exists() for cache in caches]
        for cache in caches:
            try:
                cache.unlink(missing_ok=True)
            except OSError as error:
                raise CollectionError(
                    f"Cannot delete {cache}: {error.strerror or error}. Nothing was erased. Make "
                    f"the disk writable, then try again."
                ) from error
        with session.entry(who) as entry:
            connection = entry.connection
            uploads.note_erased(connection, uploads.of_pictures(session.folder, connection, gone))
            places.leave_out(connection, gone)
            entry.append(erase(connection, gone))
        uploads.sweep(session.folder, database)
        database.forget()
        if any(cached):
            for ranker in rankers.usable(learned=False):
                rankers.save_cache(ranker)
    return len(gone)

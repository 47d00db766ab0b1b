"""Bring files into the database, a batch of whole pictures at a time."""

import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.erasing import erase
from lookalike.collection.log.removals import Restoration, move
from lookalike.collection.pictures import metadata as kept_metadata
from lookalike.collection.pictures.added import Added
from lookalike.collection.pictures.describing import BATCH_PICTURES, BATCH_SECONDS
from lookalike.collection.pictures.features import fitted
from lookalike.collection.pictures.metadata import BatchMetadata
from lookalike.collection.ranking.session import Session
from lookalike.collection.store import labels, pictures, places, queries, rankers
from lookalike.collection.store.database import Database, stored
from lookalike.collection.training.growing import grow
from lookalike.collection.vectors.queries import query_token
from lookalike.core.errors import MissingPart
from lookalike.core.progress import Progress
from lookalike.features import Described, Feature, Unchanged, describe_files
from lookalike.images import Decode, Limits, Refused, find_pictures
from lookalike.images.metadata import MetadataReader, sidecar_facts
from lookalike.images.thumbnails import THUMBNAIL_SIDE


def add(
    session: Session,
    sources: Iterable[str | Path],
    removed: bool,
    limits: Limits | None,
    threads: int | None,
    progress: Progress,
) -> Added:
    """Bring in the pictures among files, folders and globs, and fit what is due afterwards."""
    given = list(sources) if not isinstance(sources, str | bytes | os.PathLike) else sources
    files = find_pictures(given, None if limits is None else limits.within)
    database = session.database
    with session.writing():
        features = {
            row.id: fitted(session, row, files.paths, limits, progress)
            for row in session.rankers.rows()
        }
        if all(isinstance(feature, str) for feature in features.values()):
            raise MissingPart(str(next(iter(features.values()))))
        with database.transaction() as connection:
            places.add_roots(connection, files.folders)
        adder = Adder(
            database,
            features,
            removed=removed,
            voted=session.voted,
            limits=limits,
            threads=threads,
            progress=progress,
            decode=session.decode,
            metadata=session.decoding.metadata,
        )
        adder.run(files.paths)
        for row in session.rankers.rows():
            feature = features[row.id]
            if row.ready and not isinstance(feature, str) and feature.is_fitted:
                adder.added.note(grow(session, row, feature, progress))
                session.rankers.save_cache(session.rankers.get(row.name, learned=False))
    adder.added.ignored = files.ignored
    adder.added.refused[:0] = files.problems
    return adder.added


class Adder:
    """Bring files in: skip what is unchanged, describe the rest, commit in batches.

    Every commit leaves each picture with its facts, thumbnail, a place, and a record of each
    feature; where a ranker's feature is not there, a note that the record is missing.

    Parameters
    ----------
    database : Database
    features : mapping from ranker to Feature or str
        What describes pictures, by the ids of rankers; or why a ranker's feature cannot be used.
    removed : bool
        Whether files whose pictures were removed come in again.
    voted : callable
        Return the pictures that were voted on.
    limits : Limits or None
    threads : int or None
    progress : callable
    decode, metadata : callable
        What decodes pictures, and what reads the metadata of their files.
    """

    def __init__(
        self,
        database: Database,
        features: Mapping[int, Feature | str],
        *,
        removed: bool,
        voted: Callable[[], set[int]],
        limits: Limits | None,
        threads: int | None,
        progress: Progress,
        decode: Decode,
        metadata: MetadataReader,
    ) -> None:
        self._database = database
        self._decode, self._metadata = decode, metadata
        self._features = {ranker: it for ranker, it in features.items() if not isinstance(it, str)}
        self._missing = {ranker: it for ranker, it in features.items() if isinstance(it, str)}
        self._removed = removed
        self._voted = voted
        self._limits = limits
        self._threads = threads
        self._progress = progress
        self._sizes: dict[Path, tuple[int, int]] = {}
        self._pending: list[Described | Unchanged | Refused] = []
        self._again: list[Path] = []
        self._resaid: list[Path] = []
        self._restored: set[int] = set()
        self._unchanged: set[int] = set()
        self.added = Added()

    def run(self, paths: Sequence[Path]) -> None:
        """Bring in what is new or changed among ``paths``."""
        total = len(paths)
        self._progress(0, total)
        queue = list(self._changed(paths))
        binned = pictures.binned(self._database)
        self.added.known += len(self._unchanged - binned)
        if not self._removed:
            self.added.removed += len(self._unchanged & binned)
        done = total - len(queue) - len(self._resaid)
        try:
            while queue:
                with closing(self._outcomes(queue)) as outcomes:
                    committed = time.monotonic()
                    for outcome in outcomes:
                        self._pending.append(outcome)
                        late = time.monotonic() - committed > BATCH_SECONDS
                        if late or len(self._pending) >= BATCH_PICTURES:
                            self._commit()
                            committed = time.monotonic()
                        done += 1
                        self._progress(min(done, total), total)
                self._commit()
                queue, self._again = self._again, []
            self._read_sidecars(total)
        except KeyboardInterrupt:
            self._commit()
            raise
        finally:
            with self._database.transaction() as connection:
                kept_metadata.record(connection)
        self._progress(total, total)

    def _read_sidecars(self, total: int) -> None:
        """Read the metadata of unchanged files whose sidecars are new, changed or gone."""
        left = len(self._resaid)
        for start in range(0, len(self._resaid), BATCH_PICTURES):
            some = self._resaid[start : start + BATCH_PICTURES]
            metadata = BatchMetadata(some, self._limits, self._metadata)
            with self._database.transaction() as connection:
                for path in some:
                    place = places.place_at(self._database, path)
                    if place is not None:
                        metadata.take(connection, path, place.picture)
                metadata.keep(connection)
            self.added.unread += metadata.problems
            left -= len(some)
            self._progress(total - left, total)

    def _changed(self, paths: Sequence[Path]) -> Iterator[Path]:
        """Leave out files that are in the collection, or were removed, as they are now."""
        left_out = set() if self._removed else places.left_out(self._database)
        back = places.binned_paths(self._database) if self._removed else set[str]()
        for path in paths:
            try:
                facts = path.stat()
                self._sizes[path] = (facts.st_size, facts.st_mtime_ns)
            except (OSError, ValueError):
                self._sizes[path] = (-1, -1)
            place = places.place_at(self._database, path)
            same = place is not None and place.facts == self._sizes[path]
            out = left_out and places.digest(stored(path), *self._sizes[path]) in left_out
            wanted = bool(back) and os.path.abspath(path) in back  # noqa: PTH100
            if place is not None and same:
                self._unchanged.add(place.picture)
            if wanted or not (same or out):
                yield path
            elif place is not None and place.sidecar != sidecar_facts(path):
                self._resaid.append(path)

    def _outcomes(self, paths: list[Path]) -> Generator[Described | Unchanged | Refused]:
        yield from describe_files(
            paths,
            list(self._features.values()),
            limits=self._limits,
            known=self._is_stored,
            thumbnail_side=THUMBNAIL_SIDE,
            threads=self._threads,
            decode=self._decode,
        )

    def _is_stored(self, sha256: str) -> bool:
        return pictures.has_content(self._database, sha256)

    def _commit(self) -> None:
        if not self._pending:
            return
        added, again, left = Added(), list[Path](), list[int]()
        usable = [it.path for it in self._pending if not isinstance(it, Refused)]
        metadata = BatchMetadata(usable, self._limits, self._metadata)
        added.unread += metadata.problems
        with self._database.transaction() as connection:
            for outcome in self._pending:
                if isinstance(outcome, Refused):
                    places.add_refused(connection, outcome)
                    added.refused.append(outcome)
                elif (picture := self._picture(connection, outcome, added)) is None:
                    again.append(outcome.path)
                else:
                    left += places.put(
                        connection, outcome.path, picture, *self._sizes[outcome.path]
                    )
                    metadata.take(connection, outcome.path, picture)
            metadata.keep(connection)
            move(NewEntry(connection), Restoration, sorted(self._restored))
            self._let_go(connection, left)
        self._pending, self._restored = [], set()
        self._again += again
        for name in ("added", "known", "copies", "moved", "removed", "refused", "unread"):
            setattr(self.added, name, getattr(self.added, name) + getattr(added, name))

    def _picture(
        self, connection: sqlite3.Connection, outcome: Described | Unchanged, added: Added
    ) -> int | None:
        """Return the picture a file shows; None if it was known and is gone by now."""
        sha256 = outcome.facts.sha256 if isinstance(outcome, Described) else outcome.sha256
        result = pictures.find_anywhere(connection, sha256)
        if result is not None:
            number, removed = result
            if removed and self._removed:
                self._restored.add(number)
            self._count_present(connection, number, outcome.path, added, removed=removed)
            return number
        if isinstance(outcome, Unchanged):
            return None
        added.added += 1
        return self._insert(connection, outcome)

    def _insert(self, connection: sqlite3.Connection, described: Described) -> int:
        number = pictures.add(connection, described.facts, described.thumbnail)
        for ranker, record in zip(self._features, described.records, strict=True):
            rankers.keep_record(connection, ranker, number, record)
        for ranker, reason in self._missing.items():
            rankers.note_undescribed(connection, ranker, number, reason)
        # Whoever searched with it before had no picture that this could go with.
        for feature in self._features.values():
            token = query_token(described.facts.sha256, None, feature.fingerprint)
            queries.set_picture(connection, token, number)
        return number

    def _count_present(
        self,
        connection: sqlite3.Connection,
        picture: int,
        path: Path,
        added: Added,
        *,
        removed: bool,
    ) -> None:
        """Tell a copy from a file that moved, and forget the places it moved away from."""
        others = {it.path: it for it in places.picture_places(connection, picture)}
        own = others.pop(os.path.abspath(path), None)  # noqa: PTH100
        gone = [
            it.id
            for it in others.values()
            if it.lost is not None or (own is None and not os.path.lexists(it.path))
        ]
        places.delete(connection, gone)
        if removed:
            added.removed += 1
        elif own is not None:
            added.known += 1
        elif gone:
            added.moved += 1
        else:
            added.copies += 1

    def _let_go(self, connection: sqlite3.Connection, ids: Iterable[int]) -> None:
        """Erase pictures whose last file has another content now, if nobody said anything of them.

        The others are missing.
        """
        unsaid = labels.without_words(connection, ids)
        gone = unsaid - self._voted() if unsaid else set()
        erasure = erase(connection, gone)
        if erasure.erased or erasure.seals:
            NewEntry(connection).append(erasure)
        places.delete_lost(connection, ids)

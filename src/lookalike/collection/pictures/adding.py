"""Bring files into the database, a batch of whole pictures at a time."""

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.erasing import erase
from lookalike.collection.log.removals import Restoration, move
from lookalike.collection.pictures import keywords as kept_keywords
from lookalike.collection.pictures.added import Added
from lookalike.collection.pictures.describing import BATCH_PICTURES, BATCH_SECONDS
from lookalike.collection.pictures.features import fitted
from lookalike.collection.pictures.keywords import ReadKeywords
from lookalike.collection.ranking.opened import Opened
from lookalike.collection.store import rankers
from lookalike.collection.store.database import Database, now, numbers, stored
from lookalike.collection.store.labels import HAND
from lookalike.collection.store.sums import row_sum
from lookalike.collection.training.growing import grow
from lookalike.collection.vectors.queries import query_token
from lookalike.core.errors import MissingPart
from lookalike.core.progress import Progress
from lookalike.features import Described, Feature, Known, describe_files
from lookalike.images import Decode, Limits, Refused, find_pictures
from lookalike.images.keywords import sidecar_facts
from lookalike.images.thumbnails import THUMBNAIL_SIDE


def add(
    opened: Opened,
    sources: Iterable[str | Path],
    *,
    removed: bool,
    limits: Limits | None,
    threads: int | None,
    progress: Progress,
) -> Added:
    """Bring in the pictures among files, folders and globs, and fit what is due afterwards."""
    given = list(sources) if not isinstance(sources, str | bytes | os.PathLike) else sources
    found = find_pictures(given, None if limits is None else limits.within)
    database = opened.database
    with opened.writing():
        features = {
            row.id: fitted(opened, row, found.paths, limits, progress)
            for row in opened.rankers.rows()
        }
        if all(isinstance(feature, str) for feature in features.values()):
            raise MissingPart(str(next(iter(features.values()))))
        with database.transaction() as connection:
            connection.executemany(
                "INSERT OR IGNORE INTO roots VALUES (CAST(? AS TEXT))",
                [(stored(folder),) for folder in found.folders],
            )
        adder = Adder(
            database,
            features,
            removed=removed,
            voted=opened.voted,
            limits=limits,
            threads=threads,
            progress=progress,
            decode=opened.decode,
        )
        adder.run(found.paths)
        for row in opened.rankers.rows():
            feature = features[row.id]
            if row.ready and not isinstance(feature, str) and feature.is_fitted:
                adder.added.note(grow(opened, row, feature, progress))
                opened.rankers.save_cache(opened.rankers.get(row.name, learned=False))
    adder.added.ignored = found.ignored
    adder.added.refused[:0] = found.problems
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
    decode : callable
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
    ) -> None:
        self._database = database
        self._decode = decode
        self._features = {ranker: it for ranker, it in features.items() if not isinstance(it, str)}
        self._missing = {ranker: it for ranker, it in features.items() if isinstance(it, str)}
        self._removed = removed
        self._voted = voted
        self._limits = limits
        self._threads = threads
        self._progress = progress
        self._sizes: dict[Path, tuple[int, int]] = {}
        self._pending: list[Described | Known | Refused] = []
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
        binned = {number for (number,) in self._database.rows("SELECT picture FROM bin")}
        self.added.known += len(self._unchanged - binned)
        if not self._removed:
            self.added.removed += len(self._unchanged & binned)
        done = total - len(queue)
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
            self._read_sidecars()
        except KeyboardInterrupt:
            self._commit()
            raise
        finally:
            with self._database.transaction() as connection:
                kept_keywords.record(connection)
        self._progress(total, total)

    def _read_sidecars(self) -> None:
        """Read the keywords of unchanged files whose sidecars are new, changed or gone."""
        for start in range(0, len(self._resaid), BATCH_PICTURES):
            some = self._resaid[start : start + BATCH_PICTURES]
            keywords = ReadKeywords(some, self._limits)
            with self._database.transaction() as connection:
                for path in some:
                    found = connection.execute(
                        "SELECT picture FROM places WHERE path = CAST(? AS TEXT) AND lost IS NULL",
                        (stored(path),),
                    ).fetchone()
                    if found is not None:
                        keywords.take(connection, path, int(found[0]))
                keywords.keep(connection)
            self.added.unread += keywords.problems

    def _changed(self, paths: Sequence[Path]) -> Iterator[Path]:
        """Leave out files that are in the collection, or were removed, as they are now."""
        left_out = set() if self._removed else self._left_out()
        back = self._in_bin() if self._removed else set[str]()
        for path in paths:
            try:
                facts = path.stat()
                self._sizes[path] = (facts.st_size, facts.st_mtime_ns)
            except (OSError, ValueError):
                self._sizes[path] = (-1, -1)
            row = self._database.row(
                "SELECT size, mtime_ns, sidecar, picture FROM places "
                "WHERE path = CAST(? AS TEXT) AND lost IS NULL",
                stored(path),
            )
            known = None if row is None else row[:2]
            out = left_out and digest(stored(path), *self._sizes[path]) in left_out
            wanted = bool(back) and os.path.abspath(path) in back  # noqa: PTH100
            if row is not None and known == self._sizes[path]:
                self._unchanged.add(row[3])
            if wanted or (known != self._sizes[path] and not out):
                yield path
            elif row is not None and row[2] != sidecar_facts(path):
                self._resaid.append(path)

    def _left_out(self) -> set[bytes]:
        return {found for (found,) in self._database.rows("SELECT digest FROM left_out")}

    def _in_bin(self) -> set[str]:
        rows = self._database.rows(
            "SELECT path FROM places WHERE picture IN (SELECT picture FROM bin)"
        )
        return {path for (path,) in rows}

    def _outcomes(self, paths: list[Path]) -> Generator[Described | Known | Refused]:
        yield from describe_files(
            paths,
            list(self._features.values()),
            limits=self._limits,
            known=self._is_known,
            thumbnail_side=THUMBNAIL_SIDE,
            threads=self._threads,
            decode=self._decode,
        )

    def _is_known(self, sha256: str) -> bool:
        row = self._database.row("SELECT 1 FROM all_pictures WHERE sha256 = ?", sha256)
        return row is not None

    def _commit(self) -> None:
        if not self._pending:
            return
        added, again, left = Added(), list[Path](), list[int]()
        usable = [it.path for it in self._pending if not isinstance(it, Refused)]
        keywords = ReadKeywords(usable, self._limits)
        added.unread += keywords.problems
        with self._database.transaction() as connection:
            for outcome in self._pending:
                if isinstance(outcome, Refused):
                    _note_refused(connection, outcome)
                    added.refused.append(outcome)
                elif (picture := self._picture(connection, outcome, added)) is None:
                    again.append(outcome.path)
                else:
                    left += self._put(connection, outcome.path, picture)
                    keywords.take(connection, outcome.path, picture)
            keywords.keep(connection)
            move(NewEntry(connection), Restoration, sorted(self._restored))
            self._let_go(connection, left)
        self._pending, self._restored = [], set()
        self._again += again
        for name in ("added", "known", "copies", "moved", "removed", "refused", "unread"):
            setattr(self.added, name, getattr(self.added, name) + getattr(added, name))

    def _picture(
        self, connection: sqlite3.Connection, outcome: Described | Known, added: Added
    ) -> int | None:
        """Return the picture a file shows; None if it was known and is gone by now."""
        sha256 = outcome.facts.sha256 if isinstance(outcome, Described) else outcome.sha256
        found = connection.execute(
            "SELECT id, id IN (SELECT picture FROM bin) FROM all_pictures WHERE sha256 = ?",
            (sha256,),
        ).fetchone()
        if found:
            number, removed = found
            if removed and self._removed:
                self._restored.add(number)
            self._count_known(connection, number, outcome.path, added, removed=bool(removed))
            return int(number)
        if isinstance(outcome, Known):
            return None
        added.added += 1
        return self._insert(connection, outcome)

    def _insert(self, connection: sqlite3.Connection, described: Described) -> int:
        facts = described.facts
        known = (
            *(facts.sha256, facts.format, facts.width, facts.height, facts.bytes, facts.taken),
            now(),
        )
        picture = connection.execute(
            "INSERT INTO all_pictures (sha256, format, width, height, bytes, taken, added, crc) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*known, row_sum(*known)),
        ).lastrowid
        number = int(picture or 0)
        for ranker, record in zip(self._features, described.records, strict=True):
            rankers.keep_record(connection, ranker, number, record)
        for ranker, reason in self._missing.items():
            rankers.note_undescribed(connection, ranker, number, reason)
        small = described.thumbnail
        connection.execute(
            "INSERT INTO thumbnails VALUES (?, ?, ?)", (number, small, row_sum(number, small))
        )
        # Whoever searched with it before had no picture that this could go with.
        for feature in self._features.values():
            connection.execute(
                "UPDATE queries SET picture = ? WHERE token = ?",
                (number, query_token(facts.sha256, None, feature.fingerprint)),
            )
        return number

    def _put(self, connection: sqlite3.Connection, path: Path, picture: int) -> list[int]:
        """Say that a picture lies at a path; give the picture that lay there before."""
        name = stored(path)
        here = "path = CAST(? AS TEXT)"
        before = connection.execute(
            f"SELECT picture FROM places WHERE {here} AND picture != ? AND lost IS NULL",  # noqa: S608
            (name, picture),
        ).fetchall()
        connection.execute(
            f"UPDATE places SET lost = ? WHERE {here} AND picture != ? AND lost IS NULL",  # noqa: S608
            (now(), name, picture),
        )
        known = connection.execute(
            f"UPDATE places SET lost = NULL, size = ?, mtime_ns = ? WHERE {here} AND picture = ?",  # noqa: S608
            (*self._sizes[path], name, picture),
        )
        if not known.rowcount:
            connection.execute(
                "INSERT INTO places (path, picture, size, mtime_ns, crc) "
                "VALUES (CAST(? AS TEXT), ?, ?, ?, ?)",
                (name, picture, *self._sizes[path], row_sum(picture, name)),
            )
        connection.execute("DELETE FROM refused WHERE path = CAST(? AS TEXT)", (name,))
        connection.execute(
            "DELETE FROM left_out WHERE digest = ?", (digest(name, *self._sizes[path]),)
        )
        return [number for (number,) in before]

    def _count_known(
        self,
        connection: sqlite3.Connection,
        picture: int,
        path: Path,
        added: Added,
        *,
        removed: bool,
    ) -> None:
        """Tell a copy from a file that moved, and forget the places it moved away from."""
        rows = connection.execute("SELECT id, path, lost FROM places WHERE picture = ?", (picture,))
        places = {place: (number, lost) for number, place, lost in rows.fetchall()}
        own = places.pop(os.path.abspath(path), None)  # noqa: PTH100
        gone = [
            number
            for place, (number, lost) in places.items()
            if lost is not None or (own is None and not os.path.lexists(place))
        ]
        connection.executemany("DELETE FROM places WHERE id = ?", [(number,) for number in gone])
        if removed:
            added.removed += 1
        elif own is not None:
            added.known += 1
        elif gone:
            added.moved += 1
        else:
            added.copies += 1

    def _let_go(self, connection: sqlite3.Connection, pictures: Iterable[int]) -> None:
        """Erase pictures whose last file has another content now, if nobody said anything of them.

        The others are missing.
        """
        rows = connection.execute(
            "SELECT id FROM pictures WHERE id IN (SELECT value FROM json_each(?)) "
            "AND NOT EXISTS (SELECT 1 FROM places WHERE picture = pictures.id AND lost IS NULL) "
            "AND NOT EXISTS (SELECT 1 FROM refusals WHERE picture = pictures.id) "
            "AND NOT EXISTS (SELECT 1 FROM given WHERE picture = pictures.id AND source = ?)",
            (numbers(pictures), HAND),
        )
        unsaid = {number for (number,) in rows.fetchall()}
        gone = unsaid - self._voted() if unsaid else set()
        erasure = erase(connection, gone)
        if erasure.erased or erasure.seals:
            NewEntry(connection).append(erasure)
        connection.execute(
            "DELETE FROM places WHERE lost IS NOT NULL "
            "AND picture IN (SELECT value FROM json_each(?)) AND EXISTS (SELECT 1 FROM places "
            "AS other WHERE other.picture = places.picture AND other.lost IS NULL)",
            (numbers(pictures),),
        )


def digest(path: bytes, size: int, mtime_ns: int) -> bytes:
    """Return what tells a file as it is now from all others, and says nothing of it."""
    return hashlib.blake2b(b"%b\0%d %d" % (path, size, mtime_ns), digest_size=16).digest()


def leave_out(connection: sqlite3.Connection, pictures: Iterable[int]) -> None:
    """Note the files of pictures that are about to be removed."""
    rows = connection.execute(
        "SELECT CAST(path AS BLOB), size, mtime_ns FROM places "
        "WHERE picture IN (SELECT value FROM json_each(?))",
        (numbers(pictures),),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO left_out VALUES (?)", [(digest(*row),) for row in rows.fetchall()]
    )


def _note_refused(connection: sqlite3.Connection, refused: Refused) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO refused VALUES (CAST(? AS TEXT), ?, ?)",
        (stored(refused.path), refused.reason, now()),
    )

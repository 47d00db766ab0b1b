"""Start words in a collection: the likeliest classes of its pictures, kept and counted."""

import logging
from dataclasses import dataclass
from pathlib import Path
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.text_side import TextSide
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.store import rankers
from lookalike.collection.store.database import Database
from lookalike.collection.store.folder import Folder
from lookalike.collection.vectors.space import MIN_DRIFT, Space, blocks
from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile
from lookalike.core.stored import Arrays
from lookalike.features import Likely, StartWords
from lookalike.features.start_words import LIKELIEST

KIND = "start-words/1"

MIN_SURE = 0.5
"""The confidence of words that are given where none is asked for."""

MIN_CONFIDENCE = 0.01
"""Pictures that a word suits with less are not found by it."""

PATIENCE = 1.0
"""Seconds that a list of words may wait for another."""

_DTYPES = ("int64", "uint16", "float16")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PictureClasses:
    """The likeliest classes of all pictures that a ranker has described, by rising id.

    They follow from the records alone, so they are a cache: made from the database where there is
    no file, or a damaged one, and for pictures that came since.
    """

    ids: NDArray[np.int64]
    likely: Likely

    @classmethod
    def load(cls, path: Path, start: StartWords, fingerprint: str) -> "PictureClasses":
        """Return what a file holds, or nothing if it is missing, damaged or of other words."""
        try:
            arrays, manifest = load_arrays(path, kind=KIND)
            result = cls(arrays["ids"], Likely(arrays["classes"], arrays["chances"]))
            result._check(start.vocabulary.classes)
            if manifest == _manifest(start, fingerprint):
                return result
        except (DamagedFile, KeyError, ValueError) as error:
            if path.exists():
                _log.warning("%s; it is made again from the database", error)
        kept = min(LIKELIEST, start.vocabulary.classes)
        nothing = Likely(np.zeros((0, kept), np.uint16), np.zeros((0, kept), np.float16))
        return cls(np.zeros(0, np.int64), nothing)

    def save(self, path: Path, start: StartWords, fingerprint: str) -> None:
        """Write the file; without it, opening takes longer."""
        arrays: Arrays = {
            "ids": self.ids,
            "classes": self.likely.classes,
            "chances": self.likely.chances,
        }
        try:
            save_arrays(path, arrays, kind=KIND, manifest=_manifest(start, fingerprint))
        except OSError as error:
            _log.warning("%s was not written, so opening takes longer: %s", path, error)

    def updated(self, space: Space, start: StartWords, database: Database) -> "PictureClasses":
        """Return the classes of the pictures there are now; itself if these are the same."""
        wanted = rankers.described_ids(database, space.ranker)
        stays = np.isin(self.ids, wanted)
        missing = np.setdiff1d(wanted, self.ids, assume_unique=True)
        if stays.all() and not missing.size:
            return self
        ids, parts = [self.ids[stays]], [self.likely.taken(stays)]
        own = Space(space.ranker, space.feature)
        for some in blocks(missing):
            sound, vectors = own.stored(database, some)
            ids.append(sound)
            parts.append(start.likely(vectors))
        both = np.concatenate(ids)
        order = np.argsort(both)
        return PictureClasses(both[order], Likely.stacked(parts).taken(order))

    def has_drifted(self, held: "PictureClasses") -> bool:
        """Return whether a file with what ``held`` has should be written again."""
        lacking = np.setdiff1d(self.ids, held.ids, assume_unique=True).size
        gone = np.setdiff1d(held.ids, self.ids, assume_unique=True).size
        return bool(gone) or lacking > MIN_DRIFT + len(held.ids) // 20

    def _check(self, classes: int) -> None:
        shape = (len(self.ids), min(LIKELIEST, classes))
        numbers, chances = self.likely.classes, self.likely.chances
        if (
            [str(one.dtype) for one in (self.ids, numbers, chances)] != list(_DTYPES)
            or not numbers.shape == chances.shape == shape
            or (numbers.size and numbers.max() >= classes)
            or not np.isfinite(chances).all()
            or (np.diff(self.ids) <= 0).any()
        ):
            raise ValueError("the classes of pictures are not whole")


class ClassCache:
    """The classes of each ranker's pictures, kept in memory and, where they are many, in a file.

    May be shared by threads; searches by likeness do not wait for it.
    """

    def __init__(self, folder: Folder, database: Database) -> None:
        self._folder = folder
        self._database = database
        self._lock = RLock()
        self._known: dict[int, tuple[int, PictureClasses]] = {}
        self._written: dict[int, PictureClasses] = {}
        self._counts: dict[int, tuple[PictureClasses, dict[str, int]]] = {}
        self.better: dict[tuple[int | None, int], frozenset[str]] = {}
        """Words that start words rank better by than an annotator: by its number and a ranker's."""
        self.text_sides: dict[tuple[int | None, int], TextSide | None] = {}
        """What was learned of whole texts, where it is used: by the same numbers."""

    def close(self) -> None:
        """Let go of all that is in memory."""
        with self._lock:
            self._known, self._written, self._counts = {}, {}, {}

    def of(self, ranker: Ranker, start: StartWords) -> PictureClasses:
        """Return the classes of the pictures that a ranker has described."""
        with self._lock:
            changes, cached = self._known.get(ranker.id, (-1, None))
            if cached is not None and changes == ranker.changes:
                return cached
            fingerprint = ranker.space.feature.fingerprint
            file = self._folder.classes(fingerprint)
            if cached is None:
                cached = self._written[ranker.id] = PictureClasses.load(file, start, fingerprint)
            with self._database.snapshot():
                cached = cached.updated(ranker.space, start, self._database)
            if not self._database.read_only and cached.has_drifted(self._written[ranker.id]):
                cached.save(file, start, fingerprint)
                self._written[ranker.id] = cached
            self._known[ranker.id] = (ranker.changes, cached)
            return cached

    def counts(self, ranker: Ranker, start: StartWords) -> dict[str, int]:
        """Return the words that suit some of a ranker's pictures, and how many, most first.

        None for as long as another thread looks at a large collection for the first time.
        """
        if not self._lock.acquire(timeout=PATIENCE):
            return {}
        try:
            known = self.of(ranker, start)
            counted, counts = self._counts.get(ranker.id, (None, {}))
            if counted is not known:
                result = start.counts(known.likely, MIN_SURE)
                counts = dict(sorted(result.items(), key=lambda it: (-it[1], it[0])))
                self._counts[ranker.id] = (known, counts)
            return dict(counts)
        finally:
            self._lock.release()


def _manifest(start: StartWords, fingerprint: str) -> dict[str, str | float | int]:
    return {
        "fingerprint": fingerprint,
        "scale": start.scale,
        "classes": start.vocabulary.classes,
    }

"""The rankers of an open collection: loaded when they are first used, and swapped whole."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from threading import RLock
from typing import TYPE_CHECKING

from lookalike.collection.ranking.info import RankerInfo
from lookalike.collection.ranking.layers import Layers
from lookalike.collection.ranking.parts import Parts
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.start_words import ClassCache
from lookalike.collection.store import models, people, rankers
from lookalike.collection.store.database import Database
from lookalike.collection.store.folder import Folder
from lookalike.collection.store.rankers import RankerRow
from lookalike.collection.votes.ledger import Ledger
from lookalike.collection.votes.preferences import Preferences
from lookalike.core.errors import (
    CollectionError,
    DamagedFile,
    FingerprintMismatch,
    InvalidInput,
    LookalikeError,
    MissingPart,
)
from lookalike.core.text import counted
from lookalike.features import FEATURES, Feature, StartWords
from lookalike.index.registry import RERANKERS
from lookalike.similarity.registry import SIMILARITIES

if TYPE_CHECKING:
    from lookalike.annotation.base import Annotator
    from lookalike.features.text.model import TextModel


OBJECTS = "regions"
"""The feature that finds the same object again."""

TOGETHER = "together"
"""What searches by look and by object together are named by; no ranker is called so."""

_log = logging.getLogger(__name__)


class Rankers:
    """What is in use at the moment, of all rankers of a collection.

    Every answer is of one moment: what others have written since is taken over, as little as
    possible made anew, when a ranker is next asked for. May be shared by threads.

    Parameters
    ----------
    folder, database
    given : iterable of Feature
        Features that the registry does not know.
    """

    def __init__(self, folder: Folder, database: Database, given: Iterable[Feature] = ()) -> None:
        # Not that of writers, who hold theirs until the disk has what they wrote.
        self._lock = RLock()
        self._folder = folder
        self._database = database
        self.parts = Parts(folder, database, given)
        self._loaded: dict[int, tuple[int, Ranker]] = {}
        self._annotators: dict[int, Annotator | DamagedFile] = {}
        self._seen: int | None = None
        self._rows: list[RankerRow] = []
        self._ledger: Ledger | None = None
        self._layers = Layers()
        self.classes = ClassCache(folder, database)

    def close(self) -> None:
        """Let go of all that is in memory."""
        with self._lock:
            self._loaded, self._annotators, self._ledger, self._layers = {}, {}, None, Layers()
        self.classes.close()

    def check_features(self, given: Iterable[Feature]) -> None:
        """Raise FingerprintMismatch if a fitted feature that is given is that of no ranker."""
        known = {row.fingerprint for row in self.rows()} - {None}
        for one in given:
            if one.is_fitted and known and one.fingerprint not in known:
                raise FingerprintMismatch(
                    f"{self._folder.path} has no ranker with the fingerprint {one.fingerprint} of "
                    f"the feature {one.name}. Open it with the feature it was made with, or add "
                    f"this one: Collection.add_feature."
                )

    def rows(self) -> list[RankerRow]:
        """Return the rankers there are, the default one first, then in the order they were made."""
        with self._lock:
            self._refresh()
            return self._rows

    @property
    def oldest(self) -> RankerRow:
        """The ranker made first: files searched with are known by it, whichever is the default."""
        return min(self.rows(), key=lambda row: row.id)

    def row(self, by: str | None = None) -> RankerRow:
        """Return the ranker of a name, or the first; for *together*, the first by look.

        Raises
        ------
        InvalidInput
            If there is none of that name; it lists those there are.
        """
        rows = self.rows()
        names = [row.name for row in rows]
        if by is None:
            return rows[0]
        if by == TOGETHER:
            looks = [row for row in rows if row.feature != OBJECTS]
            if looks and len(looks) < len(rows):
                return looks[0]
            raise InvalidInput(
                f"{self._folder.path} cannot be searched by look and object together: that takes "
                f"regions and another feature. Add the one it has not: lookalike index PICTURES "
                f"--feature {OBJECTS}."
            )
        if by not in names:
            raise InvalidInput(
                f"{self._folder.path} has no ranker {by!r:.80}. Choose one of {', '.join(names)}."
            )
        return rows[names.index(by)]

    def get(
        self, by: str | None = None, *, learned: bool = True, who: str = people.OWNER
    ) -> Ranker:
        """Return the ranker of a name, or the first, as it is now, with the layers of a person.

        Where none is named, and for *together*, it has the ranker of objects beside it, if there
        is one that can be used.

        With ``learned`` false, one whose learned model is damaged is returned, too: the plain
        ranking does without it.

        Raises
        ------
        InvalidInput
            If there is none of that name.
        CollectionError
            If it has not described all pictures yet.
        DamagedFile, FingerprintMismatch, MissingPart
            If a file or part it needs is not usable.
        """
        with self._lock:
            row = self.row(by)
            ranker = self._layered(self._usable(row, learned), who)
            if by not in (None, TOGETHER) or row.feature == OBJECTS:
                return ranker
            rows = [row for row in self._rows if row.feature == OBJECTS]
            objects = next(self._each_usable(rows, learned, who), None)
        return ranker if objects is None else replace(ranker, objects=objects)

    def _each_usable(self, rows: list[RankerRow], learned: bool, who: str) -> Iterator[Ranker]:
        """Yield the rankers that are ready and whose parts are there; the lock must be held."""
        for row in rows:
            if row.ready and row.fingerprint is not None:
                with suppress(LookalikeError, OSError):
                    yield self._layered(self._usable(row, learned), who)

    def _layered(self, shared: Ranker, who: str) -> Ranker:
        """Return a ranker with what a person's own votes add; the lock must be held."""
        return self._layers.ranker(shared, self.layer(who), who)

    def layer(self, who: str = people.OWNER) -> Ledger:
        """Return the votes that teach a person: the owner's, those of trusted people, their own."""
        with self._lock:
            return self._layers.votes(self.ledger, who)

    def _usable(self, row: RankerRow, learned: bool) -> Ranker:
        """Return a ranker as it is now, or raise what :meth:`get` does; the lock must be held."""
        if not row.ready and self._database.count("pictures"):
            lacking = counted(len(rankers.undescribed(self._database, row.id)), "picture")
            raise CollectionError(
                f"{self._folder.path}: the ranker {row.name} is not ready: {lacking} still to "
                f"be described. Wait for that, or go on with it: lookalike index --feature "
                f"{row.feature}, or Collection.add_feature."
            )
        if row.fingerprint is None:
            raise self.empty()
        ranker = self._ranker(row)
        if learned and ranker.damage:
            raise DamagedFile(ranker.damage)
        return ranker

    def usable(self, *, learned: bool = True, who: str = people.OWNER) -> list[Ranker]:
        """Return all rankers that are ready and whose parts are there, learned ones or all."""
        with self._lock:
            return list(self._each_usable(self.rows(), learned, who))

    def voting(self, who: str) -> tuple[dict[int, Preferences], Ledger]:
        """Return what votes add to each ranker that a person's vote teaches, and all votes."""
        with self._lock:
            usable = self.usable(who=who) or [self.get(who=who)]
            return {ranker.id: ranker.votes for ranker in usable}, self.ledger

    def preparing(self, by: str) -> Ranker:
        """Return a ranker that may not be ready yet, over the pictures described so far."""
        with self._lock:
            return self._ranker(self.row(by))

    def infos(self) -> list[RankerInfo]:
        """Return what is to be known of each ranker."""
        total = self._database.count("pictures")
        result = []
        for row in self.rows():
            trouble, method = "", "cosine"
            if row.similarity is not None:
                method = models.settings_of(self._database, row.similarity)[0]
            try:
                if row.fingerprint is not None:
                    self.parts.feature(row)
                if row.similarity is not None and method not in SIMILARITIES:
                    # This raises MissingPart, with the package that brings it.
                    SIMILARITIES.load(self._folder.model(row.similarity))
                loaded = self._loaded.get(row.id)
                trouble = "" if loaded is None else loaded[1].damage
            except LookalikeError as error:
                trouble = str(error)
            lacking = len(rankers.undescribed(self._database, row.id))
            ready = row.ready and not trouble
            if not trouble:
                try:
                    self._annotator(row.annotator, str(row.space), row.name)
                except LookalikeError as error:
                    trouble = str(error)
            figures = models.code_figures
            codes = None if row.codes is None else figures(self._database, row.codes)
            described = total - lacking
            names = (row.name, row.feature, method)
            result.append(RankerInfo(*names, ready, described, lacking, trouble, codes))
        return result

    @property
    def ledger(self) -> Ledger:
        """The votes that count now."""
        with self._lock:
            self._refresh()
            if self._ledger is None:
                self._ledger = Ledger.read(self._database)
            return self._ledger

    def features(self) -> dict[str, Feature]:
        """Return the features that are installed, by the names of their rankers."""
        result = {}
        for row in self.rows():
            with suppress(LookalikeError):
                result[row.name] = self.parts.feature(row)
        return result

    def annotator(self, ranker: Ranker) -> Annotator | None:
        """Return the model that gives words for a ranker's vectors, or None.

        Raise DamagedFile, with what to do, if it is damaged.
        """
        return self._annotator(ranker.annotator, ranker.space.fingerprint, ranker.name)

    def sound_annotator(self, ranker: Ranker) -> Annotator | None:
        """Return the model that gives words for a ranker's vectors; one that is damaged is none."""
        try:
            return self.annotator(ranker)
        except DamagedFile as error:
            _log.warning("%s", error)
            return None

    def words_damage(self, by: str | None = None) -> str:
        """Return why words do without something learned, and what to do; empty if they do not."""
        for name in dict.fromkeys([by, None]):
            with suppress(CollectionError, FingerprintMismatch, MissingPart):
                try:
                    self.get(name)
                    self.annotated(name)
                except DamagedFile as error:
                    return str(error)
        return ""

    def _annotator(self, number: int | None, fingerprint: str, name: str) -> Annotator | None:
        if number is None:
            return None
        with self._lock:
            if number not in self._annotators:
                model: Annotator | DamagedFile
                try:
                    model = self.parts.annotator(number, fingerprint)
                except DamagedFile as error:
                    model = self._without_words(name, error)
                used = {row.annotator for row in self._rows}
                self._annotators = {n: it for n, it in self._annotators.items() if n in used}
                self._annotators[number] = model
            result = self._annotators[number]
        if isinstance(result, DamagedFile):
            raise DamagedFile(str(result)) from result
        return result

    def with_words(self, by: str | None = None) -> tuple[Ranker, Annotator]:
        """Return what :meth:`annotated` does, or raise CollectionError for None."""
        result = self.annotated(by)
        if result is None:
            raise self.untaught()
        return result

    def annotated(self, by: str | None = None) -> tuple[Ranker, Annotator] | None:
        """Return a ranker that has learned words, and its annotator, of one moment; None if none.

        Without a name, the first ranker that has learned words.
        """
        while True:
            row = self.row(by)
            if by is None:
                row = next((one for one in self.rows() if one.annotator is not None), row)
            # Words are ranked by the plain vectors, so the similarity may be damaged.
            ranker = self.get(row.name, learned=False)
            try:
                model = self.annotator(ranker)
            except DamagedFile:
                # A writer may have put a newer one in place while we read, and cleaned up.
                if models.in_use(self._database, ranker.id).get("words") == ranker.annotator:
                    raise
                continue
            return None if model is None else (ranker, model)

    def untaught(self) -> CollectionError:
        """Return the error of a collection without an annotator."""
        return CollectionError(
            f"{self._folder.path} has no annotator yet. Train one first (lookalike learn --labels "
            f"FILE, or Collection.learn)."
        )

    def starting(self, by: str | None = None) -> tuple[Ranker, StartWords] | None:
        """Return a ranker whose feature knows start words, and these; None if there is none.

        Without a name, the first such ranker that can be used.
        """
        with self._lock:
            for row in self.rows() if by is None else [self.row(by)]:
                if by is None and (not row.ready or row.fingerprint is None):
                    continue
                try:
                    words = self.parts.feature(row).start_words
                except LookalikeError:
                    if by is None:
                        continue
                    raise
                if words is not None:
                    return self.get(row.name, learned=False), words
        return None

    def paired(self, by: str | None = None) -> tuple[Ranker, TextModel] | None:
        """Return a ranker whose feature has a text side, and this; None if there is none."""
        with self._lock:
            for row in self.rows() if by is None else [self.row(by)]:
                if not row.ready or row.fingerprint is None:
                    continue
                with suppress(LookalikeError):
                    if FEATURES.get(row.feature).text_model is Feature.text_model:
                        continue  # a feature of this kind need not be loaded
                    model = self.parts.feature(row).text_model
                    if model is not None:
                        return self.get(row.name, learned=False), model
        return None

    def save_cache(self, ranker: Ranker) -> None:
        """Write the vectors of a ranker, and what start words need, so that opening is quick."""
        ranker.space.save_index(ranker.plain, self._folder.cache(ranker.space.fingerprint))
        if ranker.codes is not None:
            ranker.codes.save(self._folder.codes(ranker.codes.figures.fingerprint))
        words = ranker.space.feature.start_words
        if words is not None:
            try:
                self.classes.of(ranker, words)
            except LookalikeError as error:
                _log.warning("start words are not ready: %s", error)

    def empty(self) -> CollectionError:
        """Return the error of a collection without pictures."""
        return CollectionError(
            f"{self._folder.path} has no pictures yet. Add some first (lookalike index, or "
            f"Collection.add)."
        )

    def _refresh(self) -> None:
        """Take over what was written since."""
        version = self._database.version()
        if version == self._seen:
            return
        with self._database.snapshot():
            self._rows = rankers.rankers(self._database)
            if self._ledger is not None:
                self._ledger = Ledger.read(self._database, self._ledger)
        if not self._rows:
            raise DamagedFile(
                f"{self._folder.database} is damaged: it names no ranker. Restore a backup of the "
                f"collection, or index again."
            )
        self._seen = version
        # What is damaged is read again: the file may have been put back.
        self._annotators = {
            number: it for number, it in self._annotators.items() if not isinstance(it, DamagedFile)
        }

    def _ranker(self, row: RankerRow) -> Ranker:
        """Return a ranker as the database has it now; the lock must be held."""
        loaded = self._loaded.get(row.id)
        if loaded is not None and loaded[1].plain.damaged and not self._database.read_only:
            # Its cache is deleted, and so made again.
            loaded = None
        if loaded is not None and loaded[0] == self._seen:
            return loaded[1]
        current = row
        while True:
            ledger, before = self.layer(), None if loaded is None else loaded[1]
            try:
                with self._database.snapshot():
                    ranker = self._follow(before, current).following(self._database, ledger)
                # A writer may have put something newer in place while we read, and cleaned up.
                tried, current = current, self.row(row.name)
                if not ranker.damage or current == tried:
                    break
            except DamagedFile:
                tried, current = current, self.row(row.name)
                if current == tried:
                    raise
        self._loaded[row.id] = (self._seen or 0, ranker)
        return ranker

    def _follow(self, before: Ranker | None, row: RankerRow) -> Ranker:
        changes = self._database.changes()
        fingerprint = str(row.space)
        used = None if before is None or before.codes is None else before.codes.number
        # With codes, vectors stay on disk; so they are read anew when the first codes come.
        as_before = (used is None) == (row.codes is None)
        if before is not None and before.space.fingerprint == fingerprint and as_before:
            models_before = (before.number, before.annotator, used)
            if models_before == (row.similarity, row.annotator, row.codes):
                is_known = before.changes == changes
                return before if is_known else before.updated(self._database, changes)
            space, plain = before.space, before.plain.copy()
            space.update(plain, self._database)
        else:
            space = self.parts.space(row)
            cache, mapped = self._folder.cache(fingerprint), row.codes is not None
            plain = space.load_index(self._database, cache, mapped=mapped)
        similarity, damage = None, ""
        if row.similarity is not None:
            try:
                similarity = self.parts.similarity(row.similarity, fingerprint)
            except DamagedFile as error:
                damage = self._without_learning(row, error)
        return Ranker.of(
            row,
            space,
            plain,
            self._database,
            similarity=similarity,
            rerankers=tuple(RERANKERS.make(name, own) for name, own in row.rerankers),
            changes=changes,
            damage=damage,
            codes=self.parts.candidates(row, plain, None if before is None else before.codes),
        )

    def _without_learning(self, row: RankerRow, error: DamagedFile) -> str:
        """Return what is damaged and what to do, where a ranker's similarity cannot be read."""
        _log.warning("%s", error)
        return (
            f"{error} The ranker {row.name} cannot use what it has learned. Search without it "
            f"(lookalike search --no-learning, learned=false), go back to the model before "
            f"(lookalike rollback), learn again, or restore a backup of {self._folder.path}."
        )

    def _without_words(self, name: str, error: DamagedFile) -> DamagedFile:
        """Return the error of a ranker whose annotator cannot be read, with what to do."""
        return DamagedFile(
            f"{error} The words that the ranker {name} has learned are out of use; tags, names "
            f"and built-in words are still found. Learn again (lookalike learn), go back to the "
            f"model before (lookalike rollback), or restore a backup of {self._folder.path}."
        )

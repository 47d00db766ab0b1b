"""The collection: a folder that keeps pictures, searches them and learns."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lookalike import images
from lookalike.collection.log import binned, events, imports
from lookalike.collection.log import labels as by_hand
from lookalike.collection.log.events import Event, WordsToLearn
from lookalike.collection.pictures import missing, names, removing
from lookalike.collection.pictures.added import Added
from lookalike.collection.pictures.describing import read_picture
from lookalike.collection.ranking.opened import Opened
from lookalike.collection.ranking.rankers import RankerInfo, Rankers
from lookalike.collection.search import albums, searching
from lookalike.collection.search.albums import Album
from lookalike.collection.search.completing import KnownWord, words_like
from lookalike.collection.search.matches import Duplicates, Match, WordCounts
from lookalike.collection.search.suggesting import Suggestion
from lookalike.collection.search.tagging import FileTagging, KnownWords, LearnedWords, Tagging
from lookalike.collection.search.words import Ranked, check_text, known_word, rank_word
from lookalike.collection.store import albums as stored_albums
from lookalike.collection.store import browsing, labels, models, pictures, places, rankers
from lookalike.collection.store.albums import SavedSearch
from lookalike.collection.store.database import Database
from lookalike.collection.store.filter import Where
from lookalike.collection.store.folder import Folder
from lookalike.collection.store.labels import LabelSource
from lookalike.collection.store.models import Figures, ModelRow
from lookalike.collection.store.pictures import PictureRow
from lookalike.collection.store.queries import Ask, Ref, query_thumbnail
from lookalike.collection.training.trials import InUse, Learned
from lookalike.collection.upkeep.backup import BackedUp
from lookalike.collection.upkeep.checking import Checked
from lookalike.collection.vectors import queries
from lookalike.collection.vectors.queries import Box, Query
from lookalike.collection.votes.ledger import Standing
from lookalike.collection.votes.recording import Verdict, record_vote
from lookalike.core.checks import check_whole
from lookalike.core.errors import (
    CollectionBusy,
    DamagedFile,
    FingerprintMismatch,
    InvalidInput,
    LookalikeError,
    NotFound,
)
from lookalike.core.progress import Progress, silent
from lookalike.core.text import word_key
from lookalike.features import Feature
from lookalike.images import Decode, Limits, Refused, find_pictures
from lookalike.index.reranker import Reranker

if TYPE_CHECKING:
    from lookalike.collection.search.duplicates import Verdict as Distinction
    from lookalike.collection.search.near import NearCopies
    from lookalike.collection.training.given import NamedClicks, NamedLabels

T = TypeVar("T")

MOST_KEPT = 32
"""Answers that are kept to be given again."""


class Collection:
    """Pictures in a folder of their own: searched by likeness and word, which is learned.

    What is committed to the folder's database is what every reader sees, whole: a killed or
    interrupted writer leaves the collection as its last finished step left it. One may write at
    a time, any number read, in this process and in others, and see what was written at their
    next search. A collection may be shared by threads.

    A collection holds one or several *rankers*, each a way to search: pictures described by one
    of its features, and what was learned over that. Searches name one by ``by``, or take the
    first. Of a dense feature, once there are 512 pictures, the first 256 principal components are
    compared, fitted on the collection, and fitted again when a small collection has grown fourfold.

    Use :meth:`create` or :meth:`open`, and ``with`` to close it.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> folder = Path(tempfile.mkdtemp())
    >>> Image.radial_gradient("L").save(folder / "disc.png")
    >>> Image.radial_gradient("L").resize((99, 99)).save(folder / "small disc.png")
    >>> Image.linear_gradient("L").save(folder / "slope.png")
    >>> with Collection.create(folder / "collection") as collection:
    ...     _ = collection.add([folder])
    ...     [match.path.name for match in collection.search(folder / "disc.png")]
    ['small disc.png', 'slope.png']
    """

    def __init__(self, folder: Folder, database: Database, features: Iterable[Feature]) -> None:
        self._opened = Opened(folder, database, Rankers(folder, database, features))
        self._answers: dict[tuple[Hashable, ...], tuple[int, object]] = {}
        self._copies: tuple[Hashable, NearCopies] | None = None

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        features: Sequence[Feature] | Mapping[str, Feature] | None = None,
        index: str | None = None,
    ) -> Self:
        """Make a new, empty collection.

        Parameters
        ----------
        path : str or Path
            A folder that does not exist yet, or is empty.
        features : sequence of Feature, or mapping from name to Feature, optional
            How pictures are described, a ranker each; by default
            :class:`~lookalike.features.Embedding`. Rankers are called as their features unless
            named otherwise. A feature that is not fitted is fitted on the pictures added first.
        index : str, optional
            The index that holds the vectors; by default ``dense`` or ``sparse``, as they are.
        """
        from lookalike.collection.pictures.features import add_ranker, by_name

        chosen = by_name(features)
        with Folder.making(Path(path)) as folder:
            Database.create(folder.database)
            folder.write_manifest()
            with closing(Database(folder.database, {})) as database:
                for name, feature in chosen.items():
                    row = add_ranker(folder, database, name, feature, index=index)
                    with database.transaction() as connection:
                        rankers.set_ready(connection, row.id)
        return cls.open(path, features=list(chosen.values()))

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        features: Iterable[Feature] = (),
        read_only: bool | None = None,
    ) -> Self:
        """Open a collection.

        Parameters
        ----------
        path : str or Path
        features : iterable of Feature
            Features it was made with that are not registered (see docs/extending.md); the
            collection loads all others itself.
        read_only : bool, optional
            Whether nothing may be changed; by default, if its folder cannot be written to.

        Raises
        ------
        CollectionError
            If there is no collection.
        DamagedFile
            If a file is damaged or of a newer version.
        FingerprintMismatch
            If none of its rankers has a feature that is given.
        """
        folder = Folder(Path(path))
        feature = folder.read_manifest()
        if not folder.database.exists():
            raise DamagedFile(
                f"{folder.database} is missing. Restore a backup of the collection, or index again."
            )
        given = list(features)
        closed = not os.access(folder.path, os.W_OK) if read_only is None else read_only
        collection = cls(folder, Database(folder.database, feature, read_only=closed), given)
        known = {row.fingerprint for row in collection._opened.rankers.rows()} - {None}
        for one in given:
            if one.is_fitted and known and one.fingerprint not in known:
                collection.close()
                raise FingerprintMismatch(
                    f"{folder.path} has no ranker with the fingerprint {one.fingerprint} of the "
                    f"feature {one.name}. Open it with the feature it was made with, or add this "
                    f"one: Collection.add_feature."
                )
        return collection

    def close(self) -> None:
        """Close the collection; nothing is left to be saved."""
        self._opened.database.close()
        self._opened.rankers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def decode_with(self, decode: Decode | None) -> None:
        """Decode pictures from now on with another function, such as one in another process.

        A server does, so that a hostile file cannot harm it. None stands for this process.
        """
        self._opened = replace(self._opened, decode=decode or images.decode)

    def __len__(self) -> int:
        """Count the pictures."""
        return self._opened.database.count("pictures")

    @property
    def path(self) -> Path:
        """The folder of the collection."""
        return self._opened.path

    @property
    def read_only(self) -> bool:
        """Whether nothing can be changed."""
        return self._opened.database.read_only

    @property
    def features(self) -> dict[str, Feature]:
        """How pictures are described, by the names of the rankers whose features are installed."""
        found = {}
        for row in self._opened.rankers.rows():
            try:
                found[row.name] = self._opened.rankers.feature(row)
            except LookalikeError:
                continue
        return found

    def rankers(self) -> list[RankerInfo]:
        """Return the ways to search, the first being the one that is used by default."""
        return self._opened.rankers.infos()

    # Pictures

    def add(
        self,
        sources: Iterable[str | Path],
        *,
        removed: bool = False,
        limits: Limits | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Added:
        """Bring in the pictures among files, folders and globs.

        Files that are known and whose size and time are unchanged are not read again, so a
        second run is quick and an interrupted one goes on. What is described is committed every
        few seconds. A picture is known by its content: at a second path it is a copy, and if the
        first path is gone, it moved. When a file's content changes, it is another picture; the
        old one goes if it lies nowhere else and nobody tagged it or voted on it, else it is
        missing.

        Parameters
        ----------
        sources : iterable of str or Path
        removed : bool
            Whether files whose pictures were removed come in again, restored from the bin where
            they are in it; else they stay out: those in the bin wherever their files lie, those
            erased while their files are as they were then.
        limits : Limits, optional
            What a picture may cost before it is refused, and where its file may lie.
        threads : int, optional
            By default one a core.
        progress : callable
            Told how many files are done; before that, where a feature is fitted, the steps; and
            after it the steps of learning again, where the collection has grown so much.
        """
        from lookalike.collection.pictures import adding

        return adding.add(
            self._opened,
            sources,
            removed=removed,
            limits=limits,
            threads=threads,
            progress=progress,
        )

    def add_feature(
        self,
        feature: Feature,
        *,
        name: str | None = None,
        index: str | None = None,
        rerankers: Sequence[Reranker] = (),
        limits: Limits | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> RankerInfo:
        """Add a ranker: describe all pictures by a further feature, and let votes teach it.

        Searches by other rankers go on meanwhile. What is described is kept every few seconds:
        interrupted, the same call goes on where it stopped. Pictures whose files cannot be read
        are left to :meth:`undescribed`, and tried again by the same call.

        Parameters
        ----------
        feature : Feature
        name : str, optional
            What ``search(by=…)`` calls the ranker; by default the feature's name.
        index : str, optional
            The index that holds the vectors; by default ``dense`` or ``sparse``, as they are.
        rerankers : sequence of Reranker
            What its hits are ranked again by, in order.
        limits, threads, progress
            As for :meth:`add`.

        Raises
        ------
        InvalidInput
            If the collection has that feature, or a ranker of that name, already.
        """
        from lookalike.collection.pictures.features import add_feature

        called = feature.name if name is None else name
        add_feature(
            self._opened,
            feature,
            called,
            index=index,
            rerankers=rerankers,
            limits=limits,
            threads=threads,
            progress=progress,
        )
        return next(info for info in self.rankers() if info.name == called)

    def undescribed(self, by: str | None = None) -> list[Refused]:
        """Return the pictures that a ranker could not describe, with the reasons."""
        lacking = rankers.undescribed(self._opened.database, self._opened.rankers.row(by).id)
        paths = places.places_of(self._opened.database, lacking)
        return [
            Refused(paths[number][0], reason)
            for number, reason in lacking.items()
            if number in paths
        ]

    def remove(
        self,
        pictures: Iterable[int | str | Path] | Where,
        *,
        who: str = "",
        key: str | None = None,
    ) -> int:
        """Remove pictures into the bin, all or none.

        They are neither found nor counted nor learned from any more, and do not come in again with
        their files, until :meth:`restore` brings them back with all that is kept of them.
        :meth:`empty_bin` erases them. Undoing the event restores them, too.

        Parameters
        ----------
        pictures : iterable of int, str or Path, or Where
            Ids, or paths of the files; or all that pass a filter. A picture goes with all its
            places. The files stay.
        who : str
            Who removes them, where there are several.
        key : str, optional
            A name for this removal: sent twice, the second time removes nothing.

        Returns
        -------
        int
            How many pictures went.
        """
        events.check_names(who, key)
        with self._opened.rankers.lock, self._opened.database.transaction() as connection:
            if events.with_key(connection, key) is not None:
                return 0
            ids = self._named("remove", pictures)
            return binned.move(connection, "removal", ids, who=who, key=key)

    def restore(
        self,
        pictures: Iterable[int | str | Path] | None = None,
        *,
        who: str = "",
        key: str | None = None,
    ) -> int:
        """Bring pictures back from the bin, with their labels, votes and vectors.

        Parameters
        ----------
        pictures : iterable of int, str or Path, optional
            Ids, or paths of the files; by default all that are in the bin.
        who, key
            As for :meth:`remove`.

        Returns
        -------
        int
            How many pictures came back.
        """
        events.check_names(who, key)
        with self._opened.rankers.lock, self._opened.database.transaction() as connection:
            if events.with_key(connection, key) is not None:
                return 0
            ids = None if pictures is None else self._in_bin("restore", pictures)
            back = binned.holds(connection, ids)
            return binned.move(connection, "restoration", back, who=who, key=key)

    def bin(self, k: int = 100, *, offset: int = 0) -> list[PictureRow]:
        """Return pictures that are in the bin, the last removed first."""
        return browsing.binned(self._opened.database, k, offset)

    def bin_size(self) -> int:
        """Count the pictures in the bin."""
        return self._opened.database.count("bin")

    def empty_bin(
        self, pictures: Iterable[int | str | Path] | None = None, *, who: str = ""
    ) -> int:
        """Erase pictures of the bin for good, or all in it, and return how many.

        What is kept of them goes, uploaded files included, and so does what was said of them in
        the log, which keeps that something was said, by whom and when. Files in other folders are
        never touched. Models keep what they have learned until they learn again.
        """
        events.check_names(who, None)
        ids = None if pictures is None else self._in_bin("empty_bin", pictures)
        return removing.empty(self._opened, ids, who=who)

    def tidy(self) -> None:
        """Delete what a writer that was stopped left behind; nothing while another one writes."""
        with suppress(CollectionBusy), self._opened.writing():
            pass

    def find_missing(self, among: Iterable[str | Path] | None = None) -> int:
        """Look which files are missing, and which are back.

        A picture stays with all that was said of it when its files go: it is *missing*, as
        :class:`~lookalike.collection.PictureRow` tells and ``Where(missing=True)`` finds, until
        one of its files is back or it is removed.

        Parameters
        ----------
        among : iterable of str or Path, optional
            Look only for files at or below these paths.

        Returns
        -------
        int
            How many pictures are missing that were not before.
        """
        return missing.look(self._opened.database, among)

    def pictures(self) -> Iterator[PictureRow]:
        """Go over all pictures by rising id."""
        return pictures.pictures(self._opened.database, 0)

    def picture(self, number: int) -> PictureRow:
        """Return what is known of a picture."""
        for found in pictures.pictures(self._opened.database, number, number):
            return found
        raise self._opened.unknown(number)

    def facts_of(self, matches: Iterable[Match]) -> list[tuple[Match, PictureRow, list[str]]]:
        """Return matches with what is known of their pictures, and their labels.

        Those deleted meanwhile are left out.
        """
        return searching.facts_of(self._opened.database, matches)

    def find(self, path: str | Path) -> int | None:
        """Return the picture whose file lies at a path, or None."""
        return pictures.find_id(self._opened.database, path)

    def find_content(self, sha256: str) -> int | None:
        """Return the picture with the content of this SHA-256, or None."""
        return pictures.find_content(self._opened.database, sha256)

    def is_unchanged(self, path: Path) -> bool:
        """Return whether a file is in the collection as it is now."""
        try:
            facts = path.stat()
        except OSError:
            return False
        place = places.place_at(self._opened.database, path)
        return place is not None and place.facts == (facts.st_size, facts.st_mtime_ns)

    def holds_below(self, path: Path) -> bool:
        """Return whether a picture of the collection lies, or lay, at a path or below it."""
        return places.lies_below(self._opened.database, path)

    def roots(self) -> list[Path]:
        """Return the folders that were added."""
        return [Path(root) for root in places.roots(self._opened.database)]

    def thumbnail(self, number: int) -> bytes:
        """Return a small JPEG of a picture."""
        found = pictures.thumbnail(self._opened.database, number)
        if found is None:
            raise self._opened.unknown(number)
        return found

    def refused(self) -> list[Refused]:
        """Return the files that could not be used when they were last read."""
        return places.refused(self._opened.database)

    def browse(
        self, k: int = 100, *, offset: int = 0, where: Where | None = None, order: str = "newest"
    ) -> list[PictureRow]:
        """Return pictures in an order, a page at a time.

        Parameters
        ----------
        k, offset : int
            How many to return, and how many to leave out before them.
        where : Where, optional
            Which pictures to return.
        order : {"newest", "oldest", "added"}
            By when they were taken, those of unknown date last; or the last added first.
        """
        return browsing.browse(self._opened.database, k, offset, self._plain(where), order)

    def browse_ids(
        self, k: int = 100, *, offset: int = 0, where: Where | None = None, order: str = "newest"
    ) -> list[int]:
        """Return the ids of the pictures that :meth:`browse` returns."""
        return browsing.browse_ids(self._opened.database, k, offset, self._plain(where), order)

    def count(self, where: Where | None = None) -> int:
        """Count the pictures that pass a filter."""
        return self._once(browsing.count, self._plain(where))

    def months(self, where: Where | None = None) -> list[tuple[str, int]]:
        """Count pictures by month, as ``2024-05``, newest first; unknown dates last, as ``""``."""
        return list(self._once(browsing.months, self._plain(where)))

    def folders(self) -> list[tuple[str, int]]:
        """Return the folders that pictures lie in or below, and how many."""
        return list(self._once(names.folders))

    def formats(self) -> list[tuple[str, int]]:
        """Return the formats of pictures, and how many have each."""
        return list(self._once(browsing.formats))

    # Labels and words that people gave

    def labels(self) -> dict[int, list[str]]:
        """Return the labels of all pictures that have any."""
        return labels.labels(self._opened.database)

    def labels_used(self) -> list[tuple[str, int]]:
        """Return the labels of pictures, and how many have each, the most used first."""
        return list(self._once(labels.labels_used))

    def labels_of(self, pictures: Iterable[int]) -> dict[int, list[str]]:
        """Return the labels of some pictures."""
        return labels.labels_of(self._opened.database, pictures)

    def refused_for(self, word: str, pictures: Iterable[int]) -> set[int]:
        """Return the pictures, among some, that were said not to show a word."""
        return labels.refused_for(self._opened.database, word, pictures)

    def say(
        self, picture: int, word: str, *, shows: bool = True, who: str = "", key: str | None = None
    ) -> Event:
        """Record that a picture shows what a word names, or that it does not.

        It is a label from then on, or none any more, and that word is not suggested again. Models
        learn it when they are next trained.
        """
        events.check_names(who, key)
        name = by_hand.check_word(word)
        with self._opened.rankers.lock, self._opened.database.transaction() as connection:
            if (known := events.with_key(connection, key)) is not None:
                return known
            number = self._opened.id_of(picture)
            return by_hand.say(connection, number, name, shows=shows, who=who, key=key)

    def say_many(
        self,
        pictures: Iterable[int | str | Path] | Where,
        word: str,
        *,
        shows: bool = True,
        who: str = "",
        key: str | None = None,
    ) -> Event:
        """Record that pictures show what a word names, or that they do not, in one event.

        It counts as if it was said of each of them; undoing the event takes it back for all.

        Parameters
        ----------
        pictures : iterable of int, str or Path, or Where
            Ids or paths; or all that pass a filter.
        word : str
        shows : bool
            Whether the word fits.
        who : str
            Who says it, where there are several.
        key : str, optional
            A name for it: sent twice, it counts once.

        Raises
        ------
        NotFound
            If one of the pictures is not in the collection; then nothing is recorded.
        InvalidInput
            If there are no pictures, or no word.
        """
        events.check_names(who, key)
        name = by_hand.check_word(word)
        with self._opened.rankers.lock, self._opened.database.transaction() as connection:
            if (known := events.with_key(connection, key)) is not None:
                return known
            ids = self._named("say_many", pictures)
            if not ids:
                raise InvalidInput(
                    "Collection.say_many: there are no pictures to tag. Name some, or use a filter "
                    "that some pass."
                )
            return by_hand.say_many(connection, ids, name, shows=shows, who=who, key=key)

    def said_of(self, picture: int, word: str) -> list[Event]:
        """Return what was said of a picture and a word and still counts, the last first."""
        return events.about(self._opened.database, by_hand.subject_of(picture, word))[::-1]

    def label_sources(
        self, pictures: Iterable[int] | None = None
    ) -> dict[int, list[tuple[str, LabelSource]]]:
        """Return the labels of pictures with their sources; one that several give comes from each.

        The sources are ``hand`` (what people said), ``keywords`` (read in files and sidecars),
        ``files`` (imported) and ``folders``.
        """
        return labels.labels_by_source(self._opened.database, pictures)

    # Training

    def learn(
        self,
        labels: NamedLabels | None = None,
        *,
        folders: bool = False,
        clicks: NamedClicks | None = None,
        threshold: float = 0.0,
        method: str = "oasis",
        words: str = "auto",
        feature: str | None = None,
        settings: Mapping[str, Any] | None = None,
        hold_back: float = 0.2,
        codes: str | None = None,
        bits: int | None = None,
        candidates: int | None = None,
        random_state: int | None = 0,
        progress: Progress = silent,
    ) -> Learned:
        """Learn what is alike and what pictures are called, and use it if it passes the gate.

        Labels and folders teach both: which pictures are alike, and their words (paper 2). Clicks
        teach only what is alike. A share of the pictures is held out; the models learn from the
        others, and each is judged beside what is in use now by those held out: how these rank each
        other, and how they rank words. Without words in use, words are ranked by how many pictures
        have them, and only mean average precision is compared. What is alike must rank better by
        more than chance, words no worse than those in use, and first words better than by
        frequency (:class:`~lookalike.collection.Trial`). Pictures that a model in use was judged by
        or learned from stay on their side, so that the two are compared on what neither has seen;
        only a picture without which a word would not be learned at all is always learned from.

        Each is published by itself. Where only one of them can be learned, the other is as before
        and says why. Words need at least two pictures that differ in them: labels on a single
        picture, or the same labels on all, teach none. A word of one picture only is learned from
        that picture.

        Parameters
        ----------
        labels : mapping from path to labels, optional
            Paths are absolute, relative to the current folder or to one that was added, or the
            last parts of a path where those are unique. They replace what was imported for these
            pictures before; labels of other sources stay, above all those given by hand. With
            nothing given, what was given before is learned from again. Words that differ in case
            or Unicode form only are one word. The import is one event, which can be undone.
        folders : bool
            Take the folder a picture lies in for its label, beside the labels of other sources.
            This is one event that can be undone, too.
        clicks : mapping from query to {path: weight}, optional
            Which pictures people chose for a query; they replace those of the same query.
        threshold : float
            θ of paper 1, Eq. 20, for ``clicks``: pictures are alike if the probability that both
            are chosen is above it. Learning again uses the same.
        method : str
            The similarity that learns what is alike, by its name in
            :data:`lookalike.similarity.registry.SIMILARITIES`.
        words : str
            The annotator that learns words, by its name in
            :data:`lookalike.annotation.registry.ANNOTATORS`; or ``auto``, which trains ``wsabie``,
            ``ridge`` and ``linear`` and takes the best on the pictures held out: the first of them
            that is within a standard error of the largest mean average precision and of the
            largest precision at 1. When the collection has grown, words are learned again by the
            same choice.
        feature : str, optional
            The ranker to train; by default the first.
        settings : mapping, optional
            Parameters of the method.
        hold_back : float
            The share of pictures to judge by, above 0 and below 1.
        codes : str, optional
            Learn binary codes, too, by the name of an encoder in
            :data:`lookalike.codes.ENCODERS`; without labels, folders and clicks, learn only
            those. Searches then find candidates by the codes, which are in memory, and rank them
            by all that was learned, by their vectors on disk; how many of the best are found is
            measured on pictures held out (:class:`~lookalike.collection.CodesTrial`).
        bits : int, optional
            The length of a code; by default 64.
        candidates : int, optional
            How many candidates a search takes; by default as many as are needed to have, on
            average, .98 of the 50 best pictures among them. More of both are taken for more than
            50 pictures, and by default as the collection grows.
        random_state : int or None
            Makes a run repeatable.
        progress : callable
            Told the steps of learning what is alike, then those of learning words.
        """
        from lookalike.collection.training import learning
        from lookalike.collection.training.given import read_given

        if not 0 < hold_back < 1:
            raise InvalidInput(f"learn: hold_back must be above 0 and below 1; got {hold_back!r}.")
        wanted = learning.codes_wanted(codes, bits, candidates, random_state)
        learner = learning.new_learner(method, settings, random_state)
        only_codes = wanted is not None and labels is None and clicks is None and not folders
        return learning.learn(
            self._opened,
            lambda: read_given(self._opened.database, labels, folders, clicks, threshold),
            None if only_codes else learner,
            words=words,
            by=feature,
            settings=learning.settings_text(settings, random_state),
            hold_back=hold_back,
            progress=progress,
            codes=wanted,
        )

    def models(self) -> list[ModelRow]:
        """Return what was learned, oldest first, published or not."""
        return models.models(self._opened.database)

    def evaluate(self, by: str | None = None) -> tuple[Figures, Figures]:
        """Judge cosine and what searches use now, on the pictures last held out."""
        from lookalike.collection.training import judging

        return judging.evaluate_similarity(
            self.path, self._opened.database, self._opened.rankers.get(by)
        )

    def evaluate_words(self, by: str | None = None) -> tuple[Figures, Figures]:
        """Judge the commonest words and those in use now, on the pictures last held out.

        The first is the ranking of all words by how many pictures have them, the same for each
        picture.
        """
        from lookalike.collection.training import judging

        ranker = self._opened.rankers.get(by)
        annotator = self._opened.rankers.annotator(ranker)
        return judging.evaluate_words(self.path, self._opened.database, ranker, annotator)

    def words_to_learn(self) -> WordsToLearn:
        """Return the words given or imported since models were last trained or rolled back."""
        return WordsToLearn(*events.words_since_learning(self._opened.database))

    def rollback(self) -> InUse:
        """Undo the last learning that is in use: searches and words are as they were before it.

        What was learned together is undone together. Returns what its ranker uses then. Labels
        that were imported to learn from stay; undoing the event that is returned takes them back.
        """
        from lookalike.collection.training import learning

        return learning.rollback(self._opened)

    # Votes and the log

    def vote(
        self,
        ask: Ask,
        *,
        picked: Iterable[int] = (),
        rejected: Iterable[int] = (),
        shown: Iterable[int] = (),
        who: str = "",
        key: str | None = None,
    ) -> Event:
        """Record which pictures found for a query are right and which are wrong, and learn it.

        The next search of anybody uses it, by every ranker. A vote is stored before this returns.
        To say the same again changes nothing and returns the first event; to say the opposite
        counts instead.

        Parameters
        ----------
        ask : Ask
            What was searched for.
        picked, rejected : iterable of int
            Pictures that are right, and wrong.
        shown : iterable of int
            The pictures in the order shown. Votes of somebody who judges all of them are believed
            by how searches rank them; of others, who choose what to judge, by a second view.
        who : str
            Who votes, where there are several. What one person can teach is bounded.
        key : str, optional
            A name for this vote: sent twice, it counts once.
        """
        events.check_names(who, key)
        verdict = Verdict.checked(ask, picked, rejected, shown, who)
        with self._opened.rankers.lock:
            self._opened.rankers.usable()
            with self._opened.database.transaction() as connection:
                if (known := events.with_key(connection, key)) is not None:
                    return known
                usable = self._opened.rankers.usable()
                if not usable:
                    self._opened.rankers.get()
                ledger = self._opened.rankers.ledger
                return record_vote(self._opened.database, connection, usable, ledger, verdict, key)

    def verdicts(self, ask: Ask) -> dict[int, int]:
        """Return what was said of pictures found for a query: +1 for picked, -1 for rejected."""
        queries.check_ask(ask)
        return self._opened.rankers.ledger.verdicts(str(ask))

    def votes_on(self, ask: Ask, picture: int, who: str = "") -> list[int]:
        """Return the events in which a person voted on a picture for a query, the last first."""
        queries.check_ask(ask)
        return self._opened.rankers.ledger.votes_on(str(ask), picture, who)

    def standing(self, by: str | None = None) -> Standing:
        """Return what votes have taught a ranker, how that was judged, and if searches use it."""
        return self._opened.rankers.get(by).votes.standing

    def reset_votes(self, *, of: str | None = None, who: str = "", key: str | None = None) -> Event:
        """Discard all votes given so far; undoing this event makes them count again.

        Parameters
        ----------
        of : str, optional
            Discard only the votes of the person with this name; one without a name is ``""``.
        who, key
            As for :meth:`vote`.
        """
        events.check_names(who, key)
        if of is not None:
            events.check_names(of, None)
            if not any(vote.who == of for vote in self._opened.rankers.ledger.votes):
                raise NotFound(
                    f"Collection.reset_votes: no vote of {of or 'a person without a name'} counts."
                )
        body = {} if of is None else {"of": of}
        with self._opened.rankers.lock, self._opened.database.transaction() as connection:
            known = events.with_key(connection, key)
            return known or events.append(
                connection, "reset", body, who=who, key=key, about="reset"
            )

    def undo(self, number: int, *, who: str = "", key: str | None = None) -> Event:
        """Take back an event: a vote, a word, a removal, that pictures are no duplicates and so on.

        Raises
        ------
        NotFound
            If there is no such event.
        InvalidInput
            If it cannot be undone, or is undone already, or a later import has to be undone first.
        """
        events.check_names(who, key)
        with self._opened.rankers.lock, self._opened.database.transaction() as connection:
            if (known := events.with_key(connection, key)) is not None:
                return known
            target, event = events.undo(self._opened.database, connection, number, who=who, key=key)
            undid = events.undid(self._opened.database, target)
            if undid.kind in by_hand.SAID:
                by_hand.follow(connection, undid)
            elif undid.kind == "import":
                imports.follow(connection, undid)
            elif undid.kind in binned.MOVED:
                from lookalike.collection.search import duplicates

                binned.follow(connection, undid)
                duplicates.follow(connection, undid)
        return event

    def history(
        self, limit: int = 50, *, before: int | None = None, of: str | None = None
    ) -> list[Event]:
        """Return what was said, newest first: the last ``limit`` events, or those before one.

        With ``of`` only what the person with this name said.
        """
        check_whole("Collection.history", "limit", limit, 1, 1000)
        return events.history(self._opened.database, limit, before, of)

    def check_log(self) -> None:
        """Check that no event was changed since it was written; DamagedFile names one that was."""
        events.check(self._opened.database)

    # Upkeep

    def serving(self) -> AbstractContextManager[None]:
        """Return a context in which nobody can put a backup in the place of the collection."""
        return self._opened.folder.serving()

    def check(self, progress: Progress = silent) -> Checked:
        """Check all of the collection: database, log, rows, files, uploads and missing files.

        Nothing is changed. Each finding says what to do.
        """
        from lookalike.collection.upkeep.checking import check

        return check(self._opened, progress)

    def backup(self, to: str | Path, progress: Progress = silent) -> BackedUp:
        """Back up the collection into a new folder, while others may use and change it.

        The backup is of one moment, and verified before it takes its place. Put it back with
        :func:`~lookalike.collection.restore_backup`.

        Parameters
        ----------
        to : str or Path
            A folder that does not exist yet.
        progress : callable
            Called with the files copied, and all there are.
        """
        from lookalike.collection.upkeep.backup import back_up

        return back_up(self._opened, Path(to), progress)

    # Searching

    def search(
        self,
        query: Query | Ask,
        k: int = 10,
        *,
        by: str | None = None,
        learned: bool = True,
        offset: int = 0,
        where: Where | None = None,
        min_score: float | None = None,
        limits: Limits | None = None,
    ) -> list[Match]:
        """Find the pictures most like a query, best first.

        Parameters
        ----------
        query : int, str, Path, bytes, Image or Ask
            A picture of the collection by its id or path; or any picture, as a file, its content
            or a Pillow image. A picture that is in the collection, however it is named, is not
            among its own matches. A file that has changed since it was added counts as it is
            now; one that is gone, as it was. An :class:`~lookalike.collection.Ask` names several
            pictures to be like and unlike. What people voted on the same query before counts:
            what they picked comes first, and what they rejected is left out
            (:meth:`verdicts` names both), whatever models say.
        k : int
            How many to find at most, from 1.
        by : str, optional
            The ranker to search by; by default the first.
        learned : bool
            Whether to use what was learned and voted; else the cosine of the vectors.
        offset : int
            How many of the best to leave out, for a second page.
        where : Where, optional
            Which pictures to search among.
        min_score : float, optional
            Leave out pictures that score less, unless they were picked.
        limits : Limits, optional
            What the query may cost to decode before it is refused.
        """
        found = searching.search(
            self._opened.database,
            self._opened.rankers.get(by, learned=learned),
            self._opened.rankers.ledger,
            query,
            k,
            first=self._opened.rankers.row().fingerprint,
            learned=learned,
            offset=offset,
            among=self._matching(where),
            min_score=min_score,
            limits=limits,
        )
        if found is None:
            raise self._opened.unknown(query)
        return found

    def reach(self, ask: Ask, *, by: str | None = None) -> float | None:
        """Return the share of what was learned from labels or clicks that a search uses.

        From 0 to 1, the more the nearer the query is to what was taught; None if nothing was
        learned. Votes count besides.
        """
        ranker, ledger = self._opened.rankers.get(by), self._opened.rankers.ledger
        return searching.reach(self._opened.database, ranker, ledger, ask)

    def search_word(
        self,
        word: str,
        k: int = 10,
        *,
        by: str | None = None,
        learned: bool = True,
        offset: int = 0,
        where: Where | None = None,
        min_score: float | None = None,
    ) -> list[Match]:
        """Find pictures by words: those labelled with them, named so, and those they probably fit.

        Pictures labelled with the word come first, then those whose file or folders bear it in
        their names, then those it probably fits, the best first in each part. Those it was refused
        for are left out of the last. Of several words, all must fit; a label of several words, such
        as ``polar bear``, counts as one.

        How well a word that was learned fits is W_wᵀVx (paper 2, Eq. 1), from 0 for what the
        average picture has to 1 for the best. A word that was not learned may be a *start word*,
        one that the feature of the ranker knows without being taught: the default network's 1,000
        classes, their synonyms, and broader words such as dog and animal. Then it is the confidence
        that the picture shows it, and pictures with a confidence below 0.01 are left out. A start
        word also answers for a learned word where it ranks the pictures better that learning held
        out. With several words, the score is the product.

        Parameters
        ----------
        word : str
            One word or several, in any case and Unicode form.
        by : str, optional
            The ranker whose words to use; by default, and for words it does not know, the first
            that has learned some, and the first that knows start words.
        learned : bool
            Whether to use what was learned; else labels, names and start words answer. What was
            learned and is damaged is left out, too; see :meth:`words_damage`.
        k, offset, where
            As for :meth:`search`.
        min_score : float, optional
            Leave out pictures that score less; labels and names score 1.

        Returns
        -------
        list of Match
            Each says by its ``source`` where it comes from: ``given``, ``name``, ``learned`` or
            ``start``. Empty if nothing fits.
        """
        ranked = self._ranked(word, by, where, learned)
        return ranked.page(self._opened, k, offset, min_score)

    def count_word(
        self,
        word: str,
        *,
        by: str | None = None,
        learned: bool = True,
        where: Where | None = None,
    ) -> WordCounts:
        """Count the pictures that :meth:`search_word` finds, in each of its parts."""
        return self._ranked(word, by, where, learned).counts

    def words_damage(self, by: str | None = None) -> str:
        """Return why searches by words and suggestions do without something that was learned.

        That is what is damaged, and what to do; empty if nothing is.
        """
        return self._opened.rankers.words_damage(by)

    def words_like(self, typed: str, k: int = 12) -> list[KnownWord]:
        """Complete what was typed to words that pictures have.

        Labels, start words and names of folders that contain it: at their start, at a word's start,
        then elsewhere; where none does, those spelled most like it. Of several words, the last is
        completed.
        """
        most = check_whole("words_like", "k", k, 1)
        return words_like(typed, most, self.labels_used(), self.start_words(), self.folders())

    def keep_query(
        self,
        picture: bytes | Image.Image,
        *,
        box: Box | None = None,
        content: bytes | None = None,
        limits: Limits | None = None,
    ) -> str:
        """Keep a picture to search with that is not in the collection, and return its token.

        Parameters
        ----------
        picture : bytes or Image
            The content of a file, or a decoded picture.
        box : (float, float, float, float), optional
            The part of it that matters.
        content : bytes, optional
            The file that a decoded picture was made of: the same file gets the same token.
        limits : Limits, optional
            What it may cost to decode before it is refused.
        """
        return searching.keep_query(self._opened, picture, box=box, content=content, limits=limits)

    def keep_region(self, picture: int, box: Box, *, limits: Limits | None = None) -> str:
        """Keep a part of a picture of the collection to search with, and return its token."""
        data = read_picture(self.picture(picture), limits)
        return self.keep_query(data, box=box, limits=limits)

    def query_thumbnail(self, token: str) -> bytes:
        """Return a small JPEG of a kept query."""
        found = query_thumbnail(self._opened.database, token)
        if found is None:
            raise self._opened.unknown(token)
        return found

    def reasons(
        self,
        ask: Ask,
        picture: int,
        k: int = 5,
        *,
        by: str | None = None,
        named: Callable[[Ref], str] | None = None,
    ) -> list[str]:
        """Explain why a picture was found for a query, in sentences, the most telling first.

        Other pictures are named by their files, or as ``named`` says.
        """
        from lookalike.collection.search.explaining import reasons

        queries.check_ask(ask)
        ranker = self._opened.rankers.get(by)
        annotator = self._opened.rankers.sound_annotator(ranker)
        return reasons(ranker, annotator, self._opened.database, ask, picture, k, named)

    def view_weights(self, by: str | None = None) -> dict[str, float]:
        """Return how much each view counts in searches, as shares, the largest first.

        Empty for a feature of one view, and for a method that does not weigh views.
        """
        from lookalike.collection.search.view_parts import view_weights

        return view_weights(self._opened.rankers.get(by))

    def view_parts(self, ask: Ask, picture: int, *, by: str | None = None) -> dict[str, float]:
        """Return how far each view lifts a match above the average picture, the largest first.

        They are shares, negative for views that lower it, and 1 together without their signs.
        Empty for a feature of one view.
        """
        from lookalike.collection.search.explaining import Case

        queries.check_ask(ask)
        return Case(self._opened.rankers.get(by), None, self._opened.database, ask, picture).views()

    def export(self, path: str | Path, *, by: str | None = None) -> None:
        """Write what was learned so that vectors kept elsewhere can be searched with it.

        The file is safetensors, with a recipe of some ten lines of NumPy beside it.
        """
        from lookalike.collection.search import exporting

        exporting.export(self._opened.rankers.get(by), self._opened.database, Path(path))

    # Albums

    def save_album(
        self,
        name: str,
        search: SavedSearch | None = None,
        *,
        pictures: Iterable[int | str | Path] = (),
        most: int | None = None,
    ) -> Album:
        """Save a search, a filter or some pictures under a name.

        The album goes on learning: what is picked in its search joins it, what is rejected leaves,
        and its best matches follow what was learned since. Votes stay with the search, in the log.

        Parameters
        ----------
        name : str
            Case and Unicode form do not tell names apart.
        search : SavedSearch, optional
            What to search for, or to filter by.
        pictures : iterable of int, str or Path
            Pictures that belong to it whatever a search says. Without a search, the album is
            exactly these, and its search is for pictures like them.
        most : int, optional
            How many pictures the best matches may bring it to; by default 100, and 0 for pictures
            without a search.

        Raises
        ------
        InvalidInput
            If there is an album of that name, or nothing to save.
        """
        with self._opened.rankers.lock:
            named = self._named("save_album", pictures)
            row = albums.checked(self._opened, name, search, named, most)
            inside, _ = albums.members(self._opened, row, self._matching)
            with self._opened.database.transaction() as connection:
                stored_albums.add(connection, row.name, row.search, row.pictures, row.most, inside)
        return self.album(row.name)

    def albums(self) -> list[Album]:
        """Return the albums by name, each with what is in it now."""
        rows = stored_albums.albums(self._opened.database)
        return [self._told(row) for row in rows]

    def album_names(self) -> list[str]:
        """Return the names of the albums."""
        return [row.name for row in stored_albums.albums(self._opened.database)]

    def album(self, name: str | int) -> Album:
        """Return an album, by its name or id, with what is in it now and what of that is new.

        Raises
        ------
        NotFound
            If there is none.
        """
        return self._told(albums.find(self._opened, name))

    def open_album(self, name: str | int) -> Album:
        """Return an album, and count all that is in it as seen from now on."""
        found = self.album(name)
        with self._opened.database.transaction() as connection:
            stored_albums.mark_opened(connection, found.id, found.members)
        return found

    def delete_album(self, name: str | int) -> None:
        """Delete an album; its pictures, their labels and votes stay."""
        row = albums.find(self._opened, name)
        with self._opened.database.transaction() as connection:
            stored_albums.delete(connection, row.id)

    def all_of(self, search: SavedSearch) -> NDArray[np.int64]:
        """Return the ids of all that a search finds, best first, or a filter lets pass, rising."""
        return albums.found_ids(self._opened, search, self._matching)

    # Duplicates

    def duplicates(
        self,
        *,
        by: str | None = None,
        radius: int | None = None,
        like: float | None = None,
        progress: Progress = silent,
    ) -> list[Duplicates]:
        """Find groups of near-duplicates: resized, recompressed or slightly cropped copies.

        The vectors of a ranker become codes of 128 bits; pictures whose codes differ in few bits
        are compared by their thumbnails. A group holds the copies of one picture, the one to keep:
        the largest, then that of the richest format (TIFF, PNG and BMP before others, GIF last),
        of the largest file, with tags or votes, the oldest. A copy of a copy that is not a copy of
        that picture is not in its group, so that a series of frames does not become one. Nothing
        is changed. What was found is kept in memory, and only new pictures are looked at again.

        Parameters
        ----------
        by : str, optional
            The ranker whose vectors to use; by default the first.
        radius : int, optional
            In how many of the 128 bits the codes of two copies may differ; by default 40,
            or 48 for a sparse feature. A larger one compares more pictures, and takes longer.
        like : float, optional
            How alike the thumbnails of two copies are at least: 1 for the same, 0 for unrelated
            ones; by default 0.96.
        progress : callable
            Told how many pictures are done.

        Returns
        -------
        list of Duplicates
            The most alike first. Those that :meth:`not_duplicates` told apart are not together.
        """
        from lookalike.collection.search import duplicates

        least = duplicates.LIKE if like is None else like
        duplicates.check(duplicates.RADIUS if radius is None else radius, least)
        if not len(self):
            return []
        ranker = self._opened.rankers.get(by)
        bits = duplicates.default_radius(ranker) if radius is None else radius
        copies = self._near_copies((ranker.id, ranker.space.fingerprint, bits), bits)

        def find() -> list[Duplicates]:
            voted = self._opened.voted()
            return duplicates.find(self._opened.database, ranker, copies, least, voted, progress)

        return list(self._kept(("duplicates", ranker.id, bits, least), find))

    def not_duplicates(
        self,
        pictures: Iterable[int | str | Path],
        of: Iterable[int | str | Path] = (),
        *,
        verdict: Distinction = "different",
        who: str = "",
        key: str | None = None,
    ) -> Event:
        """Record that pictures are not duplicates, so that they are not shown as such again.

        It is an event of the log, which can be undone; it holds for these pictures wherever their
        files lie, and however they are described.

        Parameters
        ----------
        pictures : iterable of int, str or Path
            Ids or paths. None of them is a duplicate of another of them.
        of : iterable of int, str or Path
            If given: none of ``pictures`` is a duplicate of one of these.
        verdict : {"different", "keep"}
            Why: they show different things, or are all to be kept. Both have the same effect.
        who, key
            As for :meth:`say_many`.

        Raises
        ------
        NotFound
            If one of the pictures is not in the collection; then nothing is recorded.
        """
        from lookalike.collection.search import duplicates

        events.check_names(who, key)
        with self._opened.rankers.lock, self._opened.database.transaction() as connection:
            if (known := events.with_key(connection, key)) is not None:
                return known
            some, others = (self._named("not_duplicates", it) for it in (pictures, of))
            return duplicates.tell_apart(connection, some, others, verdict, who=who, key=key)

    def keep_one(
        self,
        picture: int | str | Path,
        others: Iterable[int | str | Path],
        *,
        who: str = "",
        key: str | None = None,
    ) -> Event:
        """Keep one of some duplicates and move the others to the bin, if it is still there itself.

        The picture kept gets what was said of the others: their words, but for names of folders
        and words refused for it; words refused for them that it has not got; and the albums in
        which they were saved. Two people who keep different ones at the same time do not lose all
        of them. Undoing the event restores everything as it was.

        Parameters
        ----------
        picture : int, str or Path
            The picture to keep.
        others : iterable of int, str or Path
            Those to remove; see :meth:`remove`.
        who, key
            As for :meth:`not_duplicates`.
        """
        from lookalike.collection.search import duplicates

        events.check_names(who, key)
        with self._opened.rankers.lock, self._opened.database.transaction() as connection:
            if (known := events.with_key(connection, key)) is not None:
                return known
            kept, gone = self._opened.id_of(picture), self._named("keep_one", others)
            return duplicates.keep_one(connection, kept, gone, who=who, key=key)

    # Words that were learned

    def tag(
        self,
        sources: Iterable[str | Path],
        k: int = 10,
        *,
        by: str | None = None,
        min_confidence: float | None = None,
        limits: Limits | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Tagging:
        """Give words to the pictures among files, folders and globs; nothing is changed.

        Pictures that are in the collection as they are need not be read again. While no words have
        been learned, start words are given (see :meth:`search_word`), the most telling first.

        Parameters
        ----------
        sources : iterable of str or Path
        k : int
            How many words to give a picture at most, from 1.
        by : str, optional
            The ranker whose words to use; by default the first that has learned some.
        min_confidence : float, optional
            Leave out words that suit with less confidence, from 0 to 1. By default a half; or 0
            where too few pictures had words to learn how sure a word is.
        limits : Limits, optional
            What a picture may cost before it is refused.
        threads : int, optional
            By default one a core.
        progress : callable
            Told how many files are done.
        """
        most = check_whole("tag", "k", k, 1)
        found = find_pictures(sources)
        tagging = self._tagging(by).tag(
            found.paths, most, min_confidence, limits=limits, threads=threads, progress=progress
        )
        return Tagging(tagging.pictures, [*found.problems, *tagging.refused], ignored=found.ignored)

    def start_words(self, by: str | None = None) -> dict[str, int]:
        """Return the start words that suit some pictures, and how many, the most used first.

        A word suits a picture if it is right with a confidence of a half or more. A ranker whose
        feature knows no start words has none; nor are there any while another thread looks at a
        large collection for the first time.
        """
        found = self._opened.rankers.starting(by)
        if found is None:
            return {}
        return self._opened.rankers.classes.counts(*found)

    def words(self, by: str | None = None) -> dict[str, int]:
        """Return the words that were learned, and how many pictures have each as a label."""
        _, annotator = self._opened.rankers.naming(by)
        uses = Counter(
            key for names in self.labels().values() for key in {word_key(name) for name in names}
        )
        return {word: uses[word_key(word)] for word in annotator.words_}

    def word_neighbours(
        self, word: str, k: int = 10, *, by: str | None = None
    ) -> list[tuple[str, float]]:
        """Return the words most like a word, with the cosine of both (paper 2, Table 3)."""
        most = check_whole("word_neighbours", "k", k, 1)
        _, annotator = self._opened.rankers.naming(by)
        return annotator.related_words(known_word(self.path, word, annotator), most)

    def suggest(self, picture: Ref, k: int = 8, *, by: str | None = None) -> list[Suggestion]:
        """Suggest words for a picture that it does not have and was not refused, best first.

        They come from what was learned, and from the labels of the pictures most like it: so a
        word just given to a picture is suggested for those like it at once. Start words that were
        not learned come last. What is damaged is left out; see :meth:`words_damage`.
        """
        from lookalike.collection.search import suggesting

        ranker = self._opened.rankers.get(by, learned=False)
        annotator = self._opened.rankers.sound_annotator(ranker)
        return suggesting.suggest(ranker, annotator, self._opened.database, picture, k)

    # What the methods above share

    def _named(self, method: str, given: Iterable[int | str | Path] | Where) -> list[int]:
        """Return the ids of pictures, rising, or raise NotFound if one is not there."""
        database = self._opened.database
        if isinstance(given, Where):
            given.check()
            found = self._matching(given)
            every = pictures.ids(database) if found is None else found
            return [int(number) for number in every]
        some = _listed(method, given)
        # One look at all ids rather than one at each, since there may be many.
        known = set(pictures.ids(database).tolist()) if len(some) > 1 else set()
        return sorted({int(one) if one in known else self._opened.id_of(one) for one in some})  # type: ignore[arg-type]

    def _in_bin(self, method: str, given: Iterable[int | str | Path]) -> list[int]:
        """Return the ids of pictures in the bin, or raise NotFound if one is not there."""
        found = []
        for picture in _listed(method, given):
            number = pictures.find_binned(self._opened.database, picture)
            if number is None:
                raise NotFound(
                    f"{self.path} has no picture {picture!s:.300} in the bin. See what is there: "
                    f"lookalike bin, or Collection.bin."
                )
            found.append(number)
        return found

    def _tagging(self, by: str | None) -> FileTagging:
        """Return what gives words to files: the annotator, or start words where there is none."""
        learned, database = self._opened.rankers.annotated(by), self._opened.database
        if learned is not None:
            ranker, annotator = learned
            return FileTagging(LearnedWords(annotator, ranker), ranker, database)
        start = self._opened.rankers.starting(by)
        if start is None:
            raise self._opened.rankers.untaught()
        return FileTagging(KnownWords(start[1], start[0], database), start[0], database)

    def _told(self, row: stored_albums.AlbumRow) -> Album:
        """Return an album with what is in it now."""
        return self._kept(("album", row.id), lambda: albums.told(self._opened, row, self._matching))

    def _plain(self, where: Where | None) -> Where | None:
        """Return a filter by albums as one by ids, and any other as it is."""
        if where is None or where.albums == (None, None):
            return where
        found = self._matching(where)
        return Where(pictures=() if found is None else tuple(found.tolist()))

    def _near_copies(self, key: Hashable, radius: int) -> NearCopies:
        """Return what finds copies, as it was used last if that was for the same key."""
        from lookalike.collection.search.near import NearCopies

        with self._opened.rankers.lock:
            if self._copies is None or self._copies[0] != key:
                self._copies = (key, NearCopies(radius))
            return self._copies[1]

    def _ranked(self, word: str, by: str | None, where: Where | None, learned: bool) -> Ranked:
        """Return all that a search by word finds, again while nobody has written since."""
        return self._once(self._rank, check_text(word), by, where, learned)

    def _rank(
        self, _: Database, text: str, by: str | None, where: Where | None, learned: bool
    ) -> Ranked:
        return rank_word(self._opened, text, by, self._matching(where), learned=learned)

    def _matching(self, where: Where | None) -> NDArray[np.int64] | None:
        """Return the ids to search among, rising, or None for all."""
        if where is None:
            return None
        if where.albums == (None, None):
            return self._once(browsing.matching, where)
        where.check()
        found = self._matching(replace(where, album=None, without_album=None))
        if found is None:
            found = pictures.ids(self._opened.database)
        if where.album is not None:
            found = np.intersect1d(found, np.array(self.album(where.album).members, np.int64))
        if where.without_album is not None:
            left_out = np.array(self.album(where.without_album).members, np.int64)
            found = np.setdiff1d(found, left_out)
        return found

    def _once(self, read: Callable[..., T], *given: Hashable) -> T:
        """Read something of all pictures, or return it again while nobody has written since."""
        for one in given:
            if isinstance(one, Where):
                one.check()
        return self._kept((read, *given), lambda: read(self._opened.database, *given))

    def _kept(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """Return what was made before under a key, while nobody has written since, or make it."""
        version = self._opened.database.version()
        with self._opened.rankers.lock:
            kept = self._answers.get(key)
        if kept is not None and kept[0] == version:
            return cast(T, kept[1])
        found = make()
        with self._opened.rankers.lock:
            self._answers = {
                known: value for known, value in self._answers.items() if value[0] == version
            }
            if len(self._answers) < MOST_KEPT:
                self._answers[key] = (version, found)
        return found


def _listed(method: str, given: Iterable[int | str | Path]) -> list[int | str | Path]:
    """Return pictures as a list, or raise InvalidInput for one that is not in a list."""
    if isinstance(given, str | bytes | os.PathLike):
        raise InvalidInput(
            f"Collection.{method}: pictures must be a list; got {given!r}. Wrap it in a list."
        )
    return list(given)

"""The collection: a folder that keeps pictures, searches them and learns."""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from lookalike.collection import events, learning, naming, rows
from lookalike.collection.adding import Adder, leave_out
from lookalike.collection.database import Database, numbers, stored
from lookalike.collection.describing import fit_feature, is_fitted, open_feature, save_feature
from lookalike.collection.finding import Finding
from lookalike.collection.folder import Folder
from lookalike.collection.growing import grow
from lookalike.collection.hearing import (
    NamedClicks,
    NamedLabels,
    hear,
    knowledge,
    vocabulary,
)
from lookalike.collection.judging import LEARN, judge_similarity, judge_words
from lookalike.collection.lessons import Kind, Lesson, Run
from lookalike.collection.records import (
    Added,
    Figures,
    InUse,
    Learned,
    Trial,
)
from lookalike.collection.serving import load_model, load_tagger, save_models
from lookalike.core.errors import CollectionError, DamagedFile, InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.features import Embedding, Feature
from lookalike.images import Limits, find_pictures


class Collection(Finding):
    """Pictures in a folder of their own: searched by likeness and tagged, which is learned.

    What is committed to the folder's database is what every reader sees, whole: a killed or
    interrupted writer leaves the collection as its last finished step left it. One may write at
    a time, any number read, in this process and in others, and see what was written at their
    next search. A collection may be shared by threads.

    The vectors compared are the feature's; of a dense feature, once there are 512 pictures,
    their first 256 principal components, fitted on the collection, and fitted again when a small
    collection has grown fourfold.

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

    @classmethod
    def create(cls, path: str | Path, *, feature: Feature | None = None) -> Self:
        """Make a new, empty collection.

        Parameters
        ----------
        path : str or Path
            A folder that does not exist yet, or is empty.
        feature : Feature, optional
            How pictures are described; by default :class:`~lookalike.features.Embedding`. A
            ``Visterms`` that is not fitted is fitted on the pictures added first.
        """
        chosen = Embedding() if feature is None else feature
        with Folder.making(Path(path)) as folder:
            Database.create(folder.database)
            save_feature(chosen, folder)
        return cls.open(path, feature=chosen if is_fitted(chosen) else None)

    @classmethod
    def open(cls, path: str | Path, *, feature: Feature | None = None) -> Self:
        """Open a collection.

        Parameters
        ----------
        path : str or Path
        feature : Feature, optional
            The feature it was made with, where that is one of your own; the collection knows
            lookalike's features itself.

        Raises
        ------
        CollectionError
            If there is no collection.
        DamagedFile
            If a file is damaged or of a newer version.
        FingerprintMismatch
            If the feature is another than the collection's.
        """
        folder = Folder(Path(path))
        chosen = open_feature(folder, feature)
        if not folder.database.exists():
            raise DamagedFile(
                f"{folder.database} is missing. Put back a copy of the collection, or index again."
            )
        return cls(folder, Database(folder.database), chosen)

    def add(
        self,
        sources: Iterable[str | Path],
        *,
        removed: bool = True,
        limits: Limits | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Added:
        """Bring in the pictures among files, folders and globs.

        Files that are known and whose size and time are unchanged are not read again, so a
        second run is quick and an interrupted one goes on. What is described is committed every
        few seconds. A picture is known by its content: at a second path it is a copy, and if the
        first path is gone, it moved. When a file's content changes, it is another picture, and
        the old one goes if it lies nowhere else.

        Parameters
        ----------
        sources : iterable of str or Path
        removed : bool
            Whether files whose pictures were removed come in again; else they stay out while
            they are as they were then.
        limits : Limits, optional
            What a picture may cost before it is refused.
        threads : int, optional
            By default one a core.
        progress : callable
            Told how many files are done; before that, where visterms are fitted, the steps; and
            after it the steps of learning again, where the collection has grown so much.
        """
        given = list(sources) if not isinstance(sources, str | bytes | os.PathLike) else sources
        found = find_pictures(given)
        with self._writing():
            # A search meanwhile may read it anew, as it is without being fitted.
            feature = self._feature
            if not is_fitted(feature):
                fit_feature(feature, found.paths, limits, progress)
                save_feature(feature, self._folder)
            roots = [(stored(folder),) for folder in found.folders]
            with self._database.transaction() as connection:
                connection.executemany(
                    "INSERT OR IGNORE INTO roots VALUES (CAST(? AS TEXT))", roots
                )
            adder = Adder(
                self._database,
                feature,
                removed=removed,
                limits=limits,
                threads=threads,
                progress=progress,
            )
            adder.run(found.paths)
            if is_fitted(feature):
                grow(self._folder, self._database, feature, adder.added, progress)
                self._save_cache()
        adder.added.ignored = found.ignored
        adder.added.refused[:0] = found.problems
        return adder.added

    def remove(
        self, pictures: Iterable[int | str | Path], *, who: str = "", key: str | None = None
    ) -> int:
        """Remove pictures, all or none, with all that is kept of them.

        What was learned from votes on them goes, too. The log keeps their numbers.

        Parameters
        ----------
        pictures : iterable of int, str or Path
            Ids, or paths of the files; a picture goes with all its places. The files stay.
        who : str
            Who removes them, where there are several.
        key : str, optional
            A name for this removal: sent twice, the second time removes nothing.

        Returns
        -------
        int
            How many pictures went.
        """
        if isinstance(pictures, str | bytes | os.PathLike):
            raise InvalidInput(
                f"Collection.remove: pictures must be a list; got {pictures!r}. Put it into one."
            )
        events.check_names(who, key)
        with self._writing():
            if self._database.row("SELECT 1 FROM events WHERE key = ?", key) is not None:
                return 0
            named = {picture: rows.find_id(self._database, picture) for picture in pictures}
            for picture, number in named.items():
                if number is None:
                    raise self._unknown(picture)
            ids = {number for number in named.values() if number is not None}
            if not ids:
                return 0
            cache = self._folder.cache(self._serve().space.fingerprint)
            cached = cache.exists()
            # It holds their vectors, and must not outlive them if we are stopped half way.
            cache.unlink(missing_ok=True)
            with self._database.transaction() as connection:
                leave_out(connection, ids)
                connection.execute(
                    "DELETE FROM pictures WHERE id IN (SELECT value FROM json_each(?))",
                    (numbers(ids),),
                )
                body = {"pictures": sorted(ids)}
                events.append(connection, "deletion", body, who=who, key=key)
            self._database.forget()
            if cached:
                self._save_cache()
        return len(ids)

    def learn(
        self,
        labels: NamedLabels | None = None,
        *,
        folders: bool = False,
        clicks: NamedClicks | None = None,
        threshold: float = 0.0,
        settings: Mapping[str, Any] | None = None,
        hold_back: float = 0.2,
        random_state: int | None = 0,
        progress: Progress = silent,
    ) -> Learned:
        """Learn what is alike and what pictures are called, and use it if it is no worse.

        Labels and folders teach both: which pictures are alike, and their words (paper 2). Clicks
        teach only what is alike. A share of the pictures is held back; the models learn from the
        others, and each is judged beside what is in use now by those held back: how these rank each
        other, and how they rank words. Without words in use, words are ranked by how many pictures
        have them, and only mean average precision is compared. Pictures that a model in use was
        judged by or learned from stay on their side, so that the two are compared on what neither
        has seen; only a picture without which a word would not be learned at all is always learned
        from.

        Each is published by itself. Where only one of them can be learned, the other is as before
        and says why.

        Parameters
        ----------
        labels : mapping from path to labels, optional
            Paths are absolute, relative to the current folder or to one that was added, or the
            last parts of a path where those are unique. They replace the labels these pictures
            have. With nothing given, what was given before is learned from again. Words that
            differ in case or Unicode form only are tagged with as one.
        folders : bool
            Take the folder a picture lies in for its label.
        clicks : mapping from query to {path: weight}, optional
            Which pictures people chose for a query; they replace those of the same query.
        threshold : float
            θ of paper 1, Eq. 20, for ``clicks``: pictures are alike if the probability that both
            are chosen is above it. Learning again uses the same.
        settings : mapping, optional
            Parameters for :class:`~lookalike.similarity.OASIS`, which learns what is alike.
        hold_back : float
            The share of pictures to judge by, above 0 and below 1.
        random_state : int or None
            Makes a run repeatable.
        progress : callable
            Told the steps of learning what is alike, then those of learning words.
        """
        if not 0 < hold_back < 1:
            raise InvalidInput(f"learn: hold_back must be above 0 and below 1; got {hold_back!r}.")
        learner = learning.new_learner(settings, random_state)
        written = _json_settings({"random_state": random_state, **(settings or {})})
        with self._writing():
            if not len(self):
                raise self._empty()
            heard = hear(self._database, labels, folders, clicks, threshold)
            known, named = knowledge(self._database, heard), vocabulary(self._database, heard)
            serving = self._serve()
            results: dict[Kind, Lesson | Trial] = {
                "similarity": learning.teach(
                    learner,
                    known,
                    serving.vectors(known.ids),
                    rows.sides(self._database, serving.number),
                    current=serving.model,
                    hold_back=hold_back,
                    settings=written,
                    progress=progress,
                )
            }
            if named is not None:
                results["tags"] = naming.teach(
                    named,
                    serving.vectors(named.ids),
                    rows.sides(self._database, serving.tagger),
                    current=self._tagger_of(serving),
                    hold_back=hold_back,
                    random_state=random_state,
                    progress=progress,
                )
            run = Run(results, rows.next_model(self._database))
            if not run.lessons:
                raise InvalidInput(results["similarity"].reason)
            save_models(self._folder, run, serving.space)
            with self._database.transaction() as connection:
                rows.keep_labels(connection, heard.labels)
                rows.keep_clicks(connection, heard.clicks)
                rows.keep_run(connection, run, rows.in_use(self._database))
                told = run.told(heard.unmatched)
                events.append(connection, "learn", told.summary())
        return told

    def evaluate(self) -> tuple[Figures, Figures]:
        """Judge plain cosine and what searches use now, on the pictures last held back."""
        return judge_similarity(self.path, self._database, self._serve())

    def evaluate_words(self) -> tuple[Figures, Figures]:
        """Judge the words that most pictures have and those in use now, on the pictures held back.

        The first is the ranking of all words by how many pictures have them, the same for each
        picture; the second is what pictures are tagged with.
        """
        serving = self._serve()
        return judge_words(self.path, self._database, serving, self._tagger_of(serving))

    def rollback(self) -> InUse:
        """Undo the last learning that is in use: searches and tags are as they were before it.

        What was learned together is undone together. Give what is in use then.
        """
        with self._writing():
            back = rows.before_the_last_run(self._database)
            if not back:
                raise CollectionError(f"{self.path} uses no model, so there is none to roll back.")
            load = {"similarity": load_model, "tags": load_tagger}
            for kind, (previous, kept) in back.items():
                if not kept:
                    raise CollectionError(
                        f"{self.path} keeps the model in use and the one before; {previous} is "
                        f"older. Learn again {LEARN}."
                    )
                if previous is not None:
                    load[kind](self._folder, previous, self._fingerprint())
            with self._database.transaction() as connection:
                for kind, (previous, _) in back.items():
                    rows.use_model(connection, kind, previous)
                events.append(connection, "rollback", {k: back[k][0] for k in back})
            current = rows.in_use(self._database)
        return InUse(current.get("similarity"), current.get("tags"))


def _json_settings(settings: Mapping[str, Any]) -> str:
    try:
        return json.dumps(settings, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"Collection.learn: settings must be text, numbers, true or false, or None; {error}."
        ) from error

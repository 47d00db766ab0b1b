"""The collection: a folder that keeps pictures, searches them and learns."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self

import numpy as np

from lookalike.collection import learning, rows
from lookalike.collection.adding import Adder
from lookalike.collection.database import Database, numbers, stored
from lookalike.collection.describing import fit_feature, is_fitted, open_feature, save_feature
from lookalike.collection.folder import Folder
from lookalike.collection.growing import grow
from lookalike.collection.hearing import Heard, hear, knowledge
from lookalike.collection.learning import NamedClicks, NamedLabels
from lookalike.collection.querying import Query, query_vector
from lookalike.collection.records import Added, Figures, Learned, Match, ModelRow, PictureRow
from lookalike.collection.serving import Serving, load_model, save_model, serve
from lookalike.collection.vectors import save_index
from lookalike.core.errors import CollectionError, DamagedFile, InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.seeds import generator
from lookalike.features import Embedding, Feature
from lookalike.images import Limits, Refused, find_pictures

_LEARN = "(lookalike learn, or Collection.learn)"


class Collection:
    """Pictures in a folder of their own: searched by likeness, which can be learned.

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

    def __init__(self, folder: Folder, database: Database, feature: Feature) -> None:
        self._folder = folder
        self._database = database
        self._feature = feature
        self._lock = RLock()
        self._serving: Serving | None = None
        self._seen: int | None = None

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

    def close(self) -> None:
        """Close the collection; nothing is left to be saved."""
        self._database.close()
        self._serving = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        """Count the pictures."""
        return int(self._database.rows("SELECT count(*) FROM pictures")[0][0])

    @property
    def path(self) -> Path:
        """The folder of the collection."""
        return self._folder.path

    @property
    def feature(self) -> Feature:
        """How pictures are described."""
        return self._feature

    def add(
        self,
        sources: Iterable[str | Path],
        *,
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
            if not is_fitted(self._feature):
                fit_feature(self._feature, found.paths, limits, progress)
                save_feature(self._feature, self._folder)
            roots = [(stored(folder),) for folder in found.folders]
            with self._database.transaction() as connection:
                connection.executemany(
                    "INSERT OR IGNORE INTO roots VALUES (CAST(? AS TEXT))", roots
                )
            adder = Adder(
                self._database, self._feature, limits=limits, threads=threads, progress=progress
            )
            adder.run(found.paths)
            if is_fitted(self._feature):
                adder.added.learned_again, adder.added.unlearned = grow(
                    self._folder, self._database, self._feature, progress
                )
                self._save_cache()
        adder.added.ignored = found.ignored
        adder.added.refused[:0] = found.problems
        return adder.added

    def remove(self, pictures: Iterable[int | str | Path]) -> int:
        """Remove pictures, all or none, with all that is kept of them.

        Parameters
        ----------
        pictures : iterable of int, str or Path
            Ids, or paths of the files; a picture goes with all its places. The files stay.

        Returns
        -------
        int
            How many pictures went.
        """
        if isinstance(pictures, str | bytes | os.PathLike):
            raise InvalidInput(
                f"Collection.remove: pictures must be a list; got {pictures!r}. Put it into one."
            )
        with self._writing():
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
                connection.execute(
                    "DELETE FROM pictures WHERE id IN (SELECT value FROM json_each(?))",
                    (numbers(ids),),
                )
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
        """Learn what is alike, and use it in searches if it ranks no worse than before.

        A share of the pictures is held back; the model learns from the others, and both it and
        what searches use now rank the held-back ones among themselves. Pictures that the model
        in use was judged by or learned from stay on their side, so that the two are compared on
        what neither has seen.

        Parameters
        ----------
        labels : mapping from path to labels, optional
            Paths are absolute, relative to the current folder or to one that was added, or the
            last parts of a path where those are unique. They replace the labels these pictures
            have. With nothing given, what was given before is learned from again.
        folders : bool
            Take the folder a picture lies in for its label.
        clicks : mapping from query to {path: weight}, optional
            Which pictures people chose for a query; they replace those of the same query.
        threshold : float
            θ of paper 1, Eq. 20, for ``clicks``: pictures are alike if the probability that both
            are chosen is above it. Learning again uses the same.
        settings : mapping, optional
            Parameters for :class:`~lookalike.similarity.OASIS`.
        hold_back : float
            The share of pictures to judge by, above 0 and below 1.
        random_state : int or None
            Makes a run repeatable.
        progress : callable
            Told the steps of learning.
        """
        if not 0 < hold_back < 1:
            raise InvalidInput(f"learn: hold_back must be above 0 and below 1; got {hold_back!r}.")
        learner = learning.new_learner(settings, random_state)
        written = _json_settings({"random_state": random_state, **(settings or {})})
        with self._writing():
            if not len(self):
                raise self._empty()
            heard = hear(self._database, labels, folders, clicks, threshold)
            known = knowledge(self._database, heard)
            serving = self._serve()
            sides = rows.sides(self._database, serving.number)
            split = known.split(hold_back, generator(random_state), sides)
            X = serving.vectors(known.ids)
            lesson = learning.teach(
                learner, known, X, split, current=serving.model, progress=progress
            )
            number = rows.next_model(self._database)
            save_model(self._folder, number, lesson, serving.space)
            with self._database.transaction() as connection:
                rows.keep_labels(connection, heard.labels)
                rows.keep_clicks(connection, heard.clicks)
                rows.keep_lesson(
                    connection, number, lesson, previous=serving.number, settings=written
                )
        return lesson.told(number, heard.unmatched)

    def search(
        self,
        query: Query,
        k: int = 10,
        *,
        learned: bool = True,
        limits: Limits | None = None,
    ) -> list[Match]:
        """Find the pictures most like a query, best first.

        Parameters
        ----------
        query : int, str, Path, bytes or Image
            A picture of the collection by its id or path; or any picture, as a file, its content
            or a Pillow image. A picture that is in the collection, however it is named, is not
            among its own matches. A file that has changed since it was added counts as it is
            now; one that is gone, as it was.
        k : int
            How many to find at most, from 1.
        learned : bool
            Whether to use what was learned; else the cosine of the vectors.
        limits : Limits, optional
            What the query may cost to decode before it is refused.
        """
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise InvalidInput(f"search: k must be a whole number from 1; got {k!r}.")
        serving = self._serve()
        found = query_vector(query, serving, self._database, limits)
        if found is None:
            raise self._unknown(query)
        vector, own = found
        index = serving.plain
        if learned and serving.model is not None:
            index, vector = serving.learned, serving.model.query_vectors(vector)
        most = min(int(k), max(len(index), 1))
        hits = index.search(vector, most, exclude=np.array([[own]]))
        scores = dict(zip(hits.ids[0].tolist(), hits.scores[0].tolist(), strict=True))
        places = rows.places_of(self._database, scores)
        return [
            Match(number, places[number][0], score, places[number])
            for number, score in scores.items()
            if number in places
        ]

    def evaluate(self) -> tuple[Figures, Figures]:
        """Judge plain cosine and what searches use now, on the pictures last held back."""
        sides = rows.sides(self._database, rows.last_model(self._database))
        if sides is None:
            raise InvalidInput(
                f"{self.path} has learned nothing yet, so there is nothing to judge by. Learn from "
                f"labels, folders or clicks first {_LEARN}."
            )
        serving = self._serve()
        known = knowledge(self._database, Heard())
        last = np.intersect1d(sides[0], serving.plain.ids)
        held = np.flatnonzero(np.isin(known.ids, last))
        judges = known.relevance.subset(held)
        if not judges.has_alike.any():
            raise InvalidInput(
                f"{self.path} holds too few of the pictures it was judged by. Learn again {_LEARN}."
            )
        X = serving.vectors(known.ids[held])
        return learning.figures(None, X, judges), learning.figures(serving.model, X, judges)

    def rollback(self) -> int | None:
        """Let searches use the model published before; give its number, None for none."""
        with self._writing():
            current = self._database.state().get("model")
            if current is None:
                raise CollectionError(f"{self.path} uses no model, so there is none to roll back.")
            row = self._database.row(
                "SELECT previous, (SELECT file FROM models WHERE number = m.previous) "
                "FROM models AS m WHERE number = ?",
                current,
            )
            previous, file = row or (None, None)
            if previous is not None and file is None:
                raise CollectionError(
                    f"{self.path} keeps the model in use and the one before; {previous} is older. "
                    f"Learn again {_LEARN}."
                )
            if previous is not None:
                load_model(self._folder, previous, self._fingerprint())
            with self._database.transaction() as connection:
                rows.use_model(connection, previous)
        return None if previous is None else int(previous)

    def pictures(self) -> Iterator[PictureRow]:
        """Go over all pictures by rising id."""
        return rows.pictures(self._database, 0)

    def picture(self, number: int) -> PictureRow:
        """Give what is known of a picture."""
        for found in rows.pictures(self._database, number, number):
            return found
        raise self._unknown(number)

    def thumbnail(self, number: int) -> bytes:
        """Give a small JPEG of a picture."""
        row = self._database.row("SELECT jpeg FROM thumbnails WHERE picture = ?", number)
        if row is None:
            raise self._unknown(number)
        return bytes(row[0])

    def labels(self) -> dict[int, list[str]]:
        """Give the labels of all pictures that have any."""
        return rows.labels(self._database)

    def refused(self) -> list[Refused]:
        """Give the files that could not be used when they were last looked at."""
        found = self._database.rows("SELECT path, reason FROM refused ORDER BY path")
        return [Refused(Path(path), reason) for path, reason in found]

    def models(self) -> list[ModelRow]:
        """Give what was learned, oldest first, published or not."""
        return rows.models(self._database)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Be the one who writes, and tidy up after one who was stopped."""
        with self._folder.writing():
            self._refresh_feature()
            named = [self._folder.model(number) for number in rows.model_files(self._database)]
            if is_fitted(self._feature):
                current = self._fingerprint()
                named += [self._folder.reduction(current), self._folder.cache(current)]
            self._folder.clean(named)
            yield

    def _serve(self) -> Serving:
        """Give what searches use now."""
        with self._lock:
            self._refresh_feature()
            if not is_fitted(self._feature):
                raise self._empty()
            version = self._database.version()
            if self._serving is None or version != self._seen:
                self._serving = serve(self._serving, self._folder, self._database, self._feature)
                self._seen = version
            return self._serving

    def _fingerprint(self) -> str:
        """Name the space that searches are made in, whether or not its files are whole."""
        return str(self._database.state().get("reduction", self._feature.fingerprint))

    def _refresh_feature(self) -> None:
        """Take over a feature that another process has fitted since."""
        if not is_fitted(self._feature):
            self._feature = open_feature(self._folder)

    def _save_cache(self) -> None:
        serving = self._serve()
        save_index(serving.plain, serving.space, self._folder.cache(serving.space.fingerprint))

    def _unknown(self, picture: object) -> CollectionError:
        return CollectionError(
            f"{self.path} has no picture {picture!s:.300}. Name one by the path it was added from, "
            f"or by its id, as Collection.pictures lists them."
        )

    def _empty(self) -> CollectionError:
        return CollectionError(
            f"{self.path} holds no pictures yet. Add some first (lookalike index, or "
            f"Collection.add)."
        )


def _json_settings(settings: Mapping[str, Any]) -> str:
    try:
        return json.dumps(settings, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"Collection.learn: settings must be text, numbers, true or false, or None; {error}."
        ) from error

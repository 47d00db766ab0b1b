"""The collection: a folder that keeps pictures, searches them and learns."""

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self

import numpy as np
from PIL import Image

from lookalike.collection import learning, rows
from lookalike.collection.adding import Adder
from lookalike.collection.database import Database, numbers, stored
from lookalike.collection.describing import fit_feature, is_fitted, open_feature, save_feature
from lookalike.collection.folder import Folder
from lookalike.collection.hearing import Heard, hear, knowledge
from lookalike.collection.learning import Lesson, NamedClicks, NamedLabels
from lookalike.collection.records import Added, Figures, Learned, Match, ModelRow, PictureRow
from lookalike.collection.serving import Serving, load_model, serve
from lookalike.collection.vectors import (
    Space,
    fit_reduction,
    load_index,
    reduction_is_due,
    save_index,
)
from lookalike.core.errors import CollectionError, DamagedFile, InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.seeds import generator
from lookalike.features import Embedding, Feature, Vectors
from lookalike.images import Limits, Refused, content_hash, decode, find_pictures, read_bytes
from lookalike.images.colours import to_rgb

_log = logging.getLogger(__name__)


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
            Told how many files are done; before that, where visterms are fitted, the steps.
        """
        given = list(sources) if not isinstance(sources, str | bytes | os.PathLike) else sources
        found = find_pictures(given)
        with self._writing():
            if not is_fitted(self._feature):
                fit_feature(self._feature, found.paths, limits, progress)
                save_feature(self._feature, self._folder)
            roots = [(stored(source),) for source in given if Path(source).is_dir()]
            with self._database.transaction() as connection:
                connection.executemany(
                    "INSERT OR IGNORE INTO roots VALUES (CAST(? AS TEXT))", roots
                )
            adder = Adder(
                self._database, self._feature, limits=limits, threads=threads, progress=progress
            )
            adder.run(found.paths)
            if is_fitted(self._feature):
                self._reduce_if_due()
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
        settings : mapping, optional
            Parameters for :class:`~lookalike.similarity.OASIS`.
        hold_back : float
            The share of pictures to judge by.
        random_state : int or None
            Makes a run repeatable.
        progress : callable
            Told the steps of learning.
        """
        learner = learning.new_learner(settings, random_state)
        written = _json_settings({"random_state": random_state, **(settings or {})})
        with self._writing():
            heard = hear(self._database, labels, folders, clicks)
            known = knowledge(self._database, heard)
            serving = self._serve()
            sides = rows.sides(self._database, serving.number)
            split = known.split(hold_back, generator(random_state), sides)
            X = serving.vectors(known.ids)
            lesson = learning.teach(
                learner, known, X, split, current=serving.model, progress=progress
            )
            number = self._save_model(lesson, serving.space)
            with self._database.transaction() as connection:
                rows.keep_labels(connection, heard.labels)
                rows.keep_clicks(connection, heard.clicks)
                rows.keep_lesson(
                    connection, number, lesson, previous=serving.number, settings=written
                )
        return Learned(
            before=lesson.before,
            after=lesson.after,
            published=lesson.published,
            pictures=len(known.ids),
            labels=known.labels,
            held_back=len(lesson.held_back),
            unmatched=heard.unmatched,
            model=number if lesson.published else None,
        )

    def search(
        self,
        query: int | str | Path | bytes | Image.Image,
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
            among its own matches.
        k : int
            How many to find at most.
        learned : bool
            Whether to use what was learned; else the cosine of the vectors.
        limits : Limits, optional
            What the query may cost to decode before it is refused.
        """
        serving = self._serve()
        vector, own = self._query(query, serving, limits)
        index = serving.plain
        if learned and serving.model is not None:
            index, vector = serving.learned, serving.model.query_vectors(vector)
        hits = index.search(vector, k, exclude=np.array([[own]]))
        scores = dict(zip(hits.ids[0].tolist(), hits.scores[0].tolist(), strict=True))
        places = rows.places_of(self._database, scores)
        return [
            Match(number, places[number][0], score, places[number])
            for number, score in scores.items()
            if number in places
        ]

    def evaluate(self) -> tuple[Figures, Figures]:
        """Judge plain cosine and what searches use now, on the pictures last held back."""
        row = self._database.row("SELECT held_back FROM models ORDER BY number DESC LIMIT 1")
        if row is None:
            raise InvalidInput(
                f"{self.path} has learned from no labels yet, so there is nothing to judge by. "
                f"Call learn first."
            )
        serving = self._serve()
        known = knowledge(self._database, Heard())
        last = np.intersect1d(np.frombuffer(row[0], "<i8"), serving.plain.ids)
        held = np.flatnonzero(np.isin(known.ids, last))
        judges = known.relevance.subset(held)
        if not judges.has_alike.any():
            raise InvalidInput(
                f"{self.path} holds too few of the pictures it was judged by. Call learn again."
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
                    f"Call learn again."
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
                raise CollectionError(f"{self.path} holds no pictures yet. Add some first.")
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

    def _reduce_if_due(self) -> None:
        """Fit the reduction, and all that hangs on it, beside what is in use; then change over."""
        state = self._database.state()
        pictures = len(self)
        if not reduction_is_due(self._feature, pictures, state.get("reduced_at")):
            return
        space = Space(self._feature, fit_reduction(self._feature, self._database))
        fingerprint = space.fingerprint
        try:
            space.save(self._folder.reduction(fingerprint))
        except OSError as error:
            raise self._not_written(error) from error
        plain = load_index(space, self._database, self._folder.cache(fingerprint))
        save_index(plain, space, self._folder.cache(fingerprint))
        again = None
        if "model" in state:
            again = self._learn_again(Serving.of(space, plain, None, None), state["model"])
        with self._database.transaction() as connection:
            rows.use_model(connection, None)
            if again is not None:
                number, lesson, settings = again
                rows.keep_lesson(connection, number, lesson, previous=None, settings=settings)
            connection.executemany(
                "INSERT OR REPLACE INTO state VALUES (?, ?)",
                [("reduction", fingerprint), ("reduced_at", pictures)],
            )

    def _learn_again(self, serving: Serving, current: int) -> tuple[int, Lesson, str] | None:
        """Learn in a new space what the model in use has learned in the old one."""
        row = self._database.row("SELECT settings FROM models WHERE number = ?", current)
        settings = str(row[0]) if row else "{}"
        try:
            known = knowledge(self._database, Heard())
            split = known.split(0.2, generator(0), rows.sides(self._database, current))
            learner = learning.new_learner(json.loads(settings), 0)
            X = serving.vectors(known.ids)
            lesson = learning.teach(learner, known, X, split, current=None, progress=silent)
        except InvalidInput as error:
            _log.warning("%s: nothing was learned again: %s", self.path, error)
            return None
        return self._save_model(lesson, serving.space), lesson, settings

    def _save_model(self, lesson: Lesson, space: Space) -> int:
        """Give a lesson its number and, if it is to be published, write its model."""
        number = rows.next_model(self._database)
        if lesson.published:
            try:
                lesson.model.save(self._folder.model(number), fingerprint=space.fingerprint)
            except OSError as error:
                raise self._not_written(error) from error
        return number

    def _save_cache(self) -> None:
        serving = self._serve()
        save_index(serving.plain, serving.space, self._folder.cache(serving.space.fingerprint))

    def _query(
        self, query: int | str | Path | bytes | Image.Image, serving: Serving, limits: Limits | None
    ) -> tuple[Vectors, int]:
        """Give the vector of a query, a row, and its own id, or -1."""
        if isinstance(query, Image.Image):
            return serving.space.place(self._feature.describe([to_rgb(query)])), -1
        content = query if isinstance(query, bytes) else None
        number = None if isinstance(query, bytes) else rows.find_id(self._database, query)
        if number is None and isinstance(query, str | os.PathLike):
            content = read_bytes(query, limits)
        if content is not None:
            number = rows.find_content(self._database, content_hash(content))
            if number is None:
                image = decode(content, limits, side=self._feature.decode_side).image
                return serving.space.place(self._feature.describe([image])), -1
        if number is None or number not in serving.plain.ids:
            raise self._unknown(query)
        return serving.vector(number), number

    def _unknown(self, picture: object) -> CollectionError:
        return CollectionError(
            f"{self.path} has no picture {picture!s:.300}. List them with Collection.pictures."
        )

    def _not_written(self, error: OSError) -> CollectionError:
        return CollectionError(
            f"{self.path} cannot be written to: {error}. What was finished before is kept; make "
            f"room and do it again."
        )


def _json_settings(settings: Mapping[str, Any]) -> str:
    try:
        return json.dumps(settings, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"Collection.learn: settings must be text, numbers, true or false, or None; {error}."
        ) from error

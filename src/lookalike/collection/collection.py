"""The collection: a folder that keeps pictures, searches them and learns."""

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from sqlite3 import Connection
from threading import RLock
from types import TracebackType
from typing import Any, Self

import numpy as np
from PIL import Image

from lookalike.collection import learning
from lookalike.collection.adding import Adder, fit_visterms, now
from lookalike.collection.database import Database, numbers, stored
from lookalike.collection.folder import Folder
from lookalike.collection.learning import Ids, Knowledge
from lookalike.collection.names import Places
from lookalike.collection.records import Added, Figures, Learned, Match, ModelRow, PictureRow
from lookalike.collection.serving import Serving, load_model, serve
from lookalike.collection.vectors import (
    Space,
    fit_reduction,
    load_index,
    reduction_is_due,
    save_index,
)
from lookalike.core.errors import CollectionError, DamagedFile, InvalidInput, NotFitted
from lookalike.core.fingerprint import check_fingerprint
from lookalike.core.progress import Progress, silent
from lookalike.core.seeds import generator
from lookalike.features import Embedding, Feature, Vectors, Visterms, load_feature
from lookalike.images import Limits, Refused, content_hash, decode, find_pictures, read_bytes
from lookalike.images.colours import to_rgb
from lookalike.similarity import OASIS

_PAGE = 1000

_log = logging.getLogger(__name__)


class Collection:
    """Pictures in a folder of their own: searched by likeness, which can be learned.

    What is committed to the folder's database is what every reader sees, whole: a killed or
    interrupted writer leaves the collection as its last finished step left it. One may write at
    a time, any number read, in this process and in others, and see what was written at their
    next search. A collection may be shared by threads.

    The vectors compared are the feature's; of a dense feature, once there are 1,024 pictures,
    their first 256 principal components, fitted on the collection, and fitted again when a small
    collection has grown fourfold.

    Use :meth:`create` or :meth:`open`, and ``with`` to close it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("red", "green", "tomato"):
    ...     Image.new("RGB", (64, 64), name).save(folder / f"{name}.png")
    >>> with Collection.create(folder / "collection") as collection:
    ...     _ = collection.add([folder])
    ...     [match.path.name for match in collection.search(folder / "red.png")]
    ['tomato.png', 'green.png']
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
        folder = Folder(Path(path))
        folder.make()
        chosen = Embedding() if feature is None else feature
        with folder.writing():
            folder.empty()
            try:
                if _is_fitted(chosen):
                    chosen.save(folder.feature)
                Database.create(folder.database)
                folder.write_manifest(_manifest(chosen))
            except OSError as error:
                raise CollectionError(f"{path} cannot be made a collection: {error}.") from error
        return cls(folder, Database(folder.database), chosen)

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
        chosen = _read_feature(folder, feature)
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
            if not _is_fitted(self._feature):
                self._fit_feature(found.paths, limits, progress)
            roots = [(stored(source),) for source in given if Path(source).is_dir()]
            with self._database.transaction() as connection:
                connection.executemany(
                    "INSERT OR IGNORE INTO roots VALUES (CAST(? AS TEXT))", roots
                )
            adder = Adder(
                self._database, self._feature, limits=limits, threads=threads, progress=progress
            )
            adder.run(found.paths)
            if _is_fitted(self._feature):
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
            ids = {self._known_id(picture) for picture in pictures}
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
        labels: Mapping[str | Path, Sequence[str]] | None = None,
        *,
        folders: bool = False,
        clicks: Mapping[str, Mapping[str | Path, float]] | None = None,
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
        if (labels is not None) + folders + (clicks is not None) > 1:
            raise InvalidInput("Collection.learn: give one of labels, folders and clicks.")
        learner = learning.new_learner(settings, random_state)
        kept_settings = _json_settings({"random_state": random_state, **(settings or {})})
        with self._writing():
            if labels is not None or folders:
                new_labels, unmatched = self._new_labels(labels)
                knowledge = Knowledge.of_labels({**self.labels(), **new_labels})

                def keep(connection: Connection) -> None:
                    _keep_labels(connection, new_labels)
            elif clicks is not None:
                new_clicks, unmatched = learning.named_clicks(clicks, self._places())
                knowledge = Knowledge.of_clicks({**self._clicks(), **new_clicks})

                def keep(connection: Connection) -> None:
                    _keep_clicks(connection, new_clicks)
            else:
                unmatched, knowledge, keep = [], self._knowledge(), _keep_nothing
            serving = self._serve()
            rng = generator(random_state)
            train, held = knowledge.split(hold_back, rng, self._sides(serving.number))
            X = serving.vectors(knowledge.ids)
            learning.fit(learner, X[train], knowledge.relevance.subset(train), progress)
            judges = knowledge.relevance.subset(held)
            before = learning.figures(serving.model, X[held], judges)
            after = learning.figures(learner, X[held], judges)
            published = learning.is_no_worse(after, before)
            number = self._next_model()
            if published:
                self._save_model(learner, number, serving.space.fingerprint)
            with self._database.transaction() as connection:
                keep(connection)
                _keep_model(
                    connection,
                    number,
                    serving.number,
                    published=published,
                    source=knowledge.source,
                    settings=kept_settings,
                    figures=(before, after),
                    sides=(knowledge.ids[held], knowledge.ids[train]),
                )
        return Learned(
            before,
            after,
            published,
            len(knowledge.ids),
            knowledge.labels,
            len(held),
            unmatched,
            number if published else None,
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
        places = self._places_of(number for number in scores if number >= 0)
        return [
            Match(number, places[number][0], score, places[number])
            for number, score in scores.items()
            if number in places
        ]

    def evaluate(self) -> tuple[Figures, Figures]:
        """Judge plain cosine and what searches use now, on the pictures last held back."""
        row = self._database.row(
            "SELECT source, held_back FROM models ORDER BY number DESC LIMIT 1"
        )
        if row is None:
            raise InvalidInput(
                f"{self.path} has learned from no labels yet, so there is nothing to judge by. "
                f"Call learn first."
            )
        knowledge = self._knowledge(row[0])
        held = np.flatnonzero(np.isin(knowledge.ids, np.frombuffer(row[1], "<i8")))
        judges = knowledge.relevance.subset(held)
        if not judges.has_alike.any():
            raise InvalidInput(
                f"{self.path} holds too few of the pictures it was judged by. Call learn again."
            )
        serving = self._serve()
        X = serving.vectors(knowledge.ids[held])
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
                load_model(self._folder, previous, self._serve().space.fingerprint)
            with self._database.transaction() as connection:
                _use_model(connection, previous)
        return None if previous is None else int(previous)

    def pictures(self) -> Iterator[PictureRow]:
        """Go over all pictures by rising id."""
        last = -1
        while True:
            rows = self._database.rows(
                f"SELECT {_FACTS} FROM pictures WHERE id > ? ORDER BY id LIMIT ?", last, _PAGE
            )
            if not rows:
                return
            places = self._places_of(row[0] for row in rows)
            for row in rows:
                if row[0] in places:
                    yield PictureRow(*row, places[row[0]])
            last = rows[-1][0]

    def picture(self, number: int) -> PictureRow:
        """Give what is known of a picture."""
        row = self._database.row(f"SELECT {_FACTS} FROM pictures WHERE id = ?", number)
        places = self._places_of([number])
        if row is None or not places:
            raise self._unknown(number)
        return PictureRow(*row, places[number])

    def thumbnail(self, number: int) -> bytes:
        """Give a small JPEG of a picture."""
        row = self._database.row("SELECT jpeg FROM thumbnails WHERE picture = ?", number)
        if row is None:
            raise self._unknown(number)
        return bytes(row[0])

    def labels(self) -> dict[int, list[str]]:
        """Give the labels of all pictures that have any."""
        found: dict[int, list[str]] = {}
        rows = self._database.rows("SELECT picture, label FROM labels ORDER BY picture, label")
        for picture, label in rows:
            found.setdefault(picture, []).append(label)
        return found

    def refused(self) -> list[Refused]:
        """Give the files that could not be used when they were last looked at."""
        rows = self._database.rows("SELECT path, reason FROM refused ORDER BY path")
        return [Refused(Path(path), reason) for path, reason in rows]

    def models(self) -> list[ModelRow]:
        """Give what was learned, oldest first, published or not."""
        current = self._database.state().get("model")
        rows = self._database.rows(
            "SELECT number, made, settings, figures, published FROM models ORDER BY number"
        )
        return [
            ModelRow(
                number,
                made,
                json.loads(settings),
                *(Figures(**each) for each in json.loads(figures)),
                bool(published),
                number == current,
            )
            for number, made, settings, figures, published in rows
        ]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._folder.writing():
            self._refresh_feature()
            state = self._database.state()
            named = [self._folder.reduction(state["reduction"])] if "reduction" in state else []
            if _is_fitted(self._feature):
                current = state.get("reduction", self._feature.fingerprint)
                named.append(self._folder.cache(current))
            kept = self._database.rows("SELECT number FROM models WHERE file IS NOT NULL")
            self._folder.clean([*named, *(self._folder.model(number) for (number,) in kept)])
            yield

    def _serve(self) -> Serving:
        with self._lock:
            self._refresh_feature()
            version = self._database.version()
            if not _is_fitted(self._feature):
                raise CollectionError(f"{self.path} holds no pictures yet. Add some first.")
            if self._serving is None or version != self._seen:
                self._serving = serve(self._serving, self._folder, self._database, self._feature)
                self._seen = version
            return self._serving

    def _refresh_feature(self) -> None:
        """Take over a feature that another process has fitted since."""
        if not _is_fitted(self._feature):
            self._feature = _read_feature(self._folder, None)

    def _fit_feature(self, paths: list[Path], limits: Limits | None, progress: Progress) -> None:
        feature = self._feature
        if isinstance(feature, Visterms):
            fit_visterms(feature, paths, limits, progress)
            if _is_fitted(feature):
                feature.save(self._folder.feature)
                self._folder.write_manifest(_manifest(feature))

    def _reduce_if_due(self) -> None:
        """Fit the reduction, and all that hangs on it, beside what is in use; then change over."""
        state = self._database.state()
        pictures = len(self)
        if not reduction_is_due(self._feature, pictures, state.get("reduced_at")):
            return
        reduction = fit_reduction(self._feature, self._database)
        reduction.save(self._folder.reduction(reduction.fingerprint))
        space = Space(self._feature, reduction)
        cache = self._folder.cache(reduction.fingerprint)
        plain = load_index(space, self._database, cache)
        save_index(plain, space, cache)
        number = None
        keep: Callable[[Connection], None] = _keep_nothing
        if "model" in state:
            number, keep = self._learn_again(Serving.of(space, plain, None, None), state["model"])
        with self._database.transaction() as connection:
            keep(connection)
            _use_model(connection, number)
            connection.executemany(
                "INSERT OR REPLACE INTO state VALUES (?, ?)",
                [("reduction", reduction.fingerprint), ("reduced_at", pictures)],
            )

    def _learn_again(
        self, serving: Serving, current: int
    ) -> tuple[int | None, Callable[[Connection], None]]:
        """Learn in a new space what the model in use has learned in the old one."""
        row = self._database.row("SELECT source, settings FROM models WHERE number = ?", current)
        source, settings = row or ("labels", "{}")
        try:
            knowledge = self._knowledge(source)
            train, held = knowledge.split(0.2, generator(0), self._sides(current))
            X = serving.vectors(knowledge.ids)
            learner = learning.new_learner(json.loads(settings), 0)
            learning.fit(learner, X[train], knowledge.relevance.subset(train), silent)
        except InvalidInput as error:
            _log.warning("%s: nothing was learned again: %s", self.path, error)
            return None, _keep_nothing
        judges = knowledge.relevance.subset(held)
        before = learning.figures(None, X[held], judges)
        after = learning.figures(learner, X[held], judges)
        published = learning.is_no_worse(after, before)
        number = self._next_model()
        if published:
            self._save_model(learner, number, serving.space.fingerprint)

        def keep(connection: Connection) -> None:
            _keep_model(
                connection,
                number,
                None,
                published=published,
                source=source,
                settings=settings,
                figures=(before, after),
                sides=(knowledge.ids[held], knowledge.ids[train]),
            )

        return number if published else None, keep

    def _save_model(self, model: OASIS, number: int, fingerprint: str) -> None:
        try:
            model.save(self._folder.model(number), fingerprint=fingerprint)
        except OSError as error:
            raise CollectionError(
                f"{self.path}: the model could not be written: {error}. Nothing has changed; make "
                f"room and learn again."
            ) from error

    def _save_cache(self) -> None:
        serving = self._serve()
        cache = self._folder.cache(serving.space.fingerprint)
        save_index(serving.plain, serving.space, cache)

    def _query(
        self, query: int | str | Path | bytes | Image.Image, serving: Serving, limits: Limits | None
    ) -> tuple[Vectors, int]:
        """Give the vector of a query, a row, and its own id, or -1."""
        if isinstance(query, Image.Image):
            return self._describe(to_rgb(query), serving), -1
        if isinstance(query, bytes):
            known = self._database.row(
                "SELECT id FROM pictures WHERE sha256 = ?", content_hash(query)
            )
            number = None if known is None else int(known[0])
            if number is None:
                side = self._feature.decode_side
                return self._describe(decode(query, limits, side=side).image, serving), -1
        else:
            number = self._find_id(query)
            if number is None and isinstance(query, str | os.PathLike):
                return self._query(read_bytes(query, limits), serving, limits)
        if number is None or number not in serving.plain.ids:
            raise self._unknown(query)
        return serving.vectors(np.array([number], np.int64)), number

    def _describe(self, image: Image.Image, serving: Serving) -> Vectors:
        return serving.space.place(self._feature.describe([image]))

    def _find_id(self, picture: int | str | Path) -> int | None:
        """Give the id of a picture named by id or path, or None."""
        if isinstance(picture, bool) or not isinstance(picture, int | np.integer | str | Path):
            raise InvalidInput(
                f"Collection: a picture is named by its id or path; got {type(picture).__name__}."
            )
        if isinstance(picture, int | np.integer):
            row = self._database.row("SELECT id FROM pictures WHERE id = ?", int(picture))
        else:
            row = self._database.row(
                "SELECT picture FROM places WHERE path = CAST(? AS TEXT)", stored(picture)
            )
        return None if row is None else int(row[0])

    def _known_id(self, picture: int | str | Path) -> int:
        number = self._find_id(picture)
        if number is None:
            raise self._unknown(picture)
        return number

    def _unknown(self, picture: object) -> CollectionError:
        shown = repr(picture) if isinstance(picture, str | int) else str(picture)
        return CollectionError(
            f"{self.path} has no picture {shown:.300}. List them with Collection.pictures."
        )

    def _places_of(self, ids: Iterable[int]) -> dict[int, tuple[Path, ...]]:
        found: dict[int, tuple[Path, ...]] = {}
        rows = self._database.rows(
            "SELECT picture, path FROM places "
            "WHERE picture IN (SELECT value FROM json_each(?)) ORDER BY id",
            numbers(ids),
        )
        for picture, path in rows:
            found[picture] = (*found.get(picture, ()), Path(path))
        return found

    def _roots(self) -> list[str]:
        return [path for (path,) in self._database.rows("SELECT path FROM roots ORDER BY path")]

    def _places(self) -> Places:
        rows = self._database.rows("SELECT path, picture FROM places ORDER BY id")
        return Places(((path, picture) for path, picture in rows), self._roots())

    def _new_labels(
        self, labels: Mapping[str | Path, Sequence[str]] | None
    ) -> tuple[learning.Labels, list[str]]:
        """Give the labels named, or without any those of the folders."""
        if labels is not None:
            return learning.named_labels(labels, self._places())
        rows = self._database.rows("SELECT path, picture FROM places ORDER BY id")
        pairs = ((path, picture) for path, picture in rows)
        return learning.labels_by_folder(pairs, self._roots()), []

    def _clicks(self) -> learning.Clicks:
        found: learning.Clicks = {}
        rows = self._database.rows("SELECT query, picture, weight FROM clicks ORDER BY query")
        for query, picture, weight in rows:
            found.setdefault(query, {})[picture] = weight
        return found

    def _knowledge(self, source: str | None = None) -> Knowledge:
        """Give what was learned from before: labels, or where there are none, clicks."""
        labels = self.labels()
        if labels and source in (None, "labels"):
            return Knowledge.of_labels(labels)
        clicks = self._clicks()
        if clicks and source in (None, "clicks"):
            return Knowledge.of_clicks(clicks)
        raise InvalidInput(
            f"{self.path} knows no {source or 'labels'}. Give labels, folders=True or clicks to "
            f"learn."
        )

    def _sides(self, number: int | None) -> tuple[Ids, Ids] | None:
        """Give the pictures a model was judged by and those it learned from."""
        row = self._database.row(
            "SELECT held_back, learned_from FROM models WHERE number = ?", number
        )
        if row is None:
            return None
        return np.frombuffer(row[0], "<i8"), np.frombuffer(row[1], "<i8")

    def _next_model(self) -> int:
        row = self._database.row("SELECT seq FROM sqlite_sequence WHERE name = 'models'")
        return 1 if row is None else int(row[0]) + 1


_FACTS = "id, sha256, format, width, height, bytes, taken, added"


def _is_fitted(feature: Feature) -> bool:
    try:
        return bool(feature.fingerprint)
    except NotFitted:
        return False


def _manifest(feature: Feature) -> dict[str, Any]:
    if _is_fitted(feature):
        return {"name": feature.name, "fingerprint": feature.fingerprint}
    if not isinstance(feature, Visterms):
        raise InvalidInput(f"Collection.create: the feature {feature.name} must be fitted first.")
    settings = {key: getattr(feature, key) for key in ("dimension", "colours", "longest_side")}
    return {"name": feature.name, "fingerprint": None, "settings": settings}


def _read_feature(folder: Folder, given: Feature | None) -> Feature:
    """Give the feature the manifest names, and see that it is the same."""
    named = folder.read_manifest()
    if named["fingerprint"] is None:
        if given is not None:
            raise CollectionError(
                f"{folder.path} has yet to fit its feature {named['name']}. Open it without one."
            )
        try:
            return Visterms(**named["settings"])
        except (KeyError, TypeError) as error:
            raise DamagedFile(f"{folder.path}: the manifest names no feature: {error}.") from error
    feature = load_feature(folder.feature) if given is None else given
    check_fingerprint(str(folder.path), named["fingerprint"], feature.fingerprint)
    return feature


def _json_settings(settings: Mapping[str, Any]) -> str:
    try:
        return json.dumps(settings, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"Collection.learn: settings must be text, numbers, true or false, or None; {error}."
        ) from error


def _keep_nothing(connection: Connection) -> None:
    """Store nothing besides."""


def _keep_labels(connection: Connection, labels: learning.Labels) -> None:
    connection.execute(
        "DELETE FROM labels WHERE picture IN (SELECT value FROM json_each(?))", (numbers(labels),)
    )
    connection.executemany(
        "INSERT INTO labels VALUES (?, ?)",
        [(picture, label) for picture, names in labels.items() for label in names],
    )


def _keep_clicks(connection: Connection, clicks: learning.Clicks) -> None:
    connection.executemany("DELETE FROM clicks WHERE query = ?", [(query,) for query in clicks])
    connection.executemany(
        "INSERT INTO clicks VALUES (?, ?, ?)",
        [(query, picture, weight) for query in clicks for picture, weight in clicks[query].items()],
    )


def _keep_model(
    connection: Connection,
    number: int,
    previous: int | None,
    *,
    published: bool,
    source: str,
    settings: str,
    figures: tuple[Figures, Figures],
    sides: tuple[Ids, Ids],
) -> None:
    """Store how a model was learned and judged and, if it is published, let searches use it."""
    held, learned = (side.astype("<i8").tobytes() for side in sides)
    connection.execute(
        "INSERT INTO models VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(number, f"models/{number}.safetensors" if published else None, previous, published),
            *(source, settings, json.dumps([asdict(each) for each in figures])),
            *(held, learned, now()),
        ),
    )
    if published:
        _use_model(connection, number)
        connection.execute(
            "UPDATE models SET file = NULL WHERE number NOT IN (?, ?)", (number, previous or 0)
        )


def _use_model(connection: Connection, number: int | None) -> None:
    connection.execute("DELETE FROM state WHERE key = 'model'")
    if number is not None:
        connection.execute("INSERT INTO state VALUES ('model', ?)", (number,))

"""A collection that is open: its files, its database, and what is in use at the moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Self

from lookalike.annotation import WSABIE
from lookalike.collection import rows
from lookalike.collection.database import Database
from lookalike.collection.describing import is_fitted, open_feature
from lookalike.collection.folder import Folder
from lookalike.collection.records import ModelRow, PictureRow
from lookalike.collection.serving import Serving, load_tagger, serve
from lookalike.collection.vectors import save_index
from lookalike.core.errors import CollectionError, DamagedFile, NotFound
from lookalike.features import Feature
from lookalike.images import Refused


class Opened:
    """What readers and writers of a collection stand on."""

    def __init__(self, folder: Folder, database: Database, feature: Feature) -> None:
        self._folder = folder
        self._database = database
        self._feature = feature
        self._lock = RLock()
        self._serving: Serving | None = None
        self._seen: int | None = None
        self._tagger: tuple[int, WSABIE] | None = None

    def close(self) -> None:
        """Close the collection; nothing is left to be saved."""
        self._database.close()
        self._serving = self._tagger = None

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

    def pictures(self) -> Iterator[PictureRow]:
        """Go over all pictures by rising id."""
        return rows.pictures(self._database, 0)

    def picture(self, number: int) -> PictureRow:
        """Return what is known of a picture."""
        for found in rows.pictures(self._database, number, number):
            return found
        raise self._unknown(number)

    def thumbnail(self, number: int) -> bytes:
        """Return a small JPEG of a picture."""
        row = self._database.row("SELECT jpeg FROM thumbnails WHERE picture = ?", number)
        if row is None:
            raise self._unknown(number)
        return bytes(row[0])

    def labels(self) -> dict[int, list[str]]:
        """Return the labels of all pictures that have any."""
        return rows.labels(self._database)

    def refused(self) -> list[Refused]:
        """Return the files that could not be used when they were last looked at."""
        found = self._database.rows("SELECT path, reason FROM refused ORDER BY path")
        return [Refused(Path(path), reason) for path, reason in found]

    def models(self) -> list[ModelRow]:
        """Return what was learned, oldest first, published or not."""
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
        """Return what searches use now."""
        with self._lock:
            self._refresh_feature()
            if not is_fitted(self._feature):
                raise self._empty()
            version = self._database.version()
            if self._serving is None or version != self._seen:
                self._serving = serve(self._serving, self._folder, self._database, self._feature)
                self._seen = version
            return self._serving

    def _naming(self) -> tuple[Serving, WSABIE]:
        """Return what searches use now, and the tagger of the same moment."""
        while True:
            serving = self._serve()
            try:
                tagger = self._tagger_of(serving)
            except DamagedFile:
                # A writer may have put a newer one in place while we read, and cleaned up.
                if self._database.state().get("tagger") == serving.tagger:
                    raise
                continue
            if tagger is None:
                raise CollectionError(
                    f"{self.path} has no words to tag with. Learn some first (lookalike learn "
                    f"--tags FILE, or Collection.learn)."
                )
            return serving, tagger

    def _tagger_of(self, serving: Serving) -> WSABIE | None:
        if serving.tagger is None:
            return None
        with self._lock:
            if self._tagger is None or self._tagger[0] != serving.tagger:
                model = load_tagger(self._folder, serving.tagger, serving.space.fingerprint)
                self._tagger = (serving.tagger, model)
            return self._tagger[1]

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

    def _unknown(self, picture: object) -> NotFound:
        return NotFound(
            f"{self.path} has no picture {picture!s:.300}. Name one by the path it was added from, "
            f"or by its id, as Collection.pictures lists them."
        )

    def _empty(self) -> CollectionError:
        return CollectionError(
            f"{self.path} holds no pictures yet. Add some first (lookalike index, or "
            f"Collection.add)."
        )

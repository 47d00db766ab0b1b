"""Keep the keywords of pictures' files as a source of labels; a run of ``add`` is one import."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from sqlite3 import Connection

from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.labels import record_import
from lookalike.collection.store import changes, places
from lookalike.collection.store.database import stored
from lookalike.collection.store.labels import layer_changes, set_layer, source_labels
from lookalike.images import Limits
from lookalike.images.keywords import Keywords, ReadWords, read_keywords, sidecar_facts


class ReadKeywords:
    """Keywords of files, read before a transaction and kept in it.

    ``problems`` says of which files they could not be read, and why.
    """

    def __init__(self, paths: Iterable[Path], limits: Limits | None, read: ReadWords) -> None:
        self._limits, self._read = limits, read
        # The facts are taken first: a sidecar that changes meanwhile is read again next time.
        self._found = {
            path: (sidecar_facts(path), read_keywords(path, limits, read)) for path in paths
        }
        self._pictures: dict[int, list[str]] = {}
        self.problems = [why for _, it in self._found.values() for why in it.problems]

    def take(self, connection: Connection, path: Path, picture: int) -> None:
        """Note that a picture lies at one of the paths."""
        facts, result = self._found[path]
        places.set_sidecar(connection, path, facts)
        if picture not in self._pictures:
            others = [
                Path(place.path)
                for place in places.picture_places(connection, picture)
                if place.lost is None and place.sidecar and stored(place.path) != stored(path)
            ]
            self._pictures[picture] = [word for it in others for word in self._at(it).words]
        self._pictures[picture] += result.words
        if result.problems:
            # Nothing is lost because a file cannot be read.
            self._pictures[picture] += source_labels(connection, "keywords", picture)

    def keep(self, connection: Connection) -> None:
        """Make the keywords of the pictures noted what their files say now."""
        keep(connection, self._pictures)

    def _at(self, path: Path) -> Keywords:
        if path in self._found:
            return self._found[path][1]
        return read_keywords(path, self._limits, self._read)


def keep(connection: Connection, words: Mapping[int, Iterable[str]]) -> None:
    """Replace the keywords of pictures; :func:`record` has to follow, in this run or the next."""
    rows = layer_changes(connection, "keywords", words, whole=False)
    set_layer(connection, "keywords", [(picture, key, after) for picture, key, _, after in rows])
    changes.keep_pending(connection, rows)


def record(connection: Connection) -> None:
    """Record what was kept since the last time as one import."""
    record_import(NewEntry(connection), "keywords", changes.take_pending(connection))

"""Keep what pictures' files say: keywords as a source of labels, and captions, cameras, places.

The keywords of a run of ``add`` are one import.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from sqlite3 import Connection

from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.labels import record_import
from lookalike.collection.store import changes, details, places
from lookalike.collection.store.database import stored
from lookalike.collection.store.labels import layer_changes, set_layer, source_labels
from lookalike.images import Limits
from lookalike.images.details import Details
from lookalike.images.metadata import Metadata, MetadataReader, read_metadata, sidecar_facts


class BatchMetadata:
    """Metadata of files, read before a transaction and kept in it.

    ``problems`` says of which files it could not be read, and why.
    """

    def __init__(self, paths: Iterable[Path], limits: Limits | None, read: MetadataReader) -> None:
        self._limits, self._read = limits, read
        # The facts are taken first: a sidecar that changes meanwhile is read again next time.
        self._found = {
            path: (sidecar_facts(path), read_metadata(path, limits, read)) for path in paths
        }
        self._pictures: dict[int, list[str]] = {}
        self._details: dict[int, Details] = {}
        self.problems = [why for _, it in self._found.values() for why in it.problems]

    def take(self, connection: Connection, path: Path, picture: int) -> None:
        """Note that a picture lies at one of the paths."""
        facts, result = self._found[path]
        places.set_sidecar(connection, path, facts)
        if picture not in self._pictures:
            self._pictures[picture], self._details[picture] = [], Details()
            for place in places.picture_places(connection, picture):
                has_sidecar = place.lost is None and place.sidecar != ""
                if has_sidecar and stored(place.path) != stored(path):
                    self._add(picture, self._at(Path(place.path)))
        self._add(picture, result)
        if result.problems:
            # Nothing is lost because a file cannot be read.
            before = details.details_of(connection, [picture]).get(picture, Details())
            known = tuple(source_labels(connection, "keywords", picture))
            self._add(picture, Metadata(known, details=before))

    def _add(self, picture: int, more: Metadata) -> None:
        self._pictures[picture] += more.words
        self._details[picture] = self._details[picture].with_more(more.details)

    def keep(self, connection: Connection) -> None:
        """Make what is known of the pictures noted what their files say now."""
        details.put(connection, self._details)
        keep(connection, self._pictures)

    def _at(self, path: Path) -> Metadata:
        if path in self._found:
            return self._found[path][1]
        return read_metadata(path, self._limits, self._read)


def keep(connection: Connection, words: Mapping[int, Iterable[str]]) -> None:
    """Replace the keywords of pictures; :func:`record` has to follow, in this run or the next."""
    rows = layer_changes(connection, "keywords", words, whole=False)
    set_layer(connection, "keywords", [(picture, key, after) for picture, key, _, after in rows])
    changes.keep_pending(connection, rows)


def record(connection: Connection) -> None:
    """Record what was kept since the last time as one import."""
    record_import(NewEntry(connection), "keywords", changes.take_pending(connection))

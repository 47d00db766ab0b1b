"""Keep the keywords of pictures' files as a source of labels; a run of ``add`` is one import."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from sqlite3 import Connection

from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.labels import record_import
from lookalike.collection.store import changes
from lookalike.collection.store.database import stored
from lookalike.collection.store.labels import SOURCES, layer_changes, set_layer
from lookalike.images import Limits
from lookalike.images.keywords import Keywords, read_keywords, sidecar_facts

_SOURCE = SOURCES.index("keywords")


class ReadKeywords:
    """Keywords of files, read before a transaction and kept in it.

    ``problems`` says of which files they could not be read, and why.
    """

    def __init__(self, paths: Iterable[Path], limits: Limits | None) -> None:
        self._limits = limits
        # The facts are taken first: a sidecar that changes meanwhile is read again next time.
        self._found = {path: (sidecar_facts(path), read_keywords(path, limits)) for path in paths}
        self._pictures: dict[int, list[str]] = {}
        self.problems = [why for _, it in self._found.values() for why in it.problems]

    def take(self, connection: Connection, path: Path, picture: int) -> None:
        """Note that a picture lies at one of the paths."""
        facts, found = self._found[path]
        connection.execute(
            "UPDATE places SET sidecar = ? WHERE path = CAST(? AS TEXT) AND lost IS NULL",
            (facts, stored(path)),
        )
        if picture not in self._pictures:
            rows = connection.execute(
                "SELECT path FROM places WHERE picture = ? AND lost IS NULL AND sidecar != '' "
                "AND path != CAST(? AS TEXT)",
                (picture, stored(path)),
            ).fetchall()
            self._pictures[picture] = [word for (it,) in rows for word in self._at(Path(it)).words]
        self._pictures[picture] += found.words
        if found.problems:
            # Nothing is lost because a file cannot be read.
            before = connection.execute(
                "SELECT label FROM given WHERE picture = ? AND source = ?", (picture, _SOURCE)
            ).fetchall()
            self._pictures[picture] += [label for (label,) in before]

    def keep(self, connection: Connection) -> None:
        """Make the keywords of the pictures noted what their files say now."""
        keep(connection, self._pictures)

    def _at(self, path: Path) -> Keywords:
        return self._found[path][1] if path in self._found else read_keywords(path, self._limits)


def keep(connection: Connection, words: Mapping[int, Iterable[str]]) -> None:
    """Replace the keywords of pictures; :func:`record` has to follow, in this run or the next."""
    rows = layer_changes(connection, "keywords", words, whole=False)
    set_layer(connection, "keywords", [(picture, key, after) for picture, key, _, after in rows])
    connection.executemany(
        "INSERT INTO changes VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (event, picture, key) DO UPDATE SET after = excluded.after",
        [(changes.PENDING, *row) for row in rows],
    )


def record(connection: Connection) -> None:
    """Record what was kept since the last time as one import."""
    rows = [row for row in changes.of(connection, changes.PENDING) if row[2] != row[3]]
    connection.execute("DELETE FROM changes WHERE event = ?", (changes.PENDING,))
    record_import(NewEntry(connection), "keywords", rows)

"""The files of pictures: where they lie, which are missing, and which are kept out."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from sqlite3 import Connection
from typing import NamedTuple

from lookalike.collection.store.database import Database, now, numbers, stored
from lookalike.collection.store.sums import PLACE, damaged, row_sum
from lookalike.images import Refused


class Place(NamedTuple):
    """A path of a picture, with the file there when it was last read.

    ``sidecar`` tells the file with its keywords from others, ``lost`` is since when it is missing.
    """

    id: int
    picture: int
    path: str
    size: int
    mtime_ns: int
    sidecar: str | None
    lost: str | None

    @property
    def facts(self) -> tuple[int, int]:
        """The size of the file, and when it was written."""
        return self.size, self.mtime_ns


_COLUMNS = "id, picture, path, size, mtime_ns, sidecar, lost"
_HERE = "path = CAST(? AS TEXT)"


def place_at(database: Database, path: str | Path) -> Place | None:
    """Return the place of the picture whose file lies at a path, or None."""
    row = database.row(
        f"SELECT {_COLUMNS} FROM places WHERE {_HERE} AND lost IS NULL",  # noqa: S608
        stored(path),
    )
    return None if row is None else Place(*row)


def places(database: Database) -> list[Place]:
    """Return all places of all pictures; those that are missing come last, the latest first."""
    rows = database.rows(
        f"SELECT {_COLUMNS} FROM places ORDER BY lost IS NOT NULL, lost DESC"  # noqa: S608
    )
    return list(map(Place._make, rows))


def picture_places(connection: Connection, picture: int) -> list[Place]:
    """Return the places of a picture."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM places WHERE picture = ?",  # noqa: S608
        (picture,),
    )
    return list(map(Place._make, rows))


def places_of(database: Database, ids: Iterable[int]) -> dict[int, tuple[Path, ...]]:
    """Return the paths of pictures, oldest first; those that are missing come last.

    Raises
    ------
    DamagedFile
        If a picture of the collection has none, or one that is not as it was written.
    """
    wanted = list(ids)
    paths: dict[int, tuple[Path, ...]] = {}
    rows = database.rows(
        f"SELECT picture, path, crc IS NULL OR crc = row_sum({', '.join(PLACE)}) FROM places "  # noqa: S608
        "WHERE picture IN (SELECT value FROM json_each(?)) ORDER BY lost IS NOT NULL, id",
        numbers(wanted),
    )
    with database.parsing("the path of a picture"):
        for picture, path, sound in rows:
            if not sound:
                raise damaged(f"the path of picture {picture}")
            paths[picture] = (*paths.get(picture, ()), Path(path))
        if lacking := {*wanted} - paths.keys():
            # A picture that was erased meanwhile has no path, but is not there, either.
            there = database.row(
                "SELECT min(id) FROM all_pictures WHERE id IN (SELECT value FROM json_each(?))",
                numbers(lacking),
            )
            if there and there[0] is not None:
                raise ValueError(f"picture {there[0]} has none")
    return paths


def all_places(database: Database) -> list[tuple[str, int]]:
    """Return every path and its picture, oldest first; a path that is missing before others."""
    rows = database.rows(
        "SELECT path, picture FROM places WHERE picture NOT IN (SELECT picture FROM bin) "
        "ORDER BY lost IS NULL, id"
    )
    with database.parsing("the path of a picture"):
        return [(_text(path), picture) for path, picture in rows]


def shared(database: Database) -> dict[int, tuple[Path, ...]]:
    """Return the pictures outside the bin that several files have, with these, oldest first."""
    rows = database.rows(
        "SELECT picture FROM places WHERE lost IS NULL AND picture NOT IN (SELECT picture FROM bin)"
        " GROUP BY picture HAVING count(*) > 1"
    )
    return places_of(database, [picture for (picture,) in rows])


def binned_paths(database: Database) -> set[str]:
    """Return the paths of pictures in the bin."""
    rows = database.rows("SELECT path FROM places WHERE picture IN (SELECT picture FROM bin)")
    return {path for (path,) in rows}


def lies_below(database: Database, path: Path) -> bool:
    """Return whether a picture lies, or lay, at a path or below it."""
    name = stored(path)
    row = database.row(
        "SELECT 1 FROM places WHERE path = CAST(?1 AS TEXT) "
        "OR (path > CAST(?2 AS TEXT) AND path < CAST(?3 AS TEXT)) LIMIT 1",
        *(name, name + b"/", name + b"0"),
    )
    return row is not None


def missing_since(database: Database, ids: Iterable[int] | None = None) -> dict[int, str]:
    """Return since when pictures are missing, of all or some, those without a file left."""
    within = "" if ids is None else "WHERE picture IN (SELECT value FROM json_each(?)) "
    rows = database.rows(
        f"SELECT picture, max(lost) FROM places {within}"  # noqa: S608
        "GROUP BY picture HAVING count(*) = count(lost)",
        *([] if ids is None else [numbers(ids)]),
    )
    return dict(rows)


def count_missing(database: Database, ids: Iterable[int]) -> int:
    """Return how many of some pictures are missing, and not in the bin."""
    rows = database.rows(
        "SELECT count(*) FROM pictures WHERE id IN (SELECT value FROM json_each(?)) "
        "AND id NOT IN (SELECT picture FROM places WHERE lost IS NULL)",
        numbers(ids),
    )
    return int(rows[0][0])


def set_lost(connection: Connection, lost: Iterable[int], back: Iterable[int]) -> None:
    """Note which places are missing from now on, and which are not any more, by their ids."""
    connection.executemany(
        "UPDATE places SET lost = ? WHERE id = ? AND lost IS NULL",
        [(now(), number) for number in lost],
    )
    connection.executemany("UPDATE places SET lost = NULL WHERE id = ?", [(it,) for it in back])


def put(connection: Connection, path: Path, picture: int, size: int, mtime_ns: int) -> list[int]:
    """Let a picture lie at a path, and return those that lay there before."""
    name = stored(path)
    others = f"{_HERE} AND picture != ? AND lost IS NULL"
    before = connection.execute(
        f"SELECT picture FROM places WHERE {others}",  # noqa: S608
        (name, picture),
    ).fetchall()
    connection.execute(
        f"UPDATE places SET lost = ? WHERE {others}",  # noqa: S608
        (now(), name, picture),
    )
    own = connection.execute(
        f"UPDATE places SET lost = NULL, size = ?, mtime_ns = ? WHERE {_HERE} AND picture = ?",  # noqa: S608
        (size, mtime_ns, name, picture),
    )
    if not own.rowcount:
        connection.execute(
            "INSERT INTO places (path, picture, size, mtime_ns, crc) "
            "VALUES (CAST(? AS TEXT), ?, ?, ?, ?)",
            (name, picture, size, mtime_ns, row_sum(picture, name)),
        )
    connection.execute(f"DELETE FROM refused WHERE {_HERE}", (name,))  # noqa: S608
    connection.execute("DELETE FROM left_out WHERE digest = ?", (digest(name, size, mtime_ns),))
    return [number for (number,) in before]


def delete(connection: Connection, places: Iterable[int]) -> None:
    """Forget places, by their ids."""
    connection.executemany("DELETE FROM places WHERE id = ?", [(number,) for number in places])


def delete_lost(connection: Connection, ids: Iterable[int]) -> None:
    """Forget the missing places of pictures that have a file elsewhere."""
    connection.execute(
        "DELETE FROM places WHERE lost IS NOT NULL "
        "AND picture IN (SELECT value FROM json_each(?)) AND EXISTS (SELECT 1 FROM places "
        "AS other WHERE other.picture = places.picture AND other.lost IS NULL)",
        (numbers(ids),),
    )


def move_below(connection: Connection, before: Path, after: Path) -> None:
    """Let all files below a folder lie below another."""
    old, new = stored(before), stored(after)
    connection.execute(
        "UPDATE places SET path = CAST(?1 || substr(CAST(path AS BLOB), ?2) AS TEXT), "
        "crc = row_sum(picture, CAST(?1 || substr(CAST(path AS BLOB), ?2) AS BLOB)) "
        "WHERE path > CAST(?3 AS TEXT) AND path < CAST(?4 AS TEXT)",
        (new, len(old) + 1, old + b"/", old + b"0"),
    )


def set_sidecar(connection: Connection, path: Path, facts: str) -> None:
    """Note which sidecar of a file was read."""
    connection.execute(
        f"UPDATE places SET sidecar = ? WHERE {_HERE} AND lost IS NULL",  # noqa: S608
        (facts, stored(path)),
    )


def roots(database: Database) -> list[str]:
    """Return the folders that were added."""
    with database.parsing("a folder that was added"):
        return [_text(path) for (path,) in database.rows("SELECT path FROM roots ORDER BY path")]


def add_roots(connection: Connection, folders: Iterable[Path]) -> None:
    """Note folders that are added."""
    connection.executemany(
        "INSERT OR IGNORE INTO roots VALUES (CAST(? AS TEXT))",
        [(stored(folder),) for folder in folders],
    )


def refused(database: Database) -> list[Refused]:
    """Return the files that could not be used when they were last read."""
    rows = database.rows("SELECT path, reason FROM refused ORDER BY path")
    return [Refused(Path(path), reason) for path, reason in rows]


def add_refused(connection: Connection, file: Refused) -> None:
    """Note a file that could not be used, and why."""
    connection.execute(
        "INSERT OR REPLACE INTO refused VALUES (CAST(? AS TEXT), ?, ?)",
        (stored(file.path), file.reason, now()),
    )


def digest(path: bytes, size: int, mtime_ns: int) -> bytes:
    """Return what tells a file as it is now from all others, and says nothing of it."""
    return hashlib.blake2b(b"%b\0%d %d" % (path, size, mtime_ns), digest_size=16).digest()


def left_out(database: Database) -> set[bytes]:
    """Return the digests of files that are not to be added again."""
    return {one for (one,) in database.rows("SELECT digest FROM left_out")}


def leave_out(connection: Connection, ids: Iterable[int]) -> None:
    """Note that the files of pictures are not to be added again."""
    rows = connection.execute(
        "SELECT CAST(path AS BLOB), size, mtime_ns FROM places "
        "WHERE picture IN (SELECT value FROM json_each(?))",
        (numbers(ids),),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO left_out VALUES (?)", [(digest(*row),) for row in rows.fetchall()]
    )


def _text(path: object) -> str:
    """Return a path as it is stored; ValueError for one that is not text."""
    if not isinstance(path, str):
        raise ValueError(f"it is {path!r:.80}")
    return path

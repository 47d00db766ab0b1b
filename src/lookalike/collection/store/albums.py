"""The albums as they are stored: a name, what was saved, and what was in it when last opened."""

import json
from collections.abc import Iterable, Mapping, Set
from dataclasses import asdict, dataclass
from sqlite3 import Connection
from typing import Any

from lookalike.collection.store.database import Database, now, numbers
from lookalike.collection.store.filter import Filter
from lookalike.collection.store.queries import Ask, Ref
from lookalike.core.errors import InvalidInput
from lookalike.core.text import word_key


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """What a list of pictures is made by: a query or a word, or neither, and a filter.

    Attributes
    ----------
    ask, word : Ask or str, optional
        What is searched for; with neither, the pictures that pass the filter.
    where : Filter, optional
        Which pictures to search among.
    by, learned, min_score
        As for :meth:`~lookalike.Collection.search`.
    """

    ask: Ask | None = None
    word: str | None = None
    where: Filter | None = None
    by: str | None = None
    learned: bool = True
    min_score: float | None = None


_BY_ALBUM = ("album", "without_album")
"""The fields of a filter that name an album."""

_COLUMNS = "id, name, made, search, pictures, most, opened, seen"


@dataclass(frozen=True, slots=True)
class AlbumRow:
    """An album as it was saved; ``seen`` was in it when it was last opened, at ``opened``."""

    id: int
    name: str
    made: str
    search: SavedSearch
    pictures: tuple[int, ...]
    most: int
    opened: str
    seen: frozenset[int]


def albums(database: Database) -> list[AlbumRow]:
    """Return all albums by name."""
    rows = database.rows(f"SELECT {_COLUMNS} FROM albums ORDER BY key")  # noqa: S608
    return [_read(database, row) for row in rows]


def album(database: Database, name: str | int) -> AlbumRow | None:
    """Return the album of an id, or of a name, however that is written; or None."""
    column, value = ("key", word_key(name)) if isinstance(name, str) else ("id", int(name))
    row = database.row(f"SELECT {_COLUMNS} FROM albums WHERE {column} = ?", value)  # noqa: S608
    return None if row is None else _read(database, row)


def add(
    connection: Connection,
    name: str,
    search: SavedSearch,
    pictures: Iterable[int],
    most: int,
    seen: Iterable[int],
) -> int:
    """Store a new album, and return its id.

    Raises
    ------
    InvalidInput
        If there is one of that name.
    """
    known = connection.execute("SELECT name FROM albums WHERE key = ?", (word_key(name),))
    if (taken := known.fetchone()) is not None:
        raise InvalidInput(
            f"Collection: there is already an album “{taken[0]}”. Choose another name, or delete "
            f"that album first."
        )
    number = connection.execute(
        "INSERT INTO albums (name, key, made, search, pictures, most, opened, seen) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(name, word_key(name), now(), search_text(search), numbers(pictures), most),
            *(now(), numbers(seen)),
        ),
    ).lastrowid
    return int(number or 0)


def add_again(
    connection: Connection, number: int, name: str, search: str, pictures: Iterable[int], most: int
) -> None:
    """Store an album under its former id, as if it was opened now; another name if that is taken.

    ``search`` is what :func:`search_text` returned.
    """
    inside, free = numbers(pictures), _free(connection, number, name)
    connection.execute(
        "INSERT INTO albums VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*(number, free, word_key(free), now(), search, inside, most), *(now(), inside)),
    )


def search_text(search: SavedSearch) -> str:
    """Return a saved search as JSON."""
    return json.dumps(asdict(search))


def without(search: str, erased: Set[Ref]) -> str:
    """Return a saved search as JSON, without what was erased."""
    if not search:
        return search
    saved = json.loads(search)
    for side in ("like", "unlike"):
        if saved["ask"] is not None:
            saved["ask"][side] = [ref for ref in saved["ask"][side] if ref not in erased]
    return json.dumps(saved)


def rename_back(connection: Connection, number: int, name: str) -> None:
    """Give an album a name it had before, or one like that if another has it now."""
    free = _free(connection, number, name)
    row = connection.execute("SELECT name FROM albums WHERE id = ?", (number,)).fetchone()
    if row[0] != free:
        rename(connection, number, free)


def _free(connection: Connection, number: int, name: str) -> str:
    """Return a name, with a number behind it if another album has it."""
    others = connection.execute("SELECT key FROM albums WHERE id != ?", (number,))
    taken = {key for (key,) in others}
    names = (name if count == 1 else f"{name} ({count})" for count in range(1, len(taken) + 2))
    return next(one for one in names if word_key(one) not in taken)


def rename(connection: Connection, number: int, name: str) -> None:
    """Give an album another name; albums that are filtered by it go on being so.

    Raises
    ------
    InvalidInput
        If there is another one of that name.
    """
    rows = connection.execute("SELECT id, name, key, search FROM albums").fetchall()
    old = next(row[2] for row in rows if row[0] == number)
    for other, taken, key, _ in rows:
        if key == word_key(name) and other != number:
            raise InvalidInput(f"There is already an album “{taken}”. Choose another name.")
    connection.execute(
        "UPDATE albums SET name = ?, key = ? WHERE id = ?", (name, word_key(name), number)
    )
    for other, _, _, search in rows:
        saved = json.loads(search)
        where = saved["where"] or {}
        named = [field for field in _BY_ALBUM if word_key(where.get(field) or "") == old]
        where.update(dict.fromkeys(named, name))
        if named:
            connection.execute(
                "UPDATE albums SET search = ? WHERE id = ?", (json.dumps(saved), other)
            )


def set_pictures(connection: Connection, number: int, pictures: Iterable[int]) -> None:
    """Store which pictures were saved in an album by hand."""
    connection.execute("UPDATE albums SET pictures = ? WHERE id = ?", (numbers(pictures), number))


def exists(connection: Connection, number: int) -> bool:
    """Return whether there is an album of an id."""
    row = connection.execute("SELECT 1 FROM albums WHERE id = ?", (number,)).fetchone()
    return row is not None


def put_pictures(connection: Connection, number: int, inside: Mapping[int, bool]) -> None:
    """Save some pictures in an album as if by hand, behind the others, and take others out."""
    (saved,) = connection.execute("SELECT pictures FROM albums WHERE id = ?", (number,)).fetchone()
    own = [one for one in json.loads(saved) if inside.get(one, True)]
    new = [one for one, is_in in inside.items() if is_in and one not in {*own}]
    set_pictures(connection, number, [*own, *new])


def holding(connection: Connection, some: Iterable[int], picture: int) -> list[int]:
    """Return the albums in which some pictures were saved by hand, and one was not."""
    sought = set(some)
    saved = connection.execute("SELECT id, pictures FROM albums ORDER BY id").fetchall()
    inside = {number: set(json.loads(pictures)) for number, pictures in saved}
    return [number for number, own in inside.items() if own & sought and picture not in own]


def set_saved(connection: Connection, ids: Iterable[int], picture: int, *, saved: bool) -> None:
    """Save a picture in albums as if by hand, after the others, or take it out."""
    for number in ids:
        row = connection.execute("SELECT pictures FROM albums WHERE id = ?", (number,)).fetchone()
        if row is not None:
            others = [one for one in json.loads(row[0]) if one != picture]
            set_pictures(connection, number, [*others, picture] if saved else others)


def mark_opened(connection: Connection, number: int, seen: Iterable[int]) -> None:
    """Note that an album is opened now, and what is in it."""
    connection.execute(
        "UPDATE albums SET opened = ?, seen = ? WHERE id = ?", (now(), numbers(seen), number)
    )


def delete(connection: Connection, number: int) -> None:
    """Delete an album; its pictures and votes stay."""
    connection.execute("DELETE FROM albums WHERE id = ?", (number,))


def _read(database: Database, row: tuple[Any, ...]) -> AlbumRow:
    number, name, made, search, pictures, most, opened, seen = row
    with database.parsing(f"the album {name}"):
        return AlbumRow(
            *(number, name, made, _read_search(search), tuple(json.loads(pictures)), int(most)),
            *(opened, frozenset(json.loads(seen))),
        )


def _read_search(text: str) -> SavedSearch:
    given = json.loads(text)
    ask, where = given.pop("ask"), given.pop("where")
    return SavedSearch(
        ask=None if ask is None else Ask(tuple(ask["like"]), tuple(ask["unlike"])),
        where=None if where is None else Filter(**{name: _tuple(it) for name, it in where.items()}),
        **given,
    )


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value

"""What is searched with: pictures by id, and pictures from elsewhere by their tokens."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from sqlite3 import Connection
from typing import TypeAlias

from lookalike.collection.store.database import Database
from lookalike.collection.store.sums import damaged, is_sound, sound_jpeg

Ref: TypeAlias = int | str
"""A picture of the collection by its id, or a kept query by its token."""


MAX_QUERIES = 10_000
"""Pictures searched with that are kept; of those not voted on or in albums, the oldest go."""

MAX_PASSING = 100
"""The same of a read-only collection, which keeps them in memory."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is searched for: to be like some pictures, and unlike others.

    Pictures are named by their ids, kept queries by their tokens
    (:meth:`~lookalike.Collection.keep_query`).
    """

    like: tuple[Ref, ...]
    unlike: tuple[Ref, ...] = ()

    def __str__(self) -> str:
        sides = (",".join(map(str, side)) for side in (self.like, self.unlike))
        return " not ".join(side for side in sides if side)


def store_query(
    connection: Connection, token: str, sha256: str, jpeg: bytes, records: Mapping[int, bytes]
) -> None:
    """Keep what is searched with, with the record of each ranker, and forget the oldest."""
    connection.execute(
        "INSERT OR IGNORE INTO queries (token, jpeg, asked, picture, crc) "
        "SELECT ?1, ?2, 1 + ifnull(max(asked), 0), (SELECT id FROM pictures WHERE sha256 = ?3), "
        "row_sum(?1, ?2) FROM queries",
        (token, jpeg, sha256),
    )
    add_query_records(connection, [(token, *record) for record in records.items()])
    connection.execute(
        "DELETE FROM queries WHERE asked <= (SELECT max(asked) FROM queries) - ? AND NOT EXISTS "
        "(SELECT 1 FROM events WHERE instr(body, token) > 0) AND NOT EXISTS "
        "(SELECT 1 FROM albums WHERE instr(search, token) > 0)",
        (MAX_QUERIES,),
    )


def pass_query(database: Database, token: str, jpeg: bytes, records: Mapping[int, bytes]) -> None:
    """Keep what a read-only collection is searched with while it is open; forget the oldest."""
    database.passing[token] = jpeg, records
    for old in [*database.passing][:-MAX_PASSING]:
        database.passing.pop(old, None)


def query_thumbnail(database: Database, token: str) -> bytes | None:
    """Return a small JPEG of a kept query, or None."""
    if token in database.passing:
        return database.passing[token][0]
    row = database.row("SELECT jpeg, crc FROM usable_queries WHERE token = ?", token)
    return sound_jpeg(f"the picture of the query {token:.40}", token, row)


def add_query_records(connection: Connection, records: Iterable[tuple[str, int, bytes]]) -> None:
    """Keep what features made of kept queries, by token and ranker."""
    connection.executemany(
        "INSERT OR IGNORE INTO query_records VALUES (?1, ?2, ?3, row_sum(?1, ?2, ?3))", records
    )


def has_query(database: Database, token: str) -> bool:
    """Return whether a query is kept, whatever became of the picture it is a part of."""
    row = database.row("SELECT 1 FROM queries WHERE token = ?", token)
    return row is not None or token in database.passing


def is_usable(database: Database, token: str) -> bool:
    """Return whether a query can be searched with."""
    return database.row("SELECT 1 FROM usable_queries WHERE token = ?", token) is not None


def set_picture(connection: Connection, token: str, picture: int) -> None:
    """Note that a kept query shows a picture that has come since."""
    connection.execute("UPDATE queries SET picture = ? WHERE token = ?", (picture, token))


def queries_without(database: Database, ranker: int) -> list[tuple[str, bytes]]:
    """Return the tokens and small JPEGs of kept queries that a ranker has no record of."""
    rows = database.rows(
        "SELECT token, jpeg FROM queries WHERE token NOT IN "
        "(SELECT token FROM query_records WHERE ranker = ?)",
        ranker,
    )
    return [(token, bytes(jpeg)) for token, jpeg in rows]


def query_record(database: Database, ranker: int, token: str) -> bytes | None:
    """Return what a feature made of a kept query, or None."""
    if token in database.passing:
        return database.passing[token][1].get(ranker)
    row = database.row(
        "SELECT record, query_records.crc FROM query_records JOIN usable_queries USING (token) "
        "WHERE token = ? AND ranker = ?",
        *(token, ranker),
    )
    if row is None:
        return None
    if not is_sound(row[1], token, ranker, row[0]):
        raise damaged(f"the query {token:.40}")
    return bytes(row[0])

"""The rows of the log, only ever added to; each carries a digest of itself and the one before."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from sqlite3 import Connection
from typing import Any, NamedTuple, TypeAlias

from lookalike.collection.store.database import Database, now
from lookalike.collection.store.seals import digest, new_salt

UNDO = "event "
"""What stands before a number in the subject of an undo."""

MANY = 100
"""Events from which on all undos are read at once."""

Body: TypeAlias = dict[str, Any]

_COLUMNS = "number, at, kind, who, body"

_SEALED = f"{_COLUMNS}, key, about, salt, seal, digest"

_LATER_UNDOS = (
    "WITH RECURSIVE later (number, about) AS ("
    "SELECT number, about FROM events WHERE about = ?1 || ?2 UNION ALL "
    "SELECT events.number, events.about FROM later JOIN events "
    "ON events.about = ?1 || later.number) SELECT number, about FROM later ORDER BY 1 DESC"
)
"""The undo of an event, the undo of that and so on, the last first."""


class Row(NamedTuple):
    """An event as it is stored; ``body`` is JSON, empty where all of it was erased."""

    number: int
    at: str
    kind: str
    who: str
    body: str


def insert(
    connection: Connection, kind: str, body: Body, *, who: str, key: str | None, about: str | None
) -> Row:
    """Add an event in an open transaction; it counts once that is committed.

    Its content goes into the digest by its seal, a digest with a salt, so that it can be erased.
    """
    at, text = now(), _json(body)
    last = connection.execute("SELECT digest FROM events ORDER BY number DESC LIMIT 1").fetchone()
    salt = new_salt()
    seal = digest(salt, key, about, text)
    number = connection.execute(
        "INSERT INTO events (at, kind, who, key, about, body, salt, seal, digest) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(at, kind, who, key, about, text, salt, seal),
            digest(last[0] if last else b"", at, kind, who, seal.hex()),
        ),
    ).lastrowid
    return Row(int(number or 0), at, kind, who, text)


def replace_body(connection: Connection, number: int, body: Body | None) -> str:
    """Replace the body of an event, or erase all of it, and return its new seal.

    An erasure has to record that seal, or the log is damaged.
    """
    salt = new_salt()
    content: tuple[str | None, str | None, str] = (None, None, "")
    if body is not None:
        key, about = connection.execute(
            "SELECT key, about FROM events WHERE number = ?", (number,)
        ).fetchone()
        content = (key, about, _json(body))
    connection.execute(
        "UPDATE events SET key = ?, about = ?, body = ?, salt = ? WHERE number = ?",
        (*content, salt, number),
    )
    return digest(salt, *content).hex()


def with_key(connection: Connection, key: str) -> Row | None:
    """Return the event that was recorded under a key, or None."""
    return _one(connection.execute(f"SELECT {_COLUMNS} FROM events WHERE key = ?", (key,)))  # noqa: S608


def read(connection: Connection, number: int) -> Row | None:
    """Return one event as an open transaction has it, or None."""
    if not abs(number) < 2**63:
        return None
    return _one(connection.execute(f"SELECT {_COLUMNS} FROM events WHERE number = ?", (number,)))  # noqa: S608


def last_number(database: Database) -> int:
    """Return the number of the last event, or 0."""
    return int(database.rows("SELECT ifnull(max(number), 0) FROM events")[0][0])


def row(database: Database, number: int) -> Row | None:
    """Return one event, or None."""
    rows = database.rows(f"SELECT {_COLUMNS} FROM events WHERE number = ?", number)  # noqa: S608
    return Row(*rows[0]) if rows else None


def page(
    database: Database, limit: int, before: int | None, who: str | None, hidden: Iterable[str]
) -> list[Row]:
    """Return the last events, newest first: before one, of one person, without hidden kinds."""
    rows = database.rows(
        f"SELECT {_COLUMNS} FROM events WHERE number < ?1 "  # noqa: S608
        "AND kind NOT IN (SELECT value FROM json_each(?2)) "
        "AND (?3 IS NULL OR who = ?3) ORDER BY 1 DESC LIMIT ?4",
        *(2**62 if before is None else before, json.dumps([*hidden]), who, limit),
    )
    return [Row(*one) for one in rows]


def of_kinds(
    source: Database | Connection, kinds: Iterable[str], *, since: int = 0, newest: bool = False
) -> list[Row]:
    """Return the events of some kinds that have a body, after the event ``since``, in order."""
    sql = (
        f"SELECT {_COLUMNS} FROM events WHERE number > ?1 AND body != '' "  # noqa: S608
        f"AND kind IN (SELECT value FROM json_each(?2)) ORDER BY 1 {'DESC' if newest else ''}"
    )
    values = (since, json.dumps([*kinds]))
    rows = (
        source.rows(sql, *values) if isinstance(source, Database) else source.execute(sql, values)
    )
    return [Row(*one) for one in rows]


def about(source: Database | Connection, subject: str, *, since: int = 0) -> list[Row]:
    """Return the events about something, in order, undone ones too."""
    sql = f"SELECT {_COLUMNS} FROM events WHERE about = ?1 AND number > ?2 ORDER BY number"  # noqa: S608
    values = (subject, since)
    rows = (
        source.rows(sql, *values) if isinstance(source, Database) else source.execute(sql, values)
    )
    return [Row(*one) for one in rows]


def damaged(database: Database, numbers: Iterable[int]) -> set[int]:
    """Return those of some events that are not as they were written."""
    before = (
        "(SELECT one.digest FROM events AS one WHERE one.number < events.number "
        "ORDER BY one.number DESC LIMIT 1)"
    )
    sql = f"SELECT {before}, {_SEALED} FROM events WHERE number IN (SELECT value FROM json_each(?))"  # noqa: S608
    rows = database.rows(sql, json.dumps([*numbers]))
    erased = cache(partial(_erased_seals, database))
    return {row[1] for row in rows if not _is_whole(row[0] or b"", row[1:], erased)}


def chain(database: Database, number: int) -> tuple[list[Row], int | None]:
    """Return the events after one, in order, and the number of the first that is damaged.

    Events from that one on are left out: it is not as it was written, or follows one that is
    missing. None stands for a log that is whole.
    """
    rows = database.rows(
        f"SELECT {_SEALED} FROM events WHERE number >= ? ORDER BY number",  # noqa: S608
        number,
    )
    before = rows.pop(0)[-1] if number and rows and rows[0][0] == number else b""
    whole: list[Row] = []
    erased = cache(partial(_erased_seals, database))
    for row in rows:
        if not _is_whole(before, row, erased):
            return whole, int(row[0])
        before = row[-1]
        whole.append(Row(*row[:5]))
    return whole, None


def _is_whole(before: bytes, row: tuple[Any, ...], erased: Callable[[], Mapping[int, str]]) -> bool:
    """Return whether an event is as it was written, after one with the digest ``before``."""
    number, at, kind, who, body, key, subject, salt, seal, stored = row
    if seal is None or digest(before, at, kind, who, seal.hex()) != stored:
        return False
    sealed = digest(salt or b"", key, subject, body)
    return bool(sealed == seal or erased().get(number) == sealed.hex())


def _erased_seals(database: Database) -> dict[int, str]:
    """Return the seals of events from which something was erased, as later events record them."""
    seals: dict[int, str] = {}
    rows = database.rows("SELECT body FROM events WHERE body LIKE '%\"seals\":{%' ORDER BY number")
    with database.parsing("an event"):
        for (body,) in rows:
            recorded = json.loads(body).get("seals", {})
            seals |= {int(number): str(seal) for number, seal in recorded.items()}
    return seals


def is_undone(source: Database | Connection, number: int) -> bool:
    """Return whether an event was undone, and that not undone again."""
    values = (UNDO, number)
    if isinstance(source, Database):
        return number in _undone(source.rows(_LATER_UNDOS, *values))
    return number in _undone(source.execute(_LATER_UNDOS, values))


_UNDOS = "SELECT number, about FROM events WHERE about GLOB 'event [0-9]*' ORDER BY 1 DESC"


def undone(database: Database) -> set[int]:
    """Return the numbers of all events that were undone."""
    return _undone(database.rows(_UNDOS))


def undone_among(connection: Connection, numbers: Sequence[int]) -> set[int]:
    """Return those of some events that were undone, as an open transaction has it."""
    if len(numbers) > MANY:
        return _undone(connection.execute(_UNDOS)).intersection(numbers)
    return {number for number in numbers if is_undone(connection, number)}


def _undone(rows: Iterable[Sequence[Any]]) -> set[int]:
    """Return what undos, the last first, have undone."""
    numbers: set[int] = set()
    for number, subject in rows:
        # A later event may have undone this one; those come first.
        if number not in numbers:
            numbers.add(int(subject.removeprefix(UNDO)))
    return numbers


def _rows(source: Database | Connection, sql: str, *values: Any) -> list[Row]:
    if isinstance(source, Database):
        return [Row(*row) for row in source.rows(sql, *values)]
    return [Row(*row) for row in source.execute(sql, values)]


def _one(rows: Iterable[tuple[Any, ...]]) -> Row | None:
    return next((Row(*row) for row in rows), None)


def _json(body: Body) -> str:
    return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

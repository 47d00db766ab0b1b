"""The text that is written in pictures, of those in which it was looked for."""

from collections.abc import Iterable, Mapping
from sqlite3 import Connection

from lookalike.collection.store.database import Database, numbers
from lookalike.collection.store.sums import TEXT, check_rows, row_sum

_COLUMNS = ", ".join(TEXT)
_SHOWN = "picture NOT IN (SELECT picture FROM bin)"


def unread(database: Database) -> list[int]:
    """Return the pictures in which no text was looked for, by rising id."""
    rows = database.rows(
        "SELECT id FROM pictures WHERE id NOT IN (SELECT picture FROM texts) ORDER BY id"
    )
    return [number for (number,) in rows]


def put(connection: Connection, texts: Mapping[int, str]) -> None:
    """Keep what is written in pictures, empty for nothing; those that are gone are left out."""
    connection.executemany(
        f"INSERT OR REPLACE INTO texts ({_COLUMNS}, crc) "  # noqa: S608
        "SELECT ?1, ?2, ?3 FROM all_pictures WHERE id = ?1",
        [(number, text, row_sum(number, text)) for number, text in texts.items()],
    )


def texts(database: Database) -> list[tuple[int, str]]:
    """Return the texts of all pictures in which something is written, by rising id."""
    rows = database.rows(
        f"SELECT {_COLUMNS}, crc FROM texts WHERE text != '' AND {_SHOWN} "  # noqa: S608
        "ORDER BY picture"
    )
    return [(number, text) for number, text in check_rows("the text in", rows)]


def texts_of(database: Database, ids: Iterable[int]) -> dict[int, str]:
    """Return what is written in some pictures, of those in which something is."""
    rows = database.rows(
        f"SELECT {_COLUMNS}, crc FROM texts WHERE text != '' "  # noqa: S608
        "AND picture IN (SELECT value FROM json_each(?))",
        numbers(ids),
    )
    return dict(check_rows("the text in", rows))


def counts(database: Database) -> tuple[int, int]:
    """Return in how many pictures text was looked for, and in how many some was found."""
    (row,) = database.rows(
        f"SELECT count(*), coalesce(sum(text != ''), 0) FROM texts WHERE {_SHOWN}"  # noqa: S608
    )
    return int(row[0]), int(row[1])


def clear(connection: Connection) -> None:
    """Forget all that was read."""
    connection.execute("DELETE FROM texts")

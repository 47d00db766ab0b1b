"""What files say of their pictures besides keywords: captions, cameras, lenses and places."""

from collections.abc import Iterable, Mapping
from sqlite3 import Connection

from lookalike.collection.store.database import Database, numbers
from lookalike.collection.store.sums import DETAILS, check_rows, row_sum
from lookalike.images.details import Details

_COLUMNS = ", ".join(DETAILS)
_SOME = "picture IN (SELECT value FROM json_each(?))"
_SHOWN = "picture NOT IN (SELECT picture FROM bin)"


def put(connection: Connection, details: Mapping[int, Details]) -> None:
    """Replace what the files of pictures say."""
    connection.execute(f"DELETE FROM details WHERE {_SOME}", (numbers(details),))  # noqa: S608
    rows = [
        (number, it.caption, it.camera, it.lens, it.latitude, it.longitude)
        for number, it in details.items()
        if it != Details()
    ]
    connection.executemany(
        f"INSERT INTO details ({_COLUMNS}, crc) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
        [(*row, row_sum(*row)) for row in rows],
    )


def details_of(connection: Connection | Database, ids: Iterable[int]) -> dict[int, Details]:
    """Return what the files of some pictures say, of those that say anything."""
    sql = f"SELECT {_COLUMNS}, crc FROM details WHERE {_SOME}"  # noqa: S608
    if isinstance(connection, Database):
        rows = connection.rows(sql, numbers(ids))
    else:
        rows = connection.execute(sql, (numbers(ids),)).fetchall()
    return {number: Details(*values) for number, *values in check_rows("the details of", rows)}


def captions(database: Database) -> list[tuple[int, str]]:
    """Return the captions of all pictures that have one, by rising id."""
    return database.rows(
        f"SELECT picture, caption FROM details WHERE caption != '' AND {_SHOWN} "  # noqa: S608
        "ORDER BY picture"
    )


def cameras(database: Database) -> list[tuple[str, int]]:
    """Return the cameras that pictures were taken with, and how many, the commonest first."""
    return _counted(database, "camera")


def lenses(database: Database) -> list[tuple[str, int]]:
    """Return the lenses that pictures were taken with, and how many, the commonest first."""
    return _counted(database, "lens")


def _counted(database: Database, column: str) -> list[tuple[str, int]]:
    return database.rows(
        f"SELECT {column}, count(*) FROM details WHERE {column} != '' AND {_SHOWN} "  # noqa: S608
        f"GROUP BY {column} ORDER BY count(*) DESC, {column}"
    )


def locations(database: Database) -> list[tuple[int, float, float]]:
    """Return the pictures whose place is known, with latitude and longitude, by rising id."""
    return database.rows(
        "SELECT picture, latitude, longitude FROM details "  # noqa: S608
        f"WHERE latitude IS NOT NULL AND {_SHOWN} ORDER BY picture"
    )

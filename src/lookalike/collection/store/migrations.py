"""What brings a database of an older version to this one: a function from each to the next."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from sqlite3 import Connection

from lookalike.collection.store import log
from lookalike.collection.store.log_of_version_8 import rewrite_log
from lookalike.collection.store.people import OWNER, TRUST
from lookalike.collection.store.schema import SCHEMA, VERSION, create_records, records_table
from lookalike.collection.store.sums import RECORD, SUMMED
from lookalike.core.errors import DamagedFile


def migrate(connection: Connection) -> None:
    """Bring a database to this version, in an open transaction with foreign keys off."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for older in range(version, VERSION):
        MIGRATIONS[older](connection)
        connection.execute(f"PRAGMA user_version = {older + 1}")
    _write_schema(connection)


def migrate_8_to_9(connection: Connection) -> None:
    """Give every row its checksum, and write the log anew."""
    later = ("details", "texts")
    summed = {table: columns for table, columns in SUMMED.items() if table not in later}
    tables = {**summed, **dict.fromkeys(map(records_table, _rankers(connection)), RECORD)}
    for table, columns in tables.items():
        connection.execute(
            f"UPDATE {table} SET crc = row_sum({', '.join(columns)}) WHERE crc IS NULL"  # noqa: S608
        )
    rewrite_log(connection)


def migrate_9_to_10(connection: Connection) -> None:
    """Trust everybody who spoke before people had layers: what they said taught everybody."""
    answer = connection.execute(
        "SELECT DISTINCT who FROM events WHERE kind IN ('vote', 'label') AND who != '' ORDER BY 1"
    ).fetchall()
    for (who,) in answer:
        body = {"person": who, "trusts": True}
        log.insert(connection, TRUST, body, who=OWNER, key=None, about=None)


def migrate_10_to_11(connection: Connection) -> None:
    """Make room for what files and pictures say besides keywords, and have files read anew."""
    connection.execute(
        "CREATE TABLE details (picture INTEGER PRIMARY KEY REFERENCES all_pictures "
        "ON DELETE CASCADE, caption TEXT NOT NULL, camera TEXT NOT NULL, lens TEXT NOT NULL, "
        "latitude REAL, longitude REAL, crc INTEGER NOT NULL)"
    )
    for column in ("camera", "lens"):
        connection.execute(
            f"CREATE INDEX details_by_{column} ON details ({column}, picture) WHERE {column} != ''"
        )
    connection.execute(
        "CREATE TABLE texts (picture INTEGER PRIMARY KEY REFERENCES all_pictures "
        "ON DELETE CASCADE, text TEXT NOT NULL, crc INTEGER NOT NULL)"
    )
    connection.execute("UPDATE places SET sidecar = NULL")


def migrate_11_to_12(connection: Connection) -> None:
    """Note of each model whose labels it may have learned from: of all who ever counted."""
    connection.execute("ALTER TABLE models ADD COLUMN people TEXT NOT NULL DEFAULT '{}'")
    connection.execute("ALTER TABLE models ADD COLUMN seen INTEGER NOT NULL DEFAULT 0")
    labels = connection.execute(
        "SELECT at, number, who FROM events WHERE kind = 'label' AND who IN (SELECT "
        "json_extract(body, '$.person') FROM events WHERE kind IN ('trust', 'acceptance') "
        "AND body != '') ORDER BY number"
    ).fetchall()
    models = connection.execute("SELECT number, made FROM models WHERE source = 'labels'")
    for model, made in models.fetchall():
        people = {who: number for at, number, who in labels if at <= made}
        connection.execute(
            "UPDATE models SET people = ?, seen = (SELECT ifnull(max(number), 0) FROM events "
            "WHERE at <= ?) WHERE number = ?",
            (json.dumps(people), made, model),
        )


MIGRATIONS: dict[int, Callable[[Connection], None]] = {
    8: migrate_8_to_9,
    9: migrate_9_to_10,
    10: migrate_10_to_11,
    11: migrate_11_to_12,
}
"""What makes a database of a version one of the next; older versions are refused."""


def _rankers(connection: Connection) -> list[int]:
    return [int(number) for (number,) in connection.execute("SELECT id FROM rankers")]


def _write_schema(connection: Connection) -> None:
    """Describe the tables as a new database does.

    Migrations leave each table with the columns of a new one, in their order; constraints and
    defaults are text in ``sqlite_schema`` alone, so that no row is copied (sqlite.org,
    lang_altertable, section 7).
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as new:
        new.executescript(SCHEMA)
        for ranker in _rankers(connection):
            new.execute(create_records(ranker))
        objects = new.execute(
            "SELECT sql, type, name FROM sqlite_schema WHERE sql IS NOT NULL"
        ).fetchall()
        for _, _, name in objects:
            if _columns(connection, name) != _columns(new, name):
                raise DamagedFile(
                    f"the database is damaged: {name} has not the columns of its version. Restore "
                    f"a backup of the collection, or index again."
                )
    (version,) = connection.execute("PRAGMA schema_version").fetchone()
    connection.execute("PRAGMA writable_schema = ON")
    connection.executemany("UPDATE sqlite_schema SET sql = ? WHERE type = ? AND name = ?", objects)
    connection.execute(f"PRAGMA schema_version = {version + 1}")
    connection.execute("PRAGMA writable_schema = RESET")


def _columns(connection: Connection, name: str) -> list[tuple[object, ...]]:
    """Return the columns of a table or view with their types, or those of an index."""
    return connection.execute(
        "SELECT name, type, pk FROM pragma_table_info(?1) "
        "UNION ALL SELECT name, cid, seqno FROM pragma_index_info(?1)",
        (name,),
    ).fetchall()

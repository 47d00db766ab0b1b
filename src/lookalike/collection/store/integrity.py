"""Whether the database is whole: its structure, its rows, and a copy of it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from lookalike.collection.store import sums
from lookalike.collection.store.database import Database
from lookalike.collection.store.schema import records_table


def structure_problems(database: Database, most: int) -> list[str]:
    """Return at most so many problems that SQLite has with the structure of the file."""
    rows = database.rows(f"PRAGMA integrity_check({int(most)})")
    return [problem for (problem,) in rows if problem != "ok"]


def count_orphans(database: Database) -> int:
    """Return how many rows belong to something that is not there."""
    return len(database.rows("PRAGMA foreign_key_check"))


def damaged_rows(database: Database, table: str) -> list[Any]:
    """Return the first column of all rows of a table that are not as they were written."""
    columns = {**sums.SUMMED, "places": sums.PLACE}.get(table, sums.RECORD)
    with database.reading() as connection:
        return sums.damaged_rows(connection, table, columns)


def count_damaged(database: Database) -> int:
    """Return how many rows of all tables are not as they were written."""
    numbers = database.rows("SELECT id FROM rankers")
    tables = [*sums.SUMMED, "places", *(records_table(number) for (number,) in numbers)]
    return sum(len(damaged_rows(database, table)) for table in tables)


def copy(database: Database, target: Path) -> None:
    """Write the database of one moment into a new file."""
    target.unlink(missing_ok=True)
    with database.reading() as source, closing(sqlite3.connect(target)) as connection:
        source.backup(connection)

"""The snapshot of the votes that count, so that not the whole log is read on opening."""

from sqlite3 import Connection

from lookalike.collection.store.database import Database


def last(database: Database) -> tuple[int, bytes] | None:
    """Return the event up to which the snapshot has the votes, and its content; or None."""
    row = database.row("SELECT event, state FROM snapshots ORDER BY event DESC LIMIT 1")
    return None if row is None else (int(row[0]), bytes(row[1]))


def replace(connection: Connection, event: int, content: bytes) -> None:
    """Store a snapshot in place of the last."""
    delete(connection)
    connection.execute("INSERT INTO snapshots VALUES (?, ?)", (event, content))


def delete(connection: Connection) -> None:
    """Delete the snapshot."""
    connection.execute("DELETE FROM snapshots")

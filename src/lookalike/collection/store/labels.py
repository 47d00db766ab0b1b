"""What was said of pictures: their labels, the words refused for them, and clicks."""

from collections.abc import Iterable
from sqlite3 import Connection
from typing import TypeAlias

from lookalike.collection.store.database import Database, numbers
from lookalike.core.text import word_key

Labels: TypeAlias = dict[int, list[str]]
"""The labels of pictures."""

Clicks: TypeAlias = dict[str, dict[int, float]]
"""The weights of the pictures chosen for each query."""


def labels(database: Database) -> Labels:
    """Return the labels of all pictures that have any."""
    found: Labels = {}
    for picture, label in database.rows("SELECT picture, label FROM labels ORDER BY 1, 2"):
        found.setdefault(picture, []).append(label)
    return found


def clicks(database: Database) -> Clicks:
    """Return the pictures chosen for each query."""
    found: Clicks = {}
    with database.parsing("a click"):
        for query, picture, weight in database.rows("SELECT * FROM clicks ORDER BY 1, 2"):
            found.setdefault(query, {})[picture] = float(weight)
    return found


def keep_labels(connection: Connection, new: Labels) -> None:
    """Replace the labels of the pictures named."""
    connection.execute(
        "DELETE FROM labels WHERE picture IN (SELECT value FROM json_each(?))", (numbers(new),)
    )
    connection.executemany(
        "INSERT INTO labels VALUES (?, ?)",
        [(picture, label) for picture, names in new.items() for label in names],
    )


def keep_clicks(connection: Connection, new: Clicks) -> None:
    """Replace the clicks of the queries named."""
    connection.executemany("DELETE FROM clicks WHERE query = ?", [(query,) for query in new])
    connection.executemany(
        "INSERT INTO clicks VALUES (?, ?, ?)",
        [(query, picture, weight) for query in new for picture, weight in new[query].items()],
    )


def refused_for(database: Database, word: str, ids: Iterable[int]) -> set[int]:
    """Return the pictures, among some, that were said not to show a word."""
    found = database.rows(
        "SELECT picture, word FROM refusals WHERE picture IN (SELECT value FROM json_each(?))",
        numbers(ids),
    )
    key = word_key(word)
    return {picture for picture, refused in found if word_key(refused) == key}

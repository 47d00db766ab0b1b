"""What is read from the tables of a collection and written to them, in Python's terms."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection

import numpy as np

from lookalike.collection.database import Database, numbers, stored
from lookalike.collection.learning import Clicks, Ids, Labels, Lesson
from lookalike.collection.records import Figures, ModelRow, PictureRow
from lookalike.core.errors import InvalidInput

_PAGE = 1000


def now() -> str:
    """Give the time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find_id(database: Database, picture: object) -> int | None:
    """Give the id of a picture named by id or path, or None."""
    if isinstance(picture, int | np.integer) and not isinstance(picture, bool):
        row = database.row("SELECT id FROM pictures WHERE id = ?", int(picture))
    elif isinstance(picture, str | os.PathLike):
        row = database.row(
            "SELECT picture FROM places WHERE path = CAST(? AS TEXT)", stored(Path(picture))
        )
    else:
        raise InvalidInput(
            f"Collection: a picture is named by its id or path; got {type(picture).__name__}."
        )
    return None if row is None else int(row[0])


def find_content(database: Database, sha256: str) -> int | None:
    """Give the id of the picture with this content, or None."""
    row = database.row("SELECT id FROM pictures WHERE sha256 = ?", sha256)
    return None if row is None else int(row[0])


def file_facts(database: Database, path: str | Path) -> tuple[int, int] | None:
    """Give the size and time a file had when it was read, or None."""
    row = database.row(
        "SELECT size, mtime_ns FROM places WHERE path = CAST(? AS TEXT)", stored(path)
    )
    return None if row is None else (row[0], row[1])


def places_of(database: Database, ids: Iterable[int]) -> dict[int, tuple[Path, ...]]:
    """Give the paths of pictures, oldest first."""
    found: dict[int, tuple[Path, ...]] = {}
    rows = database.rows(
        "SELECT picture, path FROM places "
        "WHERE picture IN (SELECT value FROM json_each(?)) ORDER BY id",
        numbers(ids),
    )
    for picture, path in rows:
        found[picture] = (*found.get(picture, ()), Path(path))
    return found


def pictures(database: Database, first: int, last: int | None = None) -> Iterator[PictureRow]:
    """Go over the pictures from one id to another, a page at a time."""
    start, end = first, 2**62 if last is None else last
    while True:
        rows = database.rows(
            "SELECT id, sha256, format, width, height, bytes, taken, added FROM pictures "
            "WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
            *(start, end, _PAGE),
        )
        if not rows:
            return
        places = places_of(database, (row[0] for row in rows))
        for row in rows:
            if row[0] in places:
                yield PictureRow(*(*row, places[row[0]]))
        start = rows[-1][0] + 1


def all_places(database: Database) -> list[tuple[str, int]]:
    """Give every path and its picture, oldest first."""
    rows = database.rows("SELECT path, picture FROM places ORDER BY id")
    return [(path, picture) for path, picture in rows]


def roots(database: Database) -> list[str]:
    """Give the folders that were added."""
    return [path for (path,) in database.rows("SELECT path FROM roots ORDER BY path")]


def labels(database: Database) -> Labels:
    """Give the labels of all pictures that have any."""
    found: Labels = {}
    for picture, label in database.rows("SELECT picture, label FROM labels ORDER BY 1, 2"):
        found.setdefault(picture, []).append(label)
    return found


def clicks(database: Database) -> Clicks:
    """Give the pictures chosen for each query."""
    found: Clicks = {}
    with database.parsing("a click"):
        for query, picture, weight in database.rows("SELECT * FROM clicks ORDER BY 1, 2"):
            found.setdefault(query, {})[picture] = float(weight)
    return found


def models(database: Database) -> list[ModelRow]:
    """Give what was learned, oldest first."""
    current = database.state().get("model")
    rows = database.rows(
        "SELECT number, made, settings, figures, published FROM models ORDER BY number"
    )
    found = []
    for number, made, settings, figures, published in rows:
        with database.parsing(f"model {number}"):
            before, after = map(_figures, json.loads(figures))
            known = dict(json.loads(settings))
        found.append(
            ModelRow(number, made, known, before, after, bool(published), number == current)
        )
    return found


def settings_of(database: Database, number: int) -> str:
    """Give the settings a model was learned with, as JSON."""
    row = database.row("SELECT settings FROM models WHERE number = ?", number)
    with database.parsing(f"model {number}"):
        return "{}" if row is None else json.dumps(dict(json.loads(row[0])), sort_keys=True)


def source_of(database: Database, number: int | None) -> tuple[str, float]:
    """Give what a model was learned from, and the threshold of its clicks."""
    row = database.row("SELECT source, threshold FROM models WHERE number = ?", number)
    with database.parsing(f"model {number}"):
        return ("", 0.0) if row is None else (str(row[0]), float(row[1]))


def last_model(database: Database) -> int | None:
    """Give the number of what was learned last, published or not."""
    rows = database.rows("SELECT max(number) FROM models")
    return None if rows[0][0] is None else int(rows[0][0])


def model_files(database: Database) -> list[int]:
    """Give the numbers of the models whose files are kept."""
    rows = database.rows("SELECT number FROM models WHERE file IS NOT NULL")
    return [number for (number,) in rows]


def next_model(database: Database) -> int:
    """Give the number of the model to be learned next."""
    row = database.row("SELECT seq FROM sqlite_sequence WHERE name = 'models'")
    return 1 if row is None else int(row[0]) + 1


def sides(database: Database, number: int | None) -> tuple[Ids, Ids] | None:
    """Give the pictures a model was judged by and those it learned from."""
    row = database.row("SELECT held_back, learned_from FROM models WHERE number = ?", number)
    if row is None:
        return None
    with database.parsing(f"model {number}"):
        return np.frombuffer(row[0], "<i8"), np.frombuffer(row[1], "<i8")


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


def keep_lesson(
    connection: Connection, number: int, lesson: Lesson, *, previous: int | None, settings: str
) -> None:
    """Store how a model was learned and judged and, if it is published, let searches use it."""
    connection.execute(
        "INSERT INTO models VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            f"models/{number}.safetensors" if lesson.published else None,
            previous,
            lesson.published,
            lesson.knowledge.source,
            lesson.knowledge.threshold,
            settings,
            json.dumps([asdict(lesson.before), asdict(lesson.after)]),
            lesson.held_back.astype("<i8").tobytes(),
            lesson.learned_from.astype("<i8").tobytes(),
            now(),
        ),
    )
    if lesson.published:
        use_model(connection, number)
        connection.execute(
            "UPDATE models SET file = NULL WHERE number NOT IN (?, ?)", (number, previous or 0)
        )


def use_model(connection: Connection, number: int | None) -> None:
    """Let searches use a model, or none."""
    connection.execute("DELETE FROM state WHERE key = 'model'")
    if number is not None:
        connection.execute("INSERT INTO state VALUES ('model', ?)", (number,))


def _figures(stored: dict[str, float]) -> Figures:
    means = ("mean_average_precision", "precision_at_1", "precision_at_10")
    first, second, third = (float(stored[name]) for name in means)
    return Figures(first, second, third, int(stored["queries"]))

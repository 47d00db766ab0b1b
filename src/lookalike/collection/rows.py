"""What is read from the tables of a collection and written to them, in Python's terms."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection

import numpy as np

from lookalike.collection.database import Database, numbers, stored
from lookalike.collection.learning import Clicks, Labels
from lookalike.collection.lessons import IN_USE, Ids, Kind, Run
from lookalike.collection.records import Figures, ModelRow, PictureRow
from lookalike.core.errors import InvalidInput

_PAGE = 1000


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find_id(database: Database, picture: object) -> int | None:
    """Return the id of a picture named by id or path, or None."""
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
    """Return the id of the picture with this content, or None."""
    row = database.row("SELECT id FROM pictures WHERE sha256 = ?", sha256)
    return None if row is None else int(row[0])


def file_facts(database: Database, path: str | Path) -> tuple[int, int] | None:
    """Return the size and time a file had when it was read, or None."""
    row = database.row(
        "SELECT size, mtime_ns FROM places WHERE path = CAST(? AS TEXT)", stored(path)
    )
    return None if row is None else (row[0], row[1])


def places_of(database: Database, ids: Iterable[int]) -> dict[int, tuple[Path, ...]]:
    """Return the paths of pictures, oldest first."""
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
    """Return every path and its picture, oldest first."""
    rows = database.rows("SELECT path, picture FROM places ORDER BY id")
    return [(path, picture) for path, picture in rows]


def roots(database: Database) -> list[str]:
    """Return the folders that were added."""
    return [path for (path,) in database.rows("SELECT path FROM roots ORDER BY path")]


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


def models(database: Database) -> list[ModelRow]:
    """Return what was learned, oldest first."""
    current = in_use(database).values()
    rows = database.rows(
        "SELECT number, kind, made, settings, figures, published FROM models ORDER BY number"
    )
    found = []
    for number, kind, made, settings, figures, published in rows:
        with database.parsing(f"model {number}"):
            before, after = map(_figures, json.loads(figures))
            known = dict(json.loads(settings))
        found.append(
            ModelRow(number, kind, made, known, before, after, bool(published), number in current)
        )
    return found


def in_use(database: Database) -> dict[Kind, int]:
    """Return the numbers of the models in use."""
    state = database.state()
    return {kind: state[key] for kind, key in IN_USE.items() if key in state}


def before_the_last_run(database: Database) -> dict[Kind, tuple[int | None, bool]]:
    """Return what was in use before the last run of ``learn``, for each kind that it changed.

    That is a number, None for none, and whether its file is kept.
    """
    current = in_use(database)
    rows = database.rows(
        "SELECT number, run, previous, previous IS NULL OR "
        "EXISTS (SELECT 1 FROM models WHERE number = m.previous AND file IS NOT NULL) "
        "FROM models AS m WHERE number IN (SELECT value FROM json_each(?))",
        numbers(current.values()),
    )
    found = {number: (run, previous, bool(kept)) for number, run, previous, kept in rows}
    known = {kind: found.get(number, (0, None, True)) for kind, number in current.items()}
    last = max((run for run, _, _ in known.values()), default=0)
    return {kind: (previous, kept) for kind, (run, previous, kept) in known.items() if run == last}


def settings_of(database: Database, number: int) -> str:
    """Return the settings a model was learned with, as JSON."""
    row = database.row("SELECT settings FROM models WHERE number = ?", number)
    with database.parsing(f"model {number}"):
        return "{}" if row is None else json.dumps(dict(json.loads(row[0])), sort_keys=True)


def source_of(database: Database, number: int | None) -> tuple[str, float]:
    """Return what a model was learned from, and the threshold of its clicks."""
    row = database.row("SELECT source, threshold FROM models WHERE number = ?", number)
    with database.parsing(f"model {number}"):
        return ("", 0.0) if row is None else (str(row[0]), float(row[1]))


def last_model(database: Database, kind: Kind) -> int | None:
    """Return the number of what was learned last, published or not."""
    rows = database.rows("SELECT max(number) FROM models WHERE kind = ?", kind)
    return None if rows[0][0] is None else int(rows[0][0])


def model_files(database: Database) -> list[int]:
    """Return the numbers of the models whose files are kept."""
    rows = database.rows("SELECT number FROM models WHERE file IS NOT NULL")
    return [number for (number,) in rows]


def next_model(database: Database) -> int:
    """Return the number of the model to be learned next."""
    row = database.row("SELECT seq FROM sqlite_sequence WHERE name = 'models'")
    return 1 if row is None else int(row[0]) + 1


def sides(database: Database, number: int | None) -> tuple[Ids, Ids] | None:
    """Return the pictures a model was judged by and those it learned from."""
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


def keep_run(connection: Connection, run: Run, previous: Mapping[Kind, int]) -> None:
    """Store how the models of a run were learned and judged, and use those that are published.

    ``previous`` are the models in use so far; of each kind, the file of that one is kept too.
    """
    for number, lesson in run.lessons.items():
        before = previous.get(lesson.kind)
        connection.execute(
            "INSERT INTO models (number, kind, run, file, previous, published, source, threshold, "
            "settings, figures, held_back, learned_from, made) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(number, lesson.kind, run.first),
                f"models/{number}.safetensors" if lesson.published else None,
                *(before, lesson.published, lesson.source, lesson.threshold, lesson.settings),
                json.dumps([asdict(lesson.before), asdict(lesson.after)]),
                lesson.held_back.astype("<i8").tobytes(),
                lesson.learned_from.astype("<i8").tobytes(),
                now(),
            ),
        )
        if lesson.published:
            use_model(connection, lesson.kind, number)
            connection.execute(
                "UPDATE models SET file = NULL WHERE kind = ? AND number NOT IN (?, ?)",
                (lesson.kind, number, before or 0),
            )


def use_model(connection: Connection, kind: Kind, number: int | None) -> None:
    """Use a model, or none."""
    connection.execute("DELETE FROM state WHERE key = ?", (IN_USE[kind],))
    if number is not None:
        connection.execute("INSERT INTO state VALUES (?, ?)", (IN_USE[kind], number))


def drop_models(connection: Connection) -> None:
    """Use none of what was learned any more, and keep no file of it."""
    for kind in IN_USE:
        use_model(connection, kind, None)
    connection.execute("UPDATE models SET file = NULL")


def _figures(stored: dict[str, float]) -> Figures:
    means = ("mean_average_precision", "precision_at_1", "precision_at_10")
    first, second, third = (float(stored[name]) for name in means)
    return Figures(first, second, third, int(stored["queries"]))

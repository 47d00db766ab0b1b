"""Which pictures pass a filter: their ids, how many they are, and a page of them."""

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store.database import Database, numbers, stored
from lookalike.collection.store.filter import END, Filter
from lookalike.collection.store.pictures import FACTS, PictureRow, picture_rows, read_numbers
from lookalike.core.checks import check_choice, check_whole
from lookalike.core.earth import degrees_north
from lookalike.core.text import label_name, word_key

# SQLite has NULL, an unknown date, before all others.
ORDERS = {
    "newest": "taken DESC, id DESC",
    "oldest": "taken NULLS LAST, id",
    "added": "id DESC",
}
"""The orders to browse in: by date, unknown ones last, or by when pictures were added."""

_MAX = 2**62

_NEAR = (
    "SELECT picture FROM details WHERE latitude BETWEEN ? AND ? "
    "AND kilometres(latitude, longitude, ?, ?) <= ?"
)


def matching(database: Database, where: Filter | None) -> NDArray[np.int64] | None:
    """Return the ids that pass a filter, rising; None where it lets everything pass."""
    condition, values = _condition(where)
    if not condition:
        return None
    # One text is read five times as fast as a row for each.
    rows = database.rows(f"SELECT group_concat(id) FROM pictures {condition}", *values)  # noqa: S608
    return np.sort(read_numbers(rows[0][0]))


def browse(
    database: Database, k: int, offset: int = 0, where: Filter | None = None, order: str = "newest"
) -> list[PictureRow]:
    """Return ``k`` pictures that pass a filter after the first ``offset``, in one of ``ORDERS``."""
    # The page is found in an index alone, then read.
    page, values = _page(k, offset, where, order)
    rows = database.rows(
        f"SELECT {FACTS} FROM pictures WHERE id IN ({page}) ORDER BY {ORDERS[order]}",  # noqa: S608
        *values,
    )
    return picture_rows(database, rows)


def browse_ids(
    database: Database, k: int, offset: int, where: Filter | None, order: str
) -> list[int]:
    """Return the ids of what :func:`browse` returns."""
    page, values = _page(k, offset, where, order)
    return [number for (number,) in database.rows(page, *values)]


def _page(k: int, offset: int, where: Filter | None, order: str) -> tuple[str, list[Any]]:
    """Return the query for the ids of a page, in order, with its values."""
    check_choice("browse", "order", order, ORDERS)
    check_whole("browse", "k", k, 1)
    check_whole("browse", "offset", offset, 0)
    condition, values = _condition(where, walked=True)
    page = f"SELECT id FROM pictures {condition} ORDER BY {ORDERS[order]} LIMIT ? OFFSET ?"  # noqa: S608
    return page, [*values, min(int(k), _MAX), min(int(offset), _MAX)]


def binned(database: Database, k: int, offset: int = 0) -> list[PictureRow]:
    """Return ``k`` pictures of the bin after the first ``offset``, the last removed first."""
    check_whole("bin", "k", k, 1)
    check_whole("bin", "offset", offset, 0)
    rows = database.rows(
        f"SELECT {FACTS} FROM all_pictures JOIN bin ON picture = id "  # noqa: S608
        "ORDER BY since DESC, id DESC LIMIT ? OFFSET ?",
        *(min(int(k), _MAX), min(int(offset), _MAX)),
    )
    return picture_rows(database, rows)


def count(database: Database, where: Filter | None = None) -> int:
    """Count the pictures that pass a filter."""
    condition, values = _condition(where)
    rows = database.rows(f"SELECT count(*) FROM pictures {condition}", *values)  # noqa: S608
    return int(rows[0][0])


def months(database: Database, where: Filter | None = None) -> list[tuple[str, int]]:
    """Count the pictures that pass a filter by month, as ``2024-05``, newest first.

    Those whose date is unknown come last, under ``""``: as ``browse`` has them.
    """
    condition, values = _condition(where, walked=True)
    month = "coalesce(substr(taken, 1, 7), '')"
    rows = database.rows(
        f"SELECT {month}, count(*) FROM pictures {condition} GROUP BY 1 ORDER BY 1 DESC",  # noqa: S608
        *values,
    )
    return [(name, number) for name, number in rows]


def formats(database: Database) -> list[tuple[str, int]]:
    """Count the pictures of each format, the commonest first."""
    rows = database.rows(
        "SELECT format, count(*) FROM pictures GROUP BY format ORDER BY count(*) DESC, format"
    )
    return [(name, number) for name, number in rows]


def _condition(where: Filter | None, *, walked: bool = False) -> tuple[str, list[Any]]:
    """Return a filter as SQL over the table of pictures, with its values; empty for none.

    ``walked`` has pictures tested one by one in the order of an index, rather than fetched by
    the ids that a folder or tag holds: without it, a page would be sorted out of all of them.
    """
    if where is None or where == Filter():
        return "", []
    where.check()
    own = "+id" if walked else "id"
    parts: list[tuple[str, tuple[Any, ...]]] = []
    if where.folder is not None:
        listed = (
            "SELECT picture FROM places WHERE path >= CAST(? AS TEXT) AND path < CAST(? AS TEXT)"
        )
        parts.append((f"{own} IN ({listed})", _below(where.folder)))
    listed = "SELECT picture FROM labels WHERE key = ?"
    for words, of in ((where.tags, "IN"), (where.without_tags, "NOT IN")):
        parts += [(f"{own} {of} ({listed})", (word_key(label_name(word)),)) for word in words]
    if where.untagged is not None:
        tagged = "SELECT picture FROM labels"
        parts.append((f"{own} {'NOT ' if where.untagged else ''}IN ({tagged})", ()))
    if where.missing is not None:
        there = "SELECT picture FROM places WHERE lost IS NULL"
        parts.append((f"{own} {'NOT ' if where.missing else ''}IN ({there})", ()))
    if where.pictures is not None:
        listed = "SELECT value FROM json_each(?)"
        parts.append((f"{own} IN ({listed})", (numbers(where.pictures),)))
    if where.formats:
        names = json.dumps([name.upper() for name in where.formats])
        parts.append(("format IN (SELECT value FROM json_each(?))", (names,)))
    for column, some in (("camera", where.cameras), ("lens", where.lenses)):
        if some:
            listed = f"SELECT picture FROM details WHERE {column} IN"  # noqa: S608
            within = "(SELECT value FROM json_each(?))"
            parts.append((f"{own} IN ({listed} {within})", (json.dumps(some),)))
    if where.near is not None:
        parts.append((f"{own} IN ({_NEAR})", _near(*where.near)))
    ends = (
        ("taken >= ?", where.taken_from),
        ("taken < ?", None if where.taken_to is None else where.taken_to + END),
        ("max(width, height) >= ?", where.min_side),
        ("max(width, height) <= ?", where.max_side),
        ("bytes >= ?", where.min_bytes),
        ("bytes <= ?", where.max_bytes),
    )
    parts += [(sql, (value,)) for sql, value in ends if value is not None]
    return (
        "WHERE " + " AND ".join(sql for sql, _ in parts),
        [value for _, values in parts for value in values],
    )


def _near(latitude: float, longitude: float, distance: float) -> tuple[float, ...]:
    """Return what the latitudes of places within a distance lie between, and the rest."""
    reach = degrees_north(distance) + 1e-9
    return latitude - reach, latitude + reach, latitude, longitude, distance


def _below(folder: str) -> tuple[bytes, bytes]:
    """Return the two ends that the paths below a folder lie between, as the database keeps them."""
    first = stored(folder).rstrip(os.sep.encode()) + os.sep.encode()
    return first, first[:-1] + bytes([first[-1] + 1])

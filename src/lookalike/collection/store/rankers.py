"""The rows of rankers, and the records that their features made of pictures."""

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from sqlite3 import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store import models, pictures
from lookalike.collection.store.database import Database, numbers
from lookalike.collection.store.schema import create_records, records_table
from lookalike.collection.store.sums import is_sound, row_sum
from lookalike.collection.store.teachers import in_place_of
from lookalike.core.errors import DamagedFile
from lookalike.core.text import counted

_log = logging.getLogger(__name__)

_COLUMNS = (
    "id, name, feature, package, settings, file, fingerprint, index_kind, rerankers, ready, "
    "reduction, reduced_at, similarity, annotator, codes"
)


_USED = (*models.IN_USE.values(),)


@dataclass(frozen=True, slots=True)
class RankerRow:
    """What is kept of a ranker.

    Attributes
    ----------
    id : int
        Never used again.
    name : str
        What searches name it by.
    feature, package : str
        The feature's name in its registry, and the package that brings it, if not our own.
    settings : dict
        What the feature is made with while it has no file.
    file, fingerprint : str or None
        Where the feature is kept, and its fingerprint; None until it is fitted.
    index_kind : str or None
        The index that holds its vectors; None is chosen by what they are.
    rerankers : list of (str, dict)
        Names and settings of what its hits are ranked again by.
    ready : bool
        Whether the pictures there were before it have been described.
    reduction : str or None
        The fingerprint of the space that is searched, where the feature's own is reduced.
    reduced_at : int or None
        How many pictures there were when it was fitted.
    similarity, annotator, codes : int or None
        The numbers of the models in use.
    """

    id: int
    name: str
    feature: str
    package: str
    settings: dict[str, Any]
    file: str | None
    fingerprint: str | None
    index_kind: str | None
    rerankers: list[tuple[str, dict[str, Any]]]
    ready: bool
    reduction: str | None
    reduced_at: int | None
    similarity: int | None
    annotator: int | None
    codes: int | None

    @property
    def space(self) -> str | None:
        """The fingerprint of the space that is searched."""
        return self.reduction or self.fingerprint


def rankers(database: Database) -> list[RankerRow]:
    """Return all rankers, the default one first, else in the order they were made.

    Where a model learned from labels that count no more, each names what is used instead.
    """
    rows = database.rows(
        f"SELECT {_COLUMNS} FROM rankers ORDER BY "  # noqa: S608
        "id IS NOT (SELECT value FROM state WHERE key = 'default ranker'), id"
    )
    with database.parsing("a ranker"):
        read = [_row(row) for row in rows]
    other = in_place_of(database)
    return [
        replace(row, **{name: other.get(getattr(row, name), getattr(row, name)) for name in _USED})
        for row in read
    ]


def _row(row: Sequence[Any]) -> RankerRow:
    number, name, feature, package, settings, file, fingerprint, kind, rerankers, ready = row[:10]
    for mark in (fingerprint, row[10]):
        if mark is not None and (len(mark) != 32 or not set(mark) <= set("0123456789abcdef")):
            raise ValueError(f"a fingerprint is {mark!r:.80}")
    for count in (number, *row[11:]):
        if count is not None and not isinstance(count, int):
            raise ValueError(f"a number is {count!r:.80}")
    return RankerRow(
        *(number, str(name), str(feature), str(package), dict(json.loads(settings))),
        *(file, fingerprint, kind),
        *([(str(one), dict(given)) for one, given in json.loads(rerankers)], bool(ready)),
        *row[10:],
    )


def add_ranker(
    connection: Connection,
    *,
    name: str,
    feature: str,
    package: str,
    settings: dict[str, Any],
    index_kind: str | None,
    rerankers: Sequence[tuple[str, dict[str, Any]]],
) -> int:
    """Add a ranker that has described no picture yet, and return its id."""
    number = connection.execute(
        "INSERT INTO rankers (name, feature, package, settings, index_kind, rerankers, ready) "
        "VALUES (?, ?, ?, ?, ?, ?, 0)",
        (name, feature, package, json.dumps(settings), index_kind, json.dumps(rerankers)),
    ).lastrowid
    connection.execute(create_records(int(number or 0)))
    connection.execute(
        "INSERT INTO undescribed SELECT ?, id, '' FROM all_pictures ORDER BY id", (number,)
    )
    return int(number or 0)


def set_default(connection: Connection, name: str | None) -> None:
    """Note which ranker is the default one; for None, and for one that went, the oldest is."""
    connection.execute("DELETE FROM state WHERE key = 'default ranker'")
    connection.execute(
        "INSERT INTO state SELECT 'default ranker', id FROM rankers WHERE name = ?", (name,)
    )


def remove(connection: Connection, ranker: int) -> None:
    """Remove a ranker with its records and models; votes and labels teach the others on."""
    connection.execute("DELETE FROM models WHERE ranker = ?", (ranker,))
    connection.execute(f"DROP TABLE {records_table(ranker)}")
    connection.execute("DELETE FROM rankers WHERE id = ?", (ranker,))


def set_feature(connection: Connection, ranker: int, file: str, fingerprint: str) -> None:
    """Note where the feature of a ranker is kept, now that it is fitted."""
    connection.execute(
        "UPDATE rankers SET file = ?, fingerprint = ? WHERE id = ?", (file, fingerprint, ranker)
    )


def set_ready(connection: Connection, ranker: int) -> None:
    """Note that the pictures there were before a ranker have been described."""
    connection.execute("UPDATE rankers SET ready = 1 WHERE id = ?", (ranker,))


def set_reduction(connection: Connection, ranker: int, fingerprint: str, pictures: int) -> None:
    """Change the space that a ranker searches in."""
    connection.execute(
        "UPDATE rankers SET reduction = ?, reduced_at = ? WHERE id = ?",
        (fingerprint, pictures, ranker),
    )


def keep_record(connection: Connection, ranker: int, picture: int, record: bytes) -> None:
    """Keep what a feature made of a picture."""
    connection.execute(
        f"INSERT INTO {records_table(ranker)} VALUES (?, ?, ?)",  # noqa: S608
        (picture, record, row_sum(picture, record)),
    )


def note_undescribed(connection: Connection, ranker: int, picture: int, reason: str) -> None:
    """Note that a ranker has no record of a picture, and why."""
    connection.execute(
        "INSERT OR REPLACE INTO undescribed VALUES (?, ?, ?)", (ranker, picture, reason)
    )


def described(connection: Connection, ranker: int, picture: int, record: bytes) -> bool:
    """Keep the record of a picture that lacked it; return False if the picture is gone by now."""
    lacking = connection.execute(
        "DELETE FROM undescribed WHERE ranker = ? AND picture = ?", (ranker, picture)
    ).rowcount
    if lacking:
        keep_record(connection, ranker, picture, record)
    return bool(lacking)


def undescribed(database: Database, ranker: int) -> dict[int, str]:
    """Return the pictures that a ranker has no record of, and why."""
    return dict(
        database.rows(
            "SELECT picture, reason FROM undescribed WHERE ranker = ? ORDER BY picture", ranker
        )
    )


def record_ids(database: Database, ranker: int) -> NDArray[np.int64]:
    """Return the pictures, in the bin or not, that a ranker has a record of."""
    rows = database.rows(f"SELECT picture FROM {records_table(ranker)}")  # noqa: S608
    return np.array([number for (number,) in rows], np.int64)


def described_ids(database: Database, ranker: int) -> NDArray[np.int64]:
    """Return the ids of the pictures that a ranker has records of, rising."""
    lacking = undescribed(database, ranker)
    every = pictures.ids(database)
    return np.setdiff1d(every, [*lacking], assume_unique=True) if lacking else every


def sound_records(
    database: Database, ranker: int, ids: Iterable[int]
) -> tuple[list[int], list[bytes]]:
    """Return the pictures whose records are as they were written, rising, and these records.

    Those of others are left out with a warning: one damaged record must not stop all searches.
    """
    wanted = list(ids)
    rows = database.rows(
        f"SELECT picture, record, crc FROM {records_table(ranker)} "  # noqa: S608
        "WHERE picture IN (SELECT value FROM json_each(?)) ORDER BY picture",
        numbers(wanted),
    )
    sound = [row for row in rows if is_sound(row[2], row[0], row[1])]
    if len(sound) < len(wanted):
        lost = sorted({*wanted} - {row[0] for row in sound})
        _log.warning(
            "the records of %s are missing or damaged, so they are not found: %s. "
            "“lookalike check” says what to do",
            *(counted(len(lost), "picture"), ", ".join(map(str, lost[:10]))),
        )
    return [row[0] for row in sound], [row[1] for row in sound]


def records(database: Database, ranker: int, ids: Iterable[int]) -> list[bytes]:
    """Return the records of pictures, in the order of rising ids.

    Raises
    ------
    DamagedFile
        If one is missing or damaged.
    """
    wanted = list(ids)
    result = sound_records(database, ranker, wanted)[1]
    missing = len(wanted) - len(result)
    if missing:
        raise DamagedFile(
            f"the database lacks the records of {counted(missing, 'picture')}, or they are "
            f"damaged. Restore a backup of the collection, or index again; “lookalike check” lists "
            f"them."
        )
    return result

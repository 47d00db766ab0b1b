"""The words of pictures: labels by their source, words refused for them, and clicks."""

import json
from collections.abc import Iterable, Mapping
from sqlite3 import Connection
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store.database import Database, numbers
from lookalike.collection.store.pictures import read_numbers
from lookalike.collection.store.sums import SUMMED, check_rows, damaged
from lookalike.core.text import word_key

Labels: TypeAlias = dict[int, list[str]]
"""The labels of pictures."""

Clicks: TypeAlias = dict[str, dict[int, float]]
"""The weights of the pictures chosen for each query."""

LabelSource: TypeAlias = Literal["hand", "keywords", "files", "folders"]
"""Where labels come from: said by people, read in pictures' files, imported, or folders' names."""

FAVOURITE = "favourite"
"""The label of favourites: it says nothing of what pictures show, so that it teaches nothing."""

SOURCES: tuple[LabelSource, ...] = get_args(LabelSource)
"""The sources by the numbers they are kept under; the first that gives a word spells it."""

HAND = SOURCES.index("hand")

_SHOWN = (
    "NOT EXISTS (SELECT 1 FROM given AS other WHERE other.picture = {picture} "
    "AND other.key = {key} AND other.source < {source}) "
    "AND NOT EXISTS (SELECT 1 FROM refusals WHERE refusals.picture = {picture} "
    "AND refusals.key = {key}) "
    "AND {picture} NOT IN (SELECT picture FROM bin)"
)
"""Whether a label is shown: no source before its own gives it, it was not refused, and its picture
is not in the bin."""

_GIVEN = ", ".join((*SUMMED["given"], "crc"))

Change: TypeAlias = tuple[int, str, str | None, str | None]
"""A picture, the key of a word, and its label in a layer before and after; None for none."""


def labels(database: Database, ids: Iterable[int] | None = None) -> Labels:
    """Return the labels of all pictures, or of some, that have any."""
    within = "" if ids is None else "AND picture IN (SELECT value FROM json_each(?))"
    result: Labels = {}
    rows = database.rows(
        f"SELECT {_GIVEN} FROM given WHERE shown {within} ORDER BY picture, label",  # noqa: S608
        *([] if ids is None else [numbers(ids)]),
    )
    for picture, _, _, label in check_rows("a label of picture", rows):
        result.setdefault(picture, []).append(label)
    return result


def labels_of(database: Database, ids: Iterable[int]) -> Labels:
    """Return the labels of pictures; of each one named, if only an empty list."""
    empty: Labels = {int(number): [] for number in ids}
    return empty | labels(database, empty)


def labels_used(database: Database) -> list[tuple[str, int]]:
    """Return each label with the number of pictures that have it, the commonest first.

    Labels that differ in case or Unicode form only are one, spelled as most pictures have it.
    """
    rows = database.rows("SELECT key, label, count(*) FROM labels GROUP BY key, label")
    return sorted(_joined(rows).values(), key=lambda item: (-item[1], item[0]))


def label_counts(database: Database, words: Iterable[str]) -> dict[str, tuple[str, int]]:
    """Return words by their keys, as most pictures spell them, and how many have them."""
    return _joined(
        database.rows(
            "SELECT key, label, count(*) FROM labels "
            "WHERE label IN (SELECT value FROM json_each(?)) GROUP BY key, label",
            json.dumps(sorted(words)),
        )
    )


def _joined(rows: Iterable[tuple[Any, ...]]) -> dict[str, tuple[str, int]]:
    """Return by key the commonest spelling of a label, and the pictures of all its spellings."""
    counts: dict[str, list[tuple[int, str]]] = {}
    for key, label, number in rows:
        if not isinstance(key, str) or not isinstance(label, str):
            raise damaged("a label")
        counts.setdefault(key, []).append((-number, label))
    return {key: (min(own)[1], -sum(number for number, _ in own)) for key, own in counts.items()}


def is_label(database: Database, word: str) -> bool:
    """Return whether a picture has a label, however it is spelled."""
    return database.row("SELECT 1 FROM labels WHERE key = ? LIMIT 1", word_key(word)) is not None


def labelled(database: Database) -> set[int]:
    """Return the pictures that have labels."""
    return {picture for (picture,) in database.rows("SELECT DISTINCT picture FROM labels")}


def count_labelled(database: Database) -> int:
    """Return how many pictures have labels."""
    # Counted quicker as rows than as values.
    rows = database.rows("SELECT count(*) FROM (SELECT DISTINCT picture FROM labels)")
    return int(rows[0][0])


def with_words(database: Database, among: Iterable[int] | None = None) -> NDArray[np.int64]:
    """Return the pictures that have labels or were refused some; all, or those among some."""
    within = "" if among is None else "WHERE picture IN (SELECT value FROM json_each(?1))"
    # One text is read five times as fast as a row for each.
    rows = database.rows(
        f"SELECT group_concat(picture) FROM (SELECT DISTINCT picture FROM labels {within} "  # noqa: S608
        f"UNION ALL SELECT DISTINCT picture FROM refusals {within})",
        *([] if among is None else [numbers(among)]),
    )
    return read_numbers(rows[0][0])


def without_words(connection: Connection, ids: Iterable[int]) -> set[int]:
    """Return those of some pictures without a file left and without a word by hand."""
    rows = connection.execute(
        "SELECT id FROM pictures WHERE id IN (SELECT value FROM json_each(?)) "
        "AND NOT EXISTS (SELECT 1 FROM places WHERE picture = pictures.id AND lost IS NULL) "
        "AND NOT EXISTS (SELECT 1 FROM refusals WHERE picture = pictures.id) "
        "AND NOT EXISTS (SELECT 1 FROM given WHERE picture = pictures.id AND source = ?)",
        (numbers(ids), HAND),
    )
    return {number for (number,) in rows.fetchall()}


def keys_of(database: Database, picture: int) -> set[str]:
    """Return the keys of the words that a picture has or was refused."""
    rows = database.rows(
        "SELECT key FROM labels WHERE picture = ?1 UNION ALL "
        "SELECT key FROM refusals WHERE picture = ?1",
        picture,
    )
    return {key for (key,) in rows}


def labels_by_source(
    database: Database, ids: Iterable[int] | None = None
) -> dict[int, list[tuple[str, LabelSource]]]:
    """Return the labels that are shown of all pictures or of some, in every layer that has them."""
    within = "" if ids is None else "AND picture IN (SELECT value FROM json_each(?))"
    result: dict[int, list[tuple[str, LabelSource]]] = {}
    rows = database.rows(
        f"SELECT {_GIVEN} FROM given WHERE EXISTS (SELECT 1 FROM given AS one "  # noqa: S608
        "WHERE one.picture = given.picture AND one.key = given.key AND one.shown) "
        f"{within} ORDER BY picture, key, source",
        *([] if ids is None else [numbers(ids)]),
    )
    for picture, _, source, label in check_rows("a label of picture", rows):
        result.setdefault(picture, []).append((label, SOURCES[source]))
    return result


def clicks(database: Database) -> Clicks:
    """Return the pictures chosen for each query."""
    result: Clicks = {}
    with database.parsing("a click"):
        rows = database.rows(
            "SELECT query, picture, weight, crc FROM clicks "
            "WHERE picture NOT IN (SELECT picture FROM bin) ORDER BY 1, 2"
        )
        for query, picture, weight in check_rows("a click on", rows):
            result.setdefault(query, {})[picture] = float(weight)
    return result


def keep_clicks(connection: Connection, new: Clicks) -> None:
    """Replace the clicks of the queries named."""
    connection.executemany("DELETE FROM clicks WHERE query = ?", [(query,) for query in new])
    connection.executemany(
        "INSERT INTO clicks VALUES (?1, ?2, ?3, row_sum(?1, ?2, CAST(?3 AS REAL)))",
        [(query, picture, weight) for query in new for picture, weight in new[query].items()],
    )


def refused_for(database: Database, word: str, ids: Iterable[int] | None = None) -> set[int]:
    """Return the pictures, all or among some, that were said not to show a word."""
    within = "" if ids is None else "AND picture IN (SELECT value FROM json_each(?))"
    rows = database.rows(
        f"SELECT picture FROM refusals WHERE key = ? {within}",  # noqa: S608
        word_key(word),
        *([] if ids is None else [numbers(ids)]),
    )
    return {picture for (picture,) in rows}


def refusals(database: Database, ids: Iterable[int]) -> dict[str, set[int]]:
    """Return the keys of words that pictures were refused, and these pictures."""
    pictures: dict[str, set[int]] = {}
    for picture, key in database.rows(
        "SELECT picture, key FROM refusals WHERE picture IN (SELECT value FROM json_each(?))",
        numbers(ids),
    ):
        pictures.setdefault(key, set()).add(picture)
    return pictures


def source_labels(connection: Connection, source: LabelSource, picture: int) -> list[str]:
    """Return the labels that a source gives a picture."""
    rows = connection.execute(
        "SELECT label FROM given WHERE picture = ? AND source = ?",
        (picture, SOURCES.index(source)),
    )
    return [label for (label,) in rows]


def show(connection: Connection, ids: str, key: str | None = None) -> None:
    """Decide again which labels of pictures are shown, of one word or of all.

    A label is shown if any source gives it, spelled as the first that does, unless the word was
    refused for the picture or the picture is in the bin. Whoever changes the layers, the refusals
    or the bin has to call it; ``ids`` are as ``numbers`` writes them.
    """
    of_word = "" if key is None else "AND key = ?2"
    shown = _SHOWN.format(picture="given.picture", key="given.key", source="given.source")
    connection.execute(
        "UPDATE given SET shown = NOT shown "  # noqa: S608
        f"WHERE picture IN (SELECT value FROM json_each(?1)) {of_word} AND shown != ({shown})",
        (ids,) if key is None else (ids, key),
    )


def set_by_hand(
    connection: Connection, key: str, ids: Iterable[int], yes: str | None, no: str | None = None
) -> None:
    """Let pictures have a word by hand, or be refused it, or neither.

    A word keeps the spelling that another source has it in.
    """
    some = numbers(ids)
    own = "picture IN (SELECT value FROM json_each(?)) AND key = ?"
    connection.execute(f"DELETE FROM given WHERE {own} AND source = {HAND}", (some, key))  # noqa: S608
    connection.execute(f"DELETE FROM refusals WHERE {own}", (some, key))  # noqa: S608
    if yes is not None:
        connection.execute(
            "INSERT INTO given SELECT value, ?2, ?3, label, "
            "value NOT IN (SELECT picture FROM bin), row_sum(value, ?2, ?3, label) "
            "FROM (SELECT value, ifnull((SELECT label FROM given WHERE picture = value "
            "AND key = ?2 ORDER BY source LIMIT 1), ?4) AS label FROM json_each(?1))",
            (some, key, HAND, yes),
        )
    if no is not None:
        connection.execute(
            "INSERT INTO refusals SELECT value, ?2, ?3, row_sum(value, ?2, ?3) FROM json_each(?1)",
            (some, key, no),
        )
    show(connection, some, key)


def set_layer(
    connection: Connection, source: LabelSource, changes: Iterable[tuple[int, str, str | None]]
) -> None:
    """Give pictures the labels of a source by keys of words, or take them away: None."""
    number, rows = SOURCES.index(source), list(changes)
    connection.executemany(
        "DELETE FROM given WHERE picture = ? AND key = ? AND source = ?",
        [(picture, key, number) for picture, key, label in rows if label is None],
    )
    shown = _SHOWN.format(picture="?1", key="?2", source="?3")
    connection.executemany(
        f"INSERT OR REPLACE INTO given VALUES (?1, ?2, ?3, ?4, {shown}, row_sum(?1, ?2, ?3, ?4))",  # noqa: S608
        [(picture, key, number, label) for picture, key, label in rows if label is not None],
    )
    show(connection, numbers({picture for picture, _, _ in rows}))


def layer_changes(
    connection: Connection, source: LabelSource, new: Mapping[int, Iterable[str]], *, whole: bool
) -> list[Change]:
    """Return what it takes for a source to give these labels instead of those it gives now.

    ``whole`` takes away those of all other pictures; else these keep theirs.
    """
    rows: Iterable[tuple[int, str, str]]
    if whole:
        rows = connection.execute(
            "SELECT picture, key, label FROM given WHERE source = ?", (SOURCES.index(source),)
        )
    else:
        rows = connection.execute(
            "SELECT picture, key, label FROM given WHERE source = ? "
            "AND picture IN (SELECT value FROM json_each(?))",
            (SOURCES.index(source), numbers(new)),
        )
    before = {(picture, key): label for picture, key, label in rows}
    after = _by_key(new)
    return [
        (*own, before.get(own), after.get(own))
        for own in sorted(before.keys() | after.keys())
        if before.get(own) != after.get(own)
    ]


def words_to_take(connection: Connection, picture: int, others: Iterable[int]) -> list[Change]:
    """Return the words of pictures that another has not got, and those refused for them.

    What was said of the other one counts more, and a word given more than the same refused. The
    names of folders are not said of pictures.
    """
    some = (picture, numbers(others))
    given = connection.execute(
        "SELECT key, label FROM given AS own "
        "WHERE picture IN (SELECT value FROM json_each(?2)) AND shown AND source != ?3 "
        "AND key NOT IN (SELECT key FROM refusals WHERE picture = ?1) "
        "AND NOT EXISTS (SELECT 1 FROM given WHERE picture = ?1 AND given.key = own.key "
        "AND source <= own.source) ORDER BY source DESC, picture DESC",
        (*some, SOURCES.index("folders")),
    )
    words = dict(given.fetchall())
    refused = connection.execute(
        "SELECT key, word FROM refusals WHERE picture IN (SELECT value FROM json_each(?2)) "
        "AND key NOT IN (SELECT key FROM refusals WHERE picture = ?1) "
        "AND key NOT IN (SELECT key FROM given WHERE picture = ?1) ORDER BY picture DESC",
        some,
    )
    not_shown = {key: word for key, word in refused if key not in words}
    return [
        *((picture, key, None, word) for key, word in words.items()),
        *((picture, key, word, None) for key, word in not_shown.items()),
    ]


def labels_with(
    database: Database,
    source: LabelSource,
    new: Mapping[int, Iterable[str]],
    *,
    whole: bool,
    by_hand: Mapping[tuple[int, str], tuple[bool | None, str]] | None = None,
) -> Labels:
    """Return the labels of all pictures as they will be once a source gives these.

    ``by_hand`` are pictures and keys of words of which something else than is stored was said by
    hand: that they show the word, or do not, or for None nothing.
    """
    hand = by_hand or {}
    number, after = SOURCES.index(source), _by_key(new)
    first: dict[tuple[int, str], tuple[int, str]] = {
        own: (number, label) for own, label in after.items()
    } | {own: (HAND, word) for own, (shows, word) in hand.items() if shows}
    hidden: set[Any] = {
        *(one for one in database.rows("SELECT picture, key FROM refusals") if one not in hand),
        *(one for one, (shows, _) in hand.items() if shows is False),
        *(picture for (picture,) in database.rows("SELECT picture FROM bin")),
    }
    for picture, key, one, label in database.rows("SELECT picture, key, source, label FROM given"):
        replaced = one == number and (whole or picture in new)
        replaced = replaced or (one == HAND and (picture, key) in hand)
        if not replaced:
            first[picture, key] = min((one, label), first.get((picture, key), (one, label)))
    result: Labels = {}
    for (picture, key), (_, label) in sorted(first.items()):
        if picture not in hidden and (picture, key) not in hidden:
            result.setdefault(picture, []).append(label)
    return result


def _by_key(new: Mapping[int, Iterable[str]]) -> dict[tuple[int, str], str]:
    """Return labels by their pictures and the keys of their words; the first spelling counts."""
    result: dict[tuple[int, str], str] = {}
    for picture, names in new.items():
        for name in names:
            result.setdefault((picture, word_key(name)), name)
    return result


def count_by_hand(connection: Connection, key: str, ids: Iterable[int], *, shows: bool) -> int:
    """Count the pictures that have a word by hand, or were refused it."""
    table = f"given WHERE source = {HAND} AND" if shows else "refusals WHERE"
    ((count,),) = connection.execute(
        f"SELECT count(*) FROM {table} key = ? "  # noqa: S608
        "AND picture IN (SELECT value FROM json_each(?))",
        (key, numbers(ids)),
    )
    return int(count)

"""Write labels with their sources as a table that ``lookalike learn`` can read again."""

import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from lookalike.core.text import safe_cell, shown, word_key
from lookalike.service.csv_rows import write_rows

if TYPE_CHECKING:
    from lookalike.collection import Collection

Row: TypeAlias = tuple[Path, Sequence[tuple[str, str]]]
"""A file, and its labels with their sources."""


def label_rows(collection: "Collection") -> list[Row]:
    """Return the first file of each labelled picture, and its labels."""
    given = collection.labels.sources()
    places = {row.id: row.places[0] for row in collection.pictures.all() if row.id in given}
    return [(places[number], labels) for number, labels in given.items() if number in places]


def labels_csv(rows: Iterable[Row]) -> bytes:
    """Return CSV in UTF-8: ``file,tag,sources``, one row per label; sources are joined by spaces.

    As for :func:`~lookalike.service.tag_tables.tags_csv`, a quote stands before what could be a
    formula, and readers split a tag at ``;`` and ``|``: JSON keeps such labels whole. Bytes of a
    file name that are not text are replaced.
    """
    file = io.StringIO()
    write_rows(file, [["file", "tag", "sources"]])
    for path, labels in rows:
        together = by_label(labels)
        cells = (
            [safe_cell(shown(path)), safe_cell(shown(name)), " ".join(why)]
            for name, why in together.items()
        )
        write_rows(file, cells)
    return file.getvalue().encode()


def labels_json(rows: Iterable[Row]) -> bytes:
    """Return JSON in UTF-8: a list of objects, each with a file, its labels and their sources."""
    lines = [
        json.dumps(
            {
                "file": str(path),
                "tags": [*by_label(labels)],
                "sources": [*by_label(labels).values()],
            },
            ensure_ascii=False,
        )
        for path, labels in rows
    ]
    return "[\n{}\n]\n".format(",\n".join(lines)).encode(errors="backslashreplace")


def by_label(labels: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the sources of each label, however they spell it.

    Examples
    --------
    >>> by_label([("Cat", "hand"), ("cat", "folders"), ("dog", "files")])
    {'Cat': ['hand', 'folders'], 'dog': ['files']}
    """
    spelled: dict[str, str] = {}
    result: dict[str, list[str]] = {}
    for label, source in labels:
        result.setdefault(spelled.setdefault(word_key(label), label), []).append(source)
    return result

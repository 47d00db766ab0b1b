"""Read the labels of pictures: from tables, or from the names of folders."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from lookalike.core.errors import InvalidInput
from lookalike.core.text import label_name, without_controls
from lookalike.supervision.tables import FILE_COLUMNS, column, given_name, read_rows, read_text

ONE_LABEL_COLUMNS = ("label", "class", "category")
MANY_LABEL_COLUMNS = ("labels", "classes", "categories", "tag", "tags", "keywords")

AnyPath = TypeVar("AnyPath", str, Path)


def read_labels(path: str | Path) -> dict[str, list[str]]:
    r"""Read the labels of pictures from a CSV or JSON file in UTF-8.

    **CSV** (``.csv``, ``.tsv``; comma, semicolon or tab): a header with a column ``file``,
    ``path``, ``filename``, ``picture`` or ``image``, and one or more of two kinds of columns:

    - ``label``, ``class``, ``category``: one label for each file, the whole cell. A file that is
      repeated must have the same label.
    - ``labels``, ``classes``, ``categories``, ``tag``, ``tags``, ``keywords``: any number. A
      cell is split at ``;`` and ``|`` (not at commas, which names may contain), and the labels of
      all rows for a file count, so one row per label works, too.

    **JSON** (``.json``): an object from file to a label or a list of labels, or a list of
    objects with the names of the columns above.

    Labels are NFC-normalised and stripped of white space. A file with an empty cell has no label.
    File names are kept as written.

    Returns
    -------
    dict of str to list of str
        Each file's labels in order of appearance, without duplicates; empty for none.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "tags.csv"
    ...     _ = table.write_text("file,tags\na.jpg,cat|pet\nb.jpg,\na.jpg,indoors\n")
    ...     read_labels(table)
    {'a.jpg': ['cat', 'pet', 'indoors'], 'b.jpg': []}
    """
    source = Path(path)
    suffix = source.suffix.lower()
    if suffix == ".json":
        return _read_json(source)
    if suffix in (".csv", ".tsv"):
        return _read_csv(source)
    raise InvalidInput(
        f"{source}: labels must be in a .csv, .tsv or .json file; got {suffix or 'no suffix'!r}."
    )


def folder_labels(
    paths: Iterable[AnyPath], roots: Iterable[str | Path] | None = None
) -> dict[AnyPath, list[str]]:
    """Return the name of each picture's folder as its label.

    A picture directly in one of ``roots``, or without a named folder, has no label.

    Examples
    --------
    >>> folder_labels(["pets/cat/1.jpg", "pets/2.jpg"], roots=["pets"])
    {'pets/cat/1.jpg': ['cat'], 'pets/2.jpg': []}
    """
    bare = {Path(root).absolute() for root in roots or ()}
    labels = {}
    for path in paths:
        folder = Path(path).parent
        name = "" if folder.absolute() in bare else label_name(without_controls(folder.name))
        labels[path] = [name] if name and name != ".." else []
    return labels


class _Labels:
    """Labels by file in order of appearance, with the place where each was given."""

    def __init__(self) -> None:
        self._by_file: dict[str, dict[str, None]] = {}
        self._said: dict[tuple[str, str], tuple[str, str]] = {}

    def add(self, file: str, names: Iterable[str]) -> None:
        labels = self._by_file.setdefault(file, {})
        labels.update((name, None) for name in names if name)

    def add_only(self, where: str, file: str, name: str, kind: str) -> None:
        before, place = self._said.setdefault((file, kind), (name, where))
        if before != name:
            raise InvalidInput(
                f"{where}: {file!r} has the {kind} {name!r}, but {before!r} earlier ({place}). "
                f"Remove one; or, if it has both, rename the column to 'labels'."
            )
        self.add(file, [name])

    def lists(self) -> dict[str, list[str]]:
        return {file: list(labels) for file, labels in self._by_file.items()}


def _read_csv(path: Path) -> dict[str, list[str]]:
    result = _Labels()
    empty = True
    for line, row in read_rows(path):
        empty = False
        file = row[column(path, row, FILE_COLUMNS)]
        column(path, row, ONE_LABEL_COLUMNS + MANY_LABEL_COLUMNS)
        _add_row(result, f"{path}, line {line}", file, row)
    if empty:
        raise InvalidInput(f"{path} has a header but no rows. Add a row for each picture.")
    return result.lists()


def _add_row(result: _Labels, where: str, file: str, row: dict[str, Any]) -> None:
    if not file:
        raise InvalidInput(f"{where}: the row has no file.")
    for kind in ONE_LABEL_COLUMNS:
        if kind in row:
            if isinstance(row[kind], list):
                raise InvalidInput(
                    f"{where}: {kind!r} must be one label; rename it to 'labels' for several."
                )
            result.add_only(where, file, _name(where, row[kind]), kind)
    for kind in MANY_LABEL_COLUMNS:
        if kind in row:
            cell = row[kind]
            tags = re.split(r"[;|]", cell) if isinstance(cell, str) else cell
            result.add(file, _names(where, tags))


def _names(where: str, value: Any) -> list[str]:
    return [_name(where, entry) for entry in (value if isinstance(value, list) else [value])]


def _name(where: str, value: Any) -> str:
    return given_name(where, value, "label")


def _key(where: str, entry: dict[str, Any], names: tuple[str, ...]) -> str:
    result = next((name for name in names if name in entry), None)
    if result is None:
        raise InvalidInput(
            f"{where}: must have {' or '.join(map(repr, names))}; "
            f"it has {', '.join(map(repr, entry)) or 'nothing'}."
        )
    return result


def _read_json(path: Path) -> dict[str, list[str]]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for key, value in pairs:
            before = entries.setdefault(key, value)
            if before is not value and before != value:
                raise InvalidInput(f"{path}: {key!r} has two different values. Remove one.")
        return entries

    text = read_text(path)
    try:
        content = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{path}, line {error.lineno}: not JSON: {error.msg}.") from error
    except InvalidInput:
        raise
    except (RecursionError, ValueError) as error:
        raise InvalidInput(f"{path}: unsupported JSON: {error}.") from error
    result = _Labels()
    if isinstance(content, dict):
        for file, value in content.items():
            result.add(file, _names(f"{path}, {file!r}", value))
    elif isinstance(content, list):
        for number, entry in enumerate(content, start=1):
            where = f"{path}, entry {number}"
            if not isinstance(entry, dict):
                raise InvalidInput(
                    f"{where}: must be an object with a file and labels; got {entry!r:.80}."
                )
            row = {name.strip().lower(): value for name, value in entry.items()}
            file = row[_key(where, row, FILE_COLUMNS)]
            _key(where, row, ONE_LABEL_COLUMNS + MANY_LABEL_COLUMNS)
            if not isinstance(file, str):
                raise InvalidInput(f"{where}: the file must be text; got {file!r:.80}.")
            _add_row(result, where, file, row)
    else:
        raise InvalidInput(f"{path}: must be an object from file to labels, or a list of objects.")
    if not content:
        raise InvalidInput(f"{path} has no entries. Add one for each picture.")
    return result.lists()

"""Pictures with words for paper 2: the words and the part of each, and a tree of words."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import InvalidInput
from lookalike.core.text import counted, label_name, word_key
from lookalike.images import ENDINGS
from lookalike.supervision import TagTree, folder_labels, read_tag_tree
from lookalike.supervision.labels import MANY_LABEL_COLUMNS, ONE_LABEL_COLUMNS
from lookalike.supervision.tables import FILE_COLUMNS, checked_name, column, read_rows

TABLE_NAMES = ("labels.csv", "labels.tsv", "tags.csv", "tags.tsv")
SPLIT_COLUMNS = ("split", "part")
PARTS = ("train", "val", "test")
SPELLINGS = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "test": "test",
}
SHARES = (0.6, 0.2, 0.2)
"""Shares of the parts if no table assigns them; as on ImageNet and Web-data."""

MIN_TRAINING = 5
"""The fewest training pictures of a word, if pictures have several words."""


@dataclass(frozen=True, eq=False)
class TaggedPictures:
    """Pictures with words, in three parts.

    Attributes
    ----------
    files : tuple of Path
        The pictures, the training part first, then validation, then test.
    words : tuple of tuple of str
        Each picture's words.
    sizes : tuple of int
        How many pictures each part has.
    tree : TagTree or None
        Which word is a kind of which.
    notes : tuple of str
        How the data was made.
    """

    files: tuple[Path, ...]
    words: tuple[tuple[str, ...], ...]
    sizes: tuple[int, int, int]
    tree: TagTree | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Row:
    file: str
    words: tuple[str, ...]
    part: str


def tagged_pictures(
    data: Path,
    *,
    labels: Path | None = None,
    words: str | None = None,
    isa: Path | None = None,
    levels: Sequence[str] = (),
    random_state: int = 0,
) -> TaggedPictures:
    """Find the pictures of a folder with their words.

    Words come from a table, ``labels.csv``, ``labels.tsv``, ``tags.csv`` or ``tags.tsv`` in the
    folder unless another is given; without one, a picture's word is the name of its folder. Files
    in a table are relative to ``data``. A cell is split at ``;`` and ``|``; in a column named
    ``words`` or ``…_words``, at white space, too; in ``label``, ``class`` and ``category``, not at
    all. Words that differ only in case or Unicode form are the same.

    A column ``split`` or ``part`` assigns each picture to train, val or test; if none is in val, a
    fifth of train is drawn for it. Without such a column, 60, 20 and 20 % are drawn.

    A word needs at least one training picture, or five if pictures have several words; other words
    are dropped, and so are pictures left without a word.

    Parameters
    ----------
    data : Path
        The folder.
    labels : Path, optional
        The table of words.
    words : str, optional
        Its column of words; by default the first of ``labels``, ``tags`` and so on.
    isa : Path, optional
        Which word is a kind of which, as :func:`~lookalike.supervision.read_tag_tree` reads it.
    levels : sequence of str
        Columns, the finest first, of ``isa``, or of ``labels`` where there is no ``isa``.
    random_state : int
        Draws the parts.
    """
    if not data.is_dir():
        raise InvalidInput(f"{data} is not a folder. Give a folder of pictures with words.")
    source = labels or next((data / one for one in TABLE_NAMES if (data / one).is_file()), None)
    if source is None:
        if words is not None:
            raise InvalidInput(
                f"{data} has none of {', '.join(TABLE_NAMES)}, so it has no column {words!r}. "
                f"Give the table of words as labels."
            )
        rows, answer = _from_folders(data)
    else:
        rows, answer = _from_table(data, source, words)
    tree = None
    if isa is not None:
        tree = read_tag_tree(isa, levels)
    elif levels:
        if source is None:
            raise InvalidInput(
                "levels must be columns of a table of words, and there is none. Give labels or isa."
            )
        tree = read_tag_tree(source, levels)
    rows, drawn = _in_parts(rows, random_state, source or data)
    kept, dropped = _common(rows)
    ordered = [row for part in PARTS for row in kept if row.part == part]
    sizes = Counter(row.part for row in ordered)
    short = next((part for part in PARTS if not sizes[part]), None)
    if short is not None or len({word for row in ordered for word in row.words}) < 2:
        raise InvalidInput(
            f"{source or data}: {', '.join(f'{sizes[part]} {part}' for part in PARTS)} pictures "
            f"are left with frequent enough words; each part needs at least one, and there must be "
            f"two words. {dropped} Give more pictures."
        )
    return TaggedPictures(
        tuple(data / row.file for row in ordered),
        tuple(row.words for row in ordered),
        (sizes["train"], sizes["val"], sizes["test"]),
        tree,
        (" ".join(note for note in (answer, drawn, dropped) if note),),
    )


def _from_folders(data: Path) -> tuple[list[_Row], str]:
    files = sorted(
        path.relative_to(data)
        for path in data.rglob("*")
        if path.suffix.lower() in ENDINGS
        and not any(name.startswith(".") for name in path.relative_to(data).parts)
        and path.is_file()
    )
    named = folder_labels(files)
    rows = [_Row(str(file), tuple(named[file]), "") for file in files if named[file]]
    if not rows:
        raise InvalidInput(
            f"{data} must contain a table of words ({', '.join(TABLE_NAMES)}), or a folder of "
            f"pictures for each word; found neither."
        )
    return rows, f"Words are the names of the folders in {data.name}."


def _from_table(data: Path, source: Path, words: str | None) -> tuple[list[_Row], str]:
    result: dict[str, tuple[dict[str, None], str]] = {}
    name = ""
    for line, row in read_rows(source):
        where = f"{source}, line {line}"
        name = name or _column_of(source, row, words)
        file = row[column(source, row, FILE_COLUMNS)]
        if not file:
            raise InvalidInput(f"{where}: the row has no file.")
        split = next((row[one] for one in SPLIT_COLUMNS if one in row), None)
        part = "" if split is None else SPELLINGS.get(split.lower(), "?")
        if part == "?":
            raise InvalidInput(
                f"{where}: a picture must be in train, val or test; got {split!r:.80}. Correct it."
            )
        answer, before = result.setdefault(file, ({}, part))
        if before != part:
            raise InvalidInput(f"{where}: {file} is in {part}, but in {before} before. Remove one.")
        answer.update((checked_name(where, word), None) for word in _cut(name, row[name]))
    if not result:
        raise InvalidInput(f"{source} has a header but no rows. Add a row for each picture.")
    missing = [file for file in result if not (data / file).is_file()]
    if missing:
        raise InvalidInput(
            f"{data / missing[0]} does not exist; {len(missing)} of the {len(result)} pictures in "
            f"{source} are missing."
        )
    rows = [_Row(file, tuple(answer), part) for file, (answer, part) in result.items() if answer]
    return rows, f"Words are the column {name} of {source.name}."


def _column_of(source: Path, row: dict[str, str], words: str | None) -> str:
    if words is not None:
        return column(source, row, (label_name(words).lower(),))
    names = ("words", *MANY_LABEL_COLUMNS, *ONE_LABEL_COLUMNS)
    result = next((name for name in names if name in row), None)
    if result is None:
        raise InvalidInput(
            f"{source}: none of its columns is named {', '.join(names)}; it has "
            f"{', '.join(row)}. Give the column of words as words."
        )
    return result


def _cut(name: str, cell: str) -> list[str]:
    if name in ONE_LABEL_COLUMNS:
        words = [cell]
    else:
        spaced = name == "words" or name.endswith("_words")
        words = re.split(r"[;|\s]" if spaced else r"[;|]", cell)
    return [word.strip() for word in words if word.strip()]


def _in_parts(rows: list[_Row], random_state: int, source: Path) -> tuple[list[_Row], str]:
    rng = np.random.default_rng([random_state, len(rows)])
    present = {row.part for row in rows}
    if present == {""}:
        parts = _drawn(len(rows), SHARES, PARTS, rng)
        text = "60, 20 and 20 % of the pictures were drawn to train, validate and test."
    elif present == set(PARTS):
        return rows, f"The parts are those of {source.name}."
    elif present == {"train", "test"}:
        parts = np.array([row.part for row in rows])
        train = np.flatnonzero(parts == "train")
        parts[train] = _drawn(len(train), (0.8, 0.2), PARTS[:2], rng)
        text = f"The parts are those of {source.name}; a fifth of train was drawn to validate."
    else:
        raise InvalidInput(
            f"{source}: some pictures must be in train and some in test; it has "
            f"{', '.join(sorted(part or 'none' for part in present))}."
        )
    return [_Row(r.file, r.words, str(p)) for r, p in zip(rows, parts, strict=True)], text


def _drawn(
    count: int, shares: Sequence[float], names: Sequence[str], rng: np.random.Generator
) -> NDArray[np.str_]:
    ends = np.round(np.cumsum(shares) * count).astype(int)
    parts = np.repeat(np.array(names), np.diff(ends, prepend=0))
    return rng.permutation(parts)


def _common(rows: list[_Row]) -> tuple[list[_Row], str]:
    """Return the words that enough training pictures have, and the pictures that have them."""
    several = any(len(row.words) > 1 for row in rows)
    fewest = MIN_TRAINING if several else 1
    uses = Counter(
        key for row in rows if row.part == "train" for key in set(map(word_key, row.words))
    )
    every = {word_key(word) for row in rows for word in row.words}
    kept = [
        _Row(row.file, words, row.part)
        for row in rows
        if (words := tuple(word for word in row.words if uses[word_key(word)] >= fewest))
    ]
    rare = sum(uses[key] < fewest for key in every)
    if not rare:
        return kept, ""
    return kept, (
        f"{rare:,} of {len(every):,} words with fewer than {fewest} training pictures are "
        f"dropped, and {counted(len(rows) - len(kept), 'picture')} left without a word."
    )

"""Read which word is a kind of which: WordNet's table, or a user's own tag tree."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from lookalike.core.errors import InvalidInput
from lookalike.core.text import label_name
from lookalike.supervision.tables import column, read_rows, read_text
from lookalike.supervision.tag_tree import Relations, TagTree, spelled

WORD_COLUMNS = ("word", "tag", "label", "child", "name")
PARENT_COLUMNS = ("parent", "parents")
PATH_COLUMNS = ("path",)
WORDNET_COLUMNS = ("wnid", "lemmas", "hypernyms")

COMMAS, STEPS, PARENTS = re.compile(","), re.compile("/"), re.compile("[;|]")

Row = dict[str, Any]
Adder = Callable[[Relations, str, Row], None]


def read_tag_tree(path: str | Path, levels: Sequence[str] = ()) -> TagTree:
    r"""Read which word is a kind of which from a CSV, TSV or JSON file in UTF-8.

    **Tables** (``.csv``, ``.tsv``; comma, semicolon or tab) have a header, which determines their
    kind:

    - ``word``, ``tag``, ``label``, ``child`` or ``name`` with ``parent`` or ``parents``:
      one relation per row. Several parents are split at ``;`` and ``|``, or given in several rows;
      a word without a parent is at the top.
    - ``path``: ``animal/dog/poodle``, a path from the top down to a word.
    - ``wnid``, ``lemmas``, ``hypernyms``: WordNet's synsets, with commas between lemmas and
      between the wnids of hypernyms.
    - any, with ``levels``: columns of the table, the finest first, such as
      ``levels=("fine", "coarse", "super")``. Each row is a path; empty cells are skipped.

    **JSON** (``.json``): nested objects, ``{"animal": {"dog": {}, "cat": null}}``, with lists of
    words where nothing is below them, ``{"fruit": ["apple", "pear"]}``; or a list of paths,
    ``["animal/dog"]``; or a list of objects with the names of the columns above.

    In paths and in nested objects, a name below two others has two meanings, so what is below
    ``fruit/apple`` is separate from what is below ``brand/apple``. If a name is repeated on one
    path, as in ``fruit/orange/orange``, the word means the lowest. Repeated relations count once.

    Parameters
    ----------
    path : str or Path
        The file.
    levels : sequence of str
        The columns that are levels, the finest first.

    Raises
    ------
    InvalidInput
        If the file is not valid, or a word is above itself.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "tree.csv"
    ...     _ = table.write_text("word,parent\ntoad,amphibian\nfrog,amphibian\n")
    ...     read_tag_tree(table).path("Toad")
    ('amphibian', 'Toad')
    """
    source = Path(path)
    if isinstance(levels, str) or len(levels) == 1:
        raise InvalidInput(
            f"read_tag_tree: levels must be at least two columns, the finest first; got {levels!r}."
        )
    relations = Relations(str(source))
    suffix = source.suffix.lower()
    if suffix in (".csv", ".tsv"):
        _add_table(relations, source, levels)
    elif suffix == ".json":
        _add_json(relations, source, levels)
    else:
        raise InvalidInput(
            f"{source}: a tag tree must be a .csv, .tsv or .json file; "
            f"got {suffix or 'no suffix'!r}."
        )
    return relations.tree()


def _add_table(relations: Relations, source: Path, levels: Sequence[str]) -> None:
    rows = read_rows(source)
    first = next(rows, None)
    if first is None:
        raise InvalidInput(f"{source} has a header but no rows. Add one for each word.")
    add = _form(source, first[1], levels)
    for line, row in chain([first], rows):
        add(relations, f"line {line}", row)


def _form(source: Path, columns: Row, levels: Sequence[str]) -> Adder:
    """Return the function that reads rows with these columns."""
    if levels:
        names = [label_name(level).lower() for level in reversed(levels)]
        return partial(_add_levels, [column(source, columns, (name,)) for name in names])
    forms: list[tuple[Callable[..., None], list[tuple[str, ...]]]] = [
        (_add_synset, [(name,) for name in WORDNET_COLUMNS]),
        (_add_word, [WORD_COLUMNS, PARENT_COLUMNS]),
        (_add_path, [PATH_COLUMNS]),
    ]
    for add, needed in forms:
        result = [next((name for name in names if name in columns), "") for names in needed]
        if all(result):
            return partial(add, *result)
    raise InvalidInput(
        f"{source}, line 1: the header needs the columns 'word' and 'parent', or 'path', or "
        f"'wnid', 'lemmas' and 'hypernyms'; it has {', '.join(map(repr, columns))}. If these are "
        f"the levels of a tree, give them as levels, the finest first."
    )


def _add_synset(
    wnid: str, lemmas: str, hypernyms: str, relations: Relations, place: str, row: Row
) -> None:
    where = relations.where(place)
    words = [word for lemma in _cells(row.get(lemmas), COMMAS) if (word := spelled(where, lemma))]
    synset = row.get(wnid)
    if not synset or not isinstance(synset, str) or not words:
        raise InvalidInput(f"{where}: the row needs a wnid and at least one lemma.")
    node = relations.node(synset, words[0].replace("_", " "))
    for turn, word in enumerate(words):
        relations.means(word, node, turn)
    for cell in _cells(row.get(hypernyms), COMMAS):
        hypernym = str(cell or "").strip()
        if hypernym:
            relations.link(node, relations.node(hypernym), place)


def _add_word(word: str, _: str, relations: Relations, place: str, row: Row) -> None:
    where = relations.where(place)
    name = spelled(where, row.get(word))
    if not name:
        raise InvalidInput(f"{where}: the row has no word. Add one, or remove the row.")
    node = relations.word(name)
    for parents in PARENT_COLUMNS:
        for cell in _cells(row.get(parents), PARENTS):
            parent = spelled(where, cell)
            if parent:
                relations.link(node, relations.word(parent), place)


def _add_path(path: str, relations: Relations, place: str, row: Row) -> None:
    _add_way(relations, place, _cells(row.get(path), STEPS))


def _add_levels(levels: list[str], relations: Relations, place: str, row: Row) -> None:
    _add_way(relations, place, [row.get(level) for level in levels])


def _add_way(relations: Relations, place: str, steps: Iterable[Any]) -> None:
    where = relations.where(place)
    relations.way([name for step in steps if (name := spelled(where, step))], place)


def _cells(value: Any, separators: re.Pattern[str]) -> list[Any]:
    if isinstance(value, str):
        return list(separators.split(value))
    return value if isinstance(value, list) else [value]


def _add_json(relations: Relations, source: Path, levels: Sequence[str]) -> None:
    try:
        content = json.loads(read_text(source), object_pairs_hook=partial(_once, source))
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{source}, line {error.lineno}: not JSON: {error.msg}.") from error
    except InvalidInput:
        raise
    except (RecursionError, ValueError) as error:
        raise InvalidInput(f"{source}: unsupported JSON: {error}.") from error
    if not content or not isinstance(content, dict | list):
        raise InvalidInput(
            f"{source} has no words. It must be nested objects of words, a list of paths such as "
            f"'animal/dog', or a list of objects with a word and its parent."
        )
    if isinstance(content, dict):
        for steps in _ways_of(content):
            above = "/".join(map(str, steps[:-1]))
            _add_way(relations, f"below {above:.80}" if above else "at the top", steps)
        return
    kind = str if isinstance(content[0], str) else dict
    for number, entry in enumerate(content, start=1):
        if not isinstance(entry, kind):
            wanted = "text such as 'animal/dog'" if kind is str else "an object"
            raise InvalidInput(f"{source}, entry {number}: must be {wanted}; got {entry!r:.80}.")
    if kind is str:
        for number, entry in enumerate(content, start=1):
            _add_way(relations, f"entry {number}", entry.split("/"))
        return
    rows = [{name.strip().lower(): value for name, value in entry.items()} for entry in content]
    add = _form(source, {name: None for row in rows for name in row}, levels)
    for number, row in enumerate(rows, start=1):
        add(relations, f"entry {number}", row)


def _once(source: Path, pairs: list[tuple[str, Any]]) -> Row:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for place, name in enumerate(names) if name in names[:place])
        raise InvalidInput(f"{source}: {doubled!r:.80} is given twice in one object. Merge them.")
    return entries


def _ways_of(content: Any) -> Iterator[tuple[Any, ...]]:
    """Return the path to each word of nested objects, in order."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), content)]
    while waiting:
        above, inside = waiting.pop()
        if isinstance(inside, dict):
            yield from ((*above, word) for word in inside)
            waiting += [((*above, word), below) for word, below in reversed(inside.items())]
        elif isinstance(inside, list):
            waiting += [(above, entry) for entry in reversed(inside)]
        elif inside is not None:
            yield (*above, inside)

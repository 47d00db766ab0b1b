"""Complete words as they are typed, from those that pictures have."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from lookalike.collection.search.matches import Source
from lookalike.core.text import label_name, shown, word_key


@dataclass(frozen=True, slots=True)
class KnownWord:
    """A word to search by, and how many pictures have it; of a start word, about how many."""

    word: str
    pictures: int
    source: Source


_NO_LETTER = re.compile(r"[\W_]+")


def words_like(
    typed: str,
    most: int,
    labels: Iterable[tuple[str, int]],
    start: Mapping[str, int],
    folders: Iterable[tuple[str, int]],
) -> list[KnownWord]:
    """Return words that contain what was typed, or else those spelled most like it.

    Those that begin with it come first, then those in which a word does. Among equals labels come
    first, then start words, then names of folders, the most used first.

    Parameters
    ----------
    typed : str
        Of several words that are not one together, the last is completed.
    most : int
    labels, start, folders
        Words, and paths of folders, with the number of pictures that have each.
    """
    known = {word_key(word): KnownWord(word, count, "given") for word, count in labels if count}
    for word, count in start.items():
        known.setdefault(word_key(word), KnownWord(word, count, "start"))
    names: Counter[str] = Counter()
    for path, count in folders:
        names[shown(os.path.basename(path))] += count  # noqa: PTH119
    for name, count in names.most_common():
        if name:
            known.setdefault(word_key(name), KnownWord(name, count, "name"))
    text = label_name(typed)
    result = _containing(known, text, most)
    before, _, last = text.rpartition(" ")
    if not result and before:
        result = [
            KnownWord(f"{before} {one.word}", one.pictures, one.source)
            for one in _containing(known, last, most)
            if word_key(one.word) not in (*word_key(before).split(), word_key(last))
        ]
    if not result and text:
        result = [known[key] for key in get_close_matches(word_key(text), known, most)]
    return result


def _containing(known: Mapping[str, KnownWord], text: str, most: int) -> list[KnownWord]:
    begin = word_key(text)

    def place(key: str) -> int:
        inside = any(part.startswith(begin) for part in _NO_LETTER.split(key))
        return 0 if key.startswith(begin) else 1 if inside else 2

    held = sorted((key for key in known if begin in key), key=place)
    return [known[key] for key in held[:most]]

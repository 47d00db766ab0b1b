"""Read what was typed as words a collection knows: literally, else the nearest in meaning."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.search.matches import ReadWord, Source
from lookalike.core.errors import DamagedFile
from lookalike.core.text import word_key
from lookalike.features.kinds import kinds

if TYPE_CHECKING:
    from lookalike.features.text import TextMemory

MAX_TERMS = 20
"""Words of a text that are looked for."""

MAX_TOGETHER = 6
"""The most words that are tried as one, as in ``polar bear``."""

NEAREST, SOFTNESS = 30, 0.08
"""How many words a text is read as, with the weights exp(cosine / softness), which sum to one."""

MIN_LIKENESS = 0.5
"""The cosine of the nearest word from which a word is read as it; a sentence is in any case.

Of 196 everyday words in four languages none is below, of 46 words made up and names of people and
places 13 are.
"""

KIND = 0.7
"""What is added to the cosine of a start word for a text that is surely a kind of it."""

SENTENCE = 5
"""Words from which a text is a sentence; with fewer it is one if it has a word such as ``with``."""

MIN_SHOWN, MAX_SHOWN = 0.03, 6
"""Words of less weight, and more of them, count, but are not shown."""

_STOP_WORDS = (
    "a an the and or of in on at to by with without for from is are my some",
    "der die das den dem ein eine einen einem einer und oder mit ohne im am auf bei von zu",
    "le la les l un une des du de d et ou avec sans dans sur au aux à en",
    "el los las unos unas y o con sin sobre del al",
)
STOP_WORDS = frozenset(word for line in _STOP_WORDS for word in line.split())
"""Words that mean nothing by themselves, in English, German, French and Spanish."""

_DIGIT = re.compile(r"\d")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Meaning:
    """Words that a text is near in meaning, with weights that sum to one.

    ``likeness`` is the cosine of the nearest, by which the whole counts less than a word itself.
    """

    words: tuple[ReadWord, ...]
    likeness: float

    @property
    def shown(self) -> tuple[ReadWord, ...]:
        """The words that count most, each once; the nearest in any case."""
        once = {word_key(one.word): one for one in reversed(self.words)}
        words = [one for one in self.words if once[word_key(one.word)] is one]
        telling = tuple(w for w in words[:MAX_SHOWN] if w.weight >= MIN_SHOWN)
        return telling or self.words[:1]


class Meanings:
    """The words that a text may be read as when it is not one itself.

    Parameters
    ----------
    words : iterable of (word, source)
    """

    def __init__(self, words: Iterable[tuple[str, Source]]) -> None:
        unique = {(word_key(word), source): (word, source) for word, source in words}
        # A vocabulary stays the same and is long; what people name comes and goes.
        self._words = sorted(unique.values(), key=lambda one: one[1] != "start")

    def near(self, text: str, strike: frozenset[str]) -> Meaning | None:
        """Return what a text is near in meaning, but not to struck words; None for nothing.

        A start word that the text names a kind of counts as nearer than by its cosine alone.
        """
        memory = text_memory()
        # A number, or a word with one, is a name.
        if memory is None or not self._words or _DIGIT.search(text):
            return None
        # The model knows few words in capitals; of "USA today" it does.
        vector = memory.encode([text.lower() if text.isupper() else text])[0]
        broader = kinds().of(text)
        likeness = {
            (word, source): float(cosine) + KIND * (source == "start") * broader.get(word, 0.0)
            for (word, source), cosine in zip(self._words, self._vectors @ vector, strict=True)
            if word_key(word) not in strike
        }
        best = sorted(likeness.items(), key=lambda item: (-item[1], item[0]))[:NEAREST]
        least = 0.0 if is_sentence(text.split()) else MIN_LIKENESS
        if not best or not vector.any() or best[0][1] < least:
            return None
        weights = np.exp((np.array([cosine for _, cosine in best]) - best[0][1]) / SOFTNESS)
        weights /= weights.sum()
        words = tuple(
            ReadWord(word, float(weight), source)
            for ((word, source), _), weight in zip(best, weights, strict=True)
        )
        return Meaning(words, min(1.0, best[0][1]))

    @cached_property
    def _vectors(self) -> NDArray[np.float32]:
        memory = text_memory()
        assert memory is not None
        start = [word for word, source in self._words if source == "start"]
        others = [word for word, source in self._words if source != "start"]
        parts = [memory.vocabulary(start)] if start else []
        parts += [memory.encode(others)] if others else []
        return np.concatenate(parts)


@cache
def text_memory() -> TextMemory | None:
    """Return what turns texts into vectors; None where its package is missing or damaged."""
    from lookalike.features.text import TextMemory, is_installed, sentence_encoder

    try:
        return TextMemory(sentence_encoder()) if is_installed() else None
    except DamagedFile as error:
        _log.warning("words are taken literally: %s", error)
        return None


def split(text: str, is_known: Callable[[str], bool]) -> list[str]:
    """Return the words of a text, those known together as one.

    Examples
    --------
    >>> split("polar bear snow", {"polar bear"}.__contains__)
    ['polar bear', 'snow']
    """
    if is_known(text):
        return [text]
    words = text.split()
    terms: list[str] = []
    while words and len(terms) < MAX_TERMS:
        sizes = range(min(MAX_TOGETHER, len(words)), 1, -1)
        size = next((size for size in sizes if is_known(" ".join(words[:size]))), 1)
        terms.append(" ".join(words[:size]))
        words = words[size:]
    return list(dict.fromkeys(terms)) or [text]


def is_stop_word(word: str) -> bool:
    """Return whether a word means nothing by itself, as ``with`` and ``der``."""
    return word_key(word) in STOP_WORDS


def is_sentence(words: Sequence[str]) -> bool:
    """Return whether words are to be read together."""
    return len(words) >= SENTENCE or (len(words) > 1 and any(map(is_stop_word, words)))

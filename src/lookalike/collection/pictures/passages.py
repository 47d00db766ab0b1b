"""Pictures found by what their captions say, or by what is written in them, word by word."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store import details, texts
from lookalike.collection.store.database import Database
from lookalike.core.text import plain_key

_END = "\0"


@dataclass(frozen=True)
class Passages:
    """The texts of all pictures as one, and where those of pictures begin in it.

    Looking through one text takes a hundredth of the time that looking through many does.
    """

    ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    text: str

    @classmethod
    def captions(cls, database: Database) -> Self:
        """Return the captions of a collection."""
        return cls._of(details.captions(database))

    @classmethod
    def written(cls, database: Database) -> Self:
        """Return what is written in pictures, where it was read."""
        return cls._of(texts.texts(database))

    @classmethod
    def _of(cls, rows: Sequence[tuple[int, str]]) -> Self:
        keys = [" ".join(plain_key(text).split()) + _END for _, text in rows]
        lengths = np.array([0, *map(len, keys)], np.int64)
        return cls(
            np.array([number for number, _ in rows], np.int64),
            np.cumsum(lengths)[: len(rows)],
            "".join(keys),
        )

    def find(self, term: str) -> NDArray[np.int64]:
        """Return the pictures in whose text a word or phrase stands, by rising id.

        Case, accents, Unicode form and white space do not count. Words count as a whole, but in
        scripts that have no spaces.
        """
        key = " ".join(plain_key(term).split())
        if not key or key not in self.text:
            return self.ids[:0]
        # What stands before is looked at afterwards: else the search cannot leap to the term.
        after = r"(?!\w)" if _has_spaces(key[-1]) else ""
        hits = (match.start() for match in re.finditer(re.escape(key) + after, self.text))
        begins = _has_spaces(key[0])
        places = [place for place in hits if not (begins and self._goes_on(place))]
        return self.ids[np.unique(np.searchsorted(self.starts, places, side="right") - 1)]

    def _goes_on(self, place: int) -> bool:
        """Return whether a word of the text goes on at a place, rather than begins."""
        before = self.text[place - 1] if place else _END
        return before.isalnum() or before == "_"


def _has_spaces(sign: str) -> bool:
    """Return whether a sign is of a script that puts spaces between words.

    Examples
    --------
    >>> _has_spaces("a"), _has_spaces("犬"), _has_spaces("!")
    (True, False, False)
    """
    return sign.isalnum() and unicodedata.east_asian_width(sign) not in ("W", "F")

"""Split text into the pieces of a vocabulary: the most probable of all ways to do it."""

import re
import unicodedata
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

SPACE = "▁"
"""Stands for a space, and before the first word, in a vocabulary."""

_IGNORED = ("Cc", "Cf", "Cs")
_TAG_PIECES, _TAG_TEXT, _TAG_SCORE = 0x0A, 0x0A, 0x15
_UNKNOWN_COST = 10.0


class Pieces:
    """A unigram vocabulary: text becomes the pieces with the largest sum of log-probabilities.

    T. Kudo, *Subword regularization* (2018), section 3.2; the best way is found piece by piece
    (Viterbi). A character in no piece is ``unknown``, and costs 10 more than the rarest piece.

    Departures: text is normalised by NFKC, where SentencePiece has a table of its own that differs
    in some controls and spaces.

    Parameters
    ----------
    scored : iterable of (text, float)
        Pieces in the order of their numbers, with their log-probabilities.
    unknown : int
        The number of the piece that stands for a character in none.

    Examples
    --------
    >>> pieces = Pieces([("?", 0.0), ("▁", -5), ("▁a", -3), ("b", -3), ("▁ab", -4)], unknown=0)
    >>> pieces.split("ab"), pieces.split(" b a ☃")
    ([4], [1, 3, 2, 1, 0])
    """

    def __init__(self, scored: Iterable[tuple[str, float]], *, unknown: int) -> None:
        texts, scores = zip(*scored, strict=True)
        self._numbers = {text: number for number, text in enumerate(texts)}
        self._scores: NDArray[np.float64] = np.array(scores, np.float64)
        self._longest = max(map(len, texts))
        self.unknown = unknown
        self.blank = {unknown, self._numbers.get(SPACE, unknown)}

    @classmethod
    def read(cls, content: bytes) -> "Pieces":
        """Read a SentencePiece file whose pieces come first; its first is the unknown one."""
        return cls(_scored(content), unknown=0)

    def split(self, text: str) -> list[int]:
        """Return the numbers of the pieces of a text; none of one without a visible character."""
        plain = normalized(text)
        best, begins, chosen = [0.0], [0], [self.unknown]
        worst = float(self._scores.min()) - _UNKNOWN_COST
        for end in range(1, len(plain) + 1):
            # A single character is unknown unless it is a piece; ties go to the longest.
            top, start, piece = best[end - 1] + worst, end - 1, self.unknown
            for begin in range(max(0, end - self._longest), end):
                number = self._numbers.get(plain[begin:end])
                if number is not None and (score := best[begin] + self._scores[number]) > top:
                    top, start, piece = score, begin, number
            best.append(top)
            begins.append(start)
            chosen.append(piece)
        result, end = [], len(plain)
        while end:
            result.append(chosen[end])
            end = begins[end]
        return result[::-1]


def normalized(text: str) -> str:
    """Return text as vocabularies have it: NFKC, a mark for each run of spaces and at the start.

    Examples
    --------
    >>> normalized(" Cafe\u0301  noir")
    '▁Café▁noir'
    """
    spaced = re.sub(r"\s", " ", unicodedata.normalize("NFKC", text))
    shown = "".join(sign for sign in spaced if unicodedata.category(sign) not in _IGNORED)
    return "".join(SPACE + word for word in shown.split())


def _scored(content: bytes) -> Iterable[tuple[str, float]]:
    """Yield the pieces of a SentencePiece file: fields 1 of the whole, with fields 1 and 2."""
    place = 0
    while place < len(content) and content[place] == _TAG_PIECES:
        length, begin = _varint(content, place + 1)
        place = begin + length
        if content[begin] != _TAG_TEXT:
            raise ValueError("a piece has no text")
        size, begin = _varint(content, begin + 1)
        end = begin + size
        has_score = end < place and content[end] == _TAG_SCORE
        score = float(np.frombuffer(content, "<f4", 1, end + 1)[0]) if has_score else 0.0
        yield content[begin:end].decode(), score


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, the lowest first, and where it ends."""
    number = shift = 0
    while content[place] & 0x80:
        number |= (content[place] & 0x7F) << shift
        place, shift = place + 1, shift + 7
    return number | content[place] << shift, place + 1

"""What a search by words was taken for and found, in words."""

from lookalike.collection import Reading, WordCounts
from lookalike.core.text import shown

MAX_QUOTED = 80
"""Characters of what was typed that a sentence quotes."""


def no_matches_text(text: str, counts: WordCounts) -> str:
    """Say that a search by words found nothing.

    Examples
    --------
    >>> no_matches_text("red zzz", WordCounts(0, 0, 0, ("red", "zzz"), ("zzz",)))
    'No picture is tagged or named “zzz”.'
    >>> no_matches_text("dog", WordCounts(0, 0, 0, ("dog",)))
    'No picture is tagged or named “dog”, and none seems to show it.'
    >>> no_matches_text("-", WordCounts(0, 0, 0, ()))
    'There is nothing to look for in “-”.'
    >>> no_matches_text("dog folder:x", WordCounts(0, 0, 0, ("dog",), among=0))
    'No pictures match the filters of “dog folder:x”.'
    """
    if counts.among == 0:
        return f"No pictures match the filters of {_quoted(text)}."
    if not counts.readings and not counts.terms:
        return f"There is nothing to look for in {_quoted(text)}."
    names = " or ".join(_quoted(term) for term in counts.unknown or counts.terms or (text,))
    either = "" if counts.unknown else ", and none seems to show it"
    return f"No picture is tagged or named {names}{either}."


def reading_text(reading: Reading) -> str:
    """Say what a term was read as.

    Examples
    --------
    >>> from lookalike.collection import ReadWord
    >>> words = (ReadWord("beach", 0.69, "start"), ReadWord("coast", 0.2, "start"))
    >>> reading_text(Reading("Strand", words, is_literal=False))
    '“Strand” read as: beach, coast.'
    """
    words = ", ".join(shown(one.word) for one in reading.words)
    return f"{term_text(reading)} read as: {words}."


def term_text(reading: Reading) -> str:
    """Return a term in quotation marks, with a minus where it must not fit."""
    return f"{'−' if reading.without else ''}{_quoted(reading.text)}"


def aside_text(counts: WordCounts) -> str:
    """Say what was set aside; empty for nothing.

    Examples
    --------
    >>> aside_text(WordCounts(0, 0, 3, ("dog", "qx"), ("qx",), set_aside=("before:soon",)))
    'Set aside: “qx” (unknown), “before:soon”.'
    """
    parts = [f"{_quoted(term)} (unknown)" for term in counts.unknown]
    parts += map(_quoted, counts.set_aside)
    return f"Set aside: {', '.join(parts)}." if parts else ""


def _quoted(text: str) -> str:
    """Return a text in quotation marks, its beginning if it is long."""
    return f"“{shown(text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + '…')}”"

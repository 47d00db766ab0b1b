"""What a search by words found, in words."""

from lookalike.collection import WordCounts
from lookalike.core.text import shown


def no_matches_text(text: str, counts: WordCounts) -> str:
    """Say that a search by words found nothing.

    Examples
    --------
    >>> no_matches_text("red zzz", WordCounts(0, 0, 0, ("red", "zzz"), ("zzz",)))
    'No picture is tagged or named “zzz”.'
    >>> no_matches_text("dog", WordCounts(0, 0, 0, ("dog",)))
    'No picture is tagged or named “dog”, and none seems to show it.'
    """
    names = " or ".join(f"“{shown(term)}”" for term in counts.unknown or (text,))
    either = "" if counts.unknown else ", and none seems to show it"
    return f"No picture is tagged or named {names}{either}."

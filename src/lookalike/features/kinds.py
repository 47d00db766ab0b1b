"""Words for kinds of what start words name: an emu is near an ostrich, a hawksbill a sea turtle."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from lookalike.features.start_words import keys


class Kinds:
    """Which start words other words name a kind of, or something close to, and how surely.

    Parameters
    ----------
    rows : iterable of (start word, how sure, words)

    Examples
    --------
    >>> words = Kinds([("sea turtle", 0.8, ["hawksbill", "ridley"]), ("brass", 0.5, ["ridley"])])
    >>> words.of("Hawksbills"), words.of("ridley"), words.of("cat")
    ({'sea turtle': 0.8}, {'sea turtle': 0.8, 'brass': 0.5}, {})
    """

    def __init__(self, rows: Iterable[tuple[str, float, list[str]]]) -> None:
        self._broader: dict[str, dict[str, float]] = {}
        for start, sure, words in rows:
            for word in words:
                self._broader.setdefault(keys(word)[0], {})[start] = sure

    @classmethod
    def read(cls, path: Path) -> "Kinds":
        """Read a table: a start word, how sure, and words divided by ``; ``; # is a remark."""
        lines = path.read_text(encoding="utf-8").splitlines()
        split = (line.split("\t") for line in lines if not line.startswith("#"))
        return cls((start, float(sure), words.split("; ")) for start, sure, words in split)

    def of(self, word: str) -> dict[str, float]:
        """Return the start words that a word is a kind of, with how sure each is; none for most."""
        return next((self._broader[key] for key in keys(word) if key in self._broader), {})


@cache
def kinds() -> Kinds:
    """Return the nouns of WordNet that are no start words, and the start words near above them."""
    return Kinds.read(Path(__file__).with_name("kinds.tsv"))

"""The labels of pictures: words that people gave, files carry or folders bear."""

from __future__ import annotations

from collections.abc import Iterable

from lookalike.collection.log import log
from lookalike.collection.log.entry import Entry
from lookalike.collection.log.log import NewWords
from lookalike.collection.nouns.noun import Noun
from lookalike.collection.store import labels
from lookalike.collection.store.labels import LabelSource
from lookalike.collection.store.people import OWNER
from lookalike.core.text import word_key


class Labels(Noun):
    """The labels of pictures: words that people gave, files carry or folders bear."""

    def all(self) -> dict[int, list[str]]:
        """Return the labels of all pictures that have any."""
        return labels.labels(self._session.database)

    def used(self) -> list[tuple[str, int]]:
        """Return the labels of pictures, and how many have each, the most used first."""
        return list(self._session.answers.read(labels.labels_used))

    def of(self, pictures: Iterable[int]) -> dict[int, list[str]]:
        """Return the labels of some pictures."""
        return labels.labels_of(self._session.database, pictures)

    def refused(self, word: str, pictures: Iterable[int]) -> set[int]:
        """Return the pictures, among some, that were said not to show a word."""
        return labels.refused_for(self._session.database, word, pictures)

    def history(self, picture: int, word: str, who: str = OWNER) -> list[Entry]:
        """Return what was said of a picture and a word and still counts, the last first.

        To the owner that is what is shared, to everybody else what they said.
        """
        return log.labels_of(self._session.database, picture, word_key(word), who)

    def sources(
        self, pictures: Iterable[int] | None = None
    ) -> dict[int, list[tuple[str, LabelSource]]]:
        """Return the labels of pictures with their sources; one that several give comes from each.

        The sources are ``hand`` (what people said), ``keywords`` (read in files and sidecars),
        ``files`` (imported) and ``folders``.
        """
        return labels.labels_by_source(self._session.database, pictures)

    def to_learn(self) -> NewWords:
        """Return the words given or imported since models were last trained or rolled back."""
        return log.new_words(self._session.database)

"""Words that a collection knows: start words and learned ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from lookalike.collection.nouns.noun import Noun
from lookalike.collection.nouns.selection import matching
from lookalike.collection.pictures import names
from lookalike.collection.search.completing import KnownWord, words_like
from lookalike.collection.search.fit import Likeness
from lookalike.collection.search.lexicon import Lexicon
from lookalike.collection.search.matches import WordCounts
from lookalike.collection.search.searching import likeness
from lookalike.collection.search.tagging import FileTagging, Tagging
from lookalike.collection.search.words import (
    Ranked,
    check_text,
    rank_word,
    spelling,
)
from lookalike.collection.store import labels
from lookalike.collection.store.filter import Filter
from lookalike.collection.store.people import OWNER
from lookalike.collection.store.queries import Ask
from lookalike.collection.vectors.queries import Query
from lookalike.core.checks import check_whole, is_number
from lookalike.core.errors import CollectionError, InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.text import word_key
from lookalike.images import Limits, find_pictures


class Words(Noun):
    """Words that a collection knows: start words and learned ones."""

    def count(
        self,
        word: str,
        *,
        by: str | None = None,
        learned: bool = True,
        where: Filter | None = None,
        who: str = OWNER,
        strike: Iterable[str] = (),
    ) -> WordCounts:
        """Count the pictures that :meth:`search_word` finds, and tell how the text was read."""
        return self.ranked(word, by, where, learned, who, strike).counts

    def damage(self, by: str | None = None) -> str:
        """Return why searches by words and suggestions do without something that was learned.

        That is what is damaged, and what to do; empty if nothing is.
        """
        return self._session.rankers.words_damage(by)

    def like(self, typed: str, k: int = 12) -> list[KnownWord]:
        """Complete what was typed to words that pictures have.

        Labels, start words and names of folders that contain it: at their start, at a word's start,
        then elsewhere; where none does, those spelled most like it. Of several words, the last is
        completed.
        """
        most = check_whole("words_like", "k", k, 1)
        used, folders = (
            self._session.answers.read(read) for read in (labels.labels_used, names.folders)
        )
        return words_like(typed, most, used, self.start(), folders)

    def start(self, by: str | None = None) -> dict[str, int]:
        """Return the start words that suit some pictures, and how many, the most used first.

        A word suits a picture if it is right with a confidence of a half or more. A ranker whose
        feature knows no start words has none; nor are there any while another thread looks at a
        large collection for the first time.
        """
        result = self._session.rankers.starting(by)
        if result is None:
            return {}
        return self._session.rankers.classes.counts(*result)

    def learned(self, by: str | None = None) -> dict[str, int]:
        """Return the words that were learned, and how many pictures have each as a label."""
        _, annotator = self._session.rankers.with_words(by)
        uses = Counter(
            key
            for names in labels.labels(self._session.database).values()
            for key in {word_key(name) for name in names}
        )
        return {word: uses[word_key(word)] for word in annotator.words_}

    def neighbours(
        self, word: str, k: int = 10, *, by: str | None = None
    ) -> list[tuple[str, float]]:
        """Return the words most like a word, with the cosine of both (paper 2, Table 3)."""
        most = check_whole("word_neighbours", "k", k, 1)
        _, annotator = self._session.rankers.with_words(by)
        return annotator.related_words(spelling(self._session.path, word, annotator), most)

    def tag(
        self,
        sources: Iterable[str | Path],
        k: int = 10,
        *,
        by: str | None = None,
        min_confidence: float | None = None,
        limits: Limits | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Tagging:
        """Give words to the pictures among files, folders and globs; nothing is changed.

        Pictures that are in the collection as they are need not be read again. Learned words and
        start words are given together; a word that is both, by the one that ranks better on
        pictures held out (see :meth:`search_word`).

        Parameters
        ----------
        sources : iterable of str or Path
        k : int
            How many words to give a picture at most, from 1.
        by : str, optional
            The ranker whose words to use; by default the first that has learned some.
        min_confidence : float, optional
            Leave out words that suit with less confidence, from 0 to 1. By default a half; or 0
            where there are no start words and too few pictures had words to learn how sure one is.
        limits : Limits, optional
            What a picture may cost before it is refused.
        threads : int, optional
            By default one a core.
        progress : callable
            Told how many files are done.
        """
        most = check_whole("tag", "k", k, 1)
        files = find_pictures(sources)
        tagging = FileTagging(self._lexicon(by)).tag(
            files.paths, most, min_confidence, limits=limits, threads=threads, progress=progress
        )
        return Tagging(tagging.pictures, [*files.problems, *tagging.refused], ignored=files.ignored)

    def beside(
        self,
        query: Query | Ask,
        words: str,
        weight: float,
        by: str | None,
        where: Filter | None,
        learned: bool,
        who: str,
        strike: Iterable[str],
        limits: Limits | None,
    ) -> Ranked:
        """Return all pictures by how like they are to a query and how well words fit them."""
        if not (is_number(weight) and 0 <= weight <= 1):
            raise InvalidInput(f"search: weight must be from 0 to 1; got {weight!r:.80}.")
        text, session = check_text(words), self._session
        among = matching(session, where)
        alike = likeness(session, query, by, learned, among, limits, who)
        return rank_word(
            session,
            text,
            by,
            among,
            partial(matching, session),
            learned=learned,
            who=who,
            strike=frozenset(map(word_key, strike)),
            like=Likeness(*alike, float(weight)),
        )

    def ranked(
        self,
        word: str,
        by: str | None,
        where: Filter | None,
        learned: bool,
        who: str,
        strike: Iterable[str] = (),
    ) -> Ranked:
        """Return all that a search by word finds, again while nobody has written since."""
        text, struck = check_text(word), frozenset(map(word_key, strike))
        if where is not None:
            where.check()
        return self._session.answers.get(
            ("word", text, by, where, learned, who, struck),
            lambda: rank_word(
                self._session,
                text,
                by,
                matching(self._session, where),
                partial(matching, self._session),
                learned=learned,
                who=who,
                strike=struck,
            ),
        )

    def _lexicon(self, by: str | None) -> Lexicon:
        """Return the words of a ranker: by default the first that learned some, or knows some."""
        rankers = self._session.rankers
        if (learned := rankers.annotated(by)) is not None:
            return Lexicon.of(self._session, *learned)
        if (starting := rankers.starting(by)) is not None:
            return Lexicon.of(self._session, starting[0], None)
        raise CollectionError(
            f"{rankers.untaught()} Its rankers know no start words, either; lookalike index FOLDER "
            f"--model lite0 --name words adds one that does."
        )

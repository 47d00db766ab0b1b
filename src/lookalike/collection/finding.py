"""A collection that is searched: by likeness and by word, and its pictures named."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from lookalike.annotation import WSABIE
from lookalike.collection import rows
from lookalike.collection.asking import Vault, check_ask, verdicts
from lookalike.collection.querying import Query, query_vector
from lookalike.collection.records import Ask, Match, Tagging
from lookalike.collection.showing import Showing
from lookalike.collection.tagging import Tagger, unknown_word
from lookalike.collection.vectors import AnyIndex
from lookalike.collection.where import Where
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.text import word_key
from lookalike.features import Vectors
from lookalike.images import Limits, find_pictures


class Finding(Showing):
    """What is asked of a collection: pictures for pictures and words, words for pictures."""

    def search(
        self,
        query: Query | Ask,
        k: int = 10,
        *,
        learned: bool = True,
        offset: int = 0,
        where: Where | None = None,
        min_score: float | None = None,
        limits: Limits | None = None,
    ) -> list[Match]:
        """Find the pictures most like a query, best first.

        Parameters
        ----------
        query : int, str, Path, bytes, Image or Ask
            A picture of the collection by its id or path; or any picture, as a file, its content
            or a Pillow image. A picture that is in the collection, however it is named, is not
            among its own matches. A file that has changed since it was added counts as it is
            now; one that is gone, as it was. An :class:`~lookalike.collection.Ask` names several
            pictures to be like and unlike; what people voted on it before counts with it.
        k : int
            How many to find at most, from 1.
        learned : bool
            Whether to use what was learned; else the cosine of the vectors.
        offset : int
            How many of the best to leave out, for a second page.
        where : Where, optional
            Which pictures to search among.
        min_score : float, optional
            Leave out pictures that score less.
        limits : Limits, optional
            What the query may cost to decode before it is refused.
        """
        _check_k("search", k)
        serving = self._serve()
        if isinstance(query, Ask):
            check_ask(query)
            ask: Ask | None = query
        else:
            found = query_vector(query, serving, self._database, limits)
            if found is None:
                raise self._unknown(query)
            vector, own = found
            ask = Ask((own,)) if own >= 0 else None
        if ask is not None:
            said = verdicts(self._database, str(ask)) if learned else {}
            vault = Vault(serving.space, serving.plain, self._database)
            vector = vault.ask(ask, said)
        index = serving.learned if learned else serving.plain
        asked = serving.query(vector) if learned else vector
        own_ids = [] if ask is None else [r for r in (*ask.like, *ask.unlike) if isinstance(r, int)]
        return self._matches(index, asked, k, own_ids, offset, where, min_score)

    def search_word(
        self,
        word: str,
        k: int = 10,
        *,
        offset: int = 0,
        where: Where | None = None,
        min_score: float | None = None,
    ) -> list[Match]:
        """Find the pictures that a word suits most, best first.

        The score is W_wᵀVx (paper 2, Eq. 1), an inner product of the stored vector x with VᵀW_w,
        so that no index has to be made for words. The scores of ``tag`` add to it what the word
        gets from every picture alike.

        Parameters
        ----------
        word : str
            A word that was learned, in any case and Unicode form.
        k : int
            How many to find at most, from 1.
        offset : int
            How many of the best to leave out, for a second page.
        where : Where, optional
            Which pictures to search among.
        min_score : float, optional
            Leave out pictures that score less.
        """
        _check_k("search_word", k)
        serving, tagger = self._naming()
        known = self._known_word(word, tagger)
        query = tagger.word_queries([known])
        return self._matches(serving.plain, query, k, [], offset, where, min_score)

    def tag(
        self,
        sources: Iterable[str | Path],
        k: int = 10,
        *,
        min_confidence: float | None = None,
        limits: Limits | None = None,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Tagging:
        """Name what the pictures among files, folders and globs show; nothing is changed.

        Pictures that are in the collection as they are need not be read again.

        Parameters
        ----------
        sources : iterable of str or Path
        k : int
            How many words to give a picture at most, from 1.
        min_confidence : float, optional
            Leave out words that suit with less confidence, from 0 to 1. By default a half; or 0
            where too few pictures had words to learn how sure a word is.
        limits : Limits, optional
            What a picture may cost before it is refused.
        threads : int, optional
            By default one a core.
        progress : callable
            Told how many files are done.
        """
        _check_k("tag", k)
        serving, model = self._naming()
        found = find_pictures(sources)
        tagger = Tagger(model, serving, self._database)
        tagging = tagger.tag(
            found.paths, int(k), min_confidence, limits=limits, threads=threads, progress=progress
        )
        return Tagging(tagging.pictures, [*found.problems, *tagging.refused], ignored=found.ignored)

    def words(self) -> dict[str, int]:
        """Return the words that pictures are tagged with, and how many have each as a label."""
        _, tagger = self._naming()
        uses = Counter(
            key
            for names in rows.labels(self._database).values()
            for key in {word_key(name) for name in names}
        )
        return {word: uses[word_key(word)] for word in tagger.words_}

    def word_neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """Return the words most like a word, with the cosine of both (paper 2, Table 3)."""
        _check_k("word_neighbours", k)
        _, tagger = self._naming()
        return tagger.neighbours(self._known_word(word, tagger), int(k))

    def _matches(
        self,
        index: AnyIndex,
        vector: Vectors,
        k: int,
        own: list[int],
        offset: int,
        where: Where | None,
        min_score: float | None,
    ) -> list[Match]:
        if not isinstance(offset, int | np.integer) or isinstance(offset, bool) or offset < 0:
            raise InvalidInput(f"search: offset must be a whole number from 0; got {offset!r}.")
        most = min(int(k) + int(offset), max(len(index), 1))
        among = self._matching(where)
        exclude = np.array([own], np.int64) if own else None
        hits = index.search(vector, most, exclude=exclude, among=among)
        scores = dict(zip(hits.ids[0].tolist(), hits.scores[0].tolist(), strict=True))
        page = [
            (number, score)
            for number, score in list(scores.items())[int(offset) :]
            if min_score is None or score >= min_score
        ]
        places = rows.places_of(self._database, [number for number, _ in page])
        return [
            Match(number, places[number][0], score, places[number])
            for number, score in page
            if number in places
        ]

    def _known_word(self, word: str, tagger: WSABIE) -> str:
        if not isinstance(word, str):
            raise InvalidInput(f"Collection: a word is text; got {word!r:.80}.")
        try:
            return tagger.words_[tagger.word_number(word)]
        except InvalidInput as error:
            raise unknown_word(self.path, word, tagger.words_) from error


def _check_k(who: str, k: int) -> None:
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise InvalidInput(f"{who}: k must be a whole number from 1; got {k!r}.")

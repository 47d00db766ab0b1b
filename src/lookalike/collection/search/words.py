"""Find pictures by words: text comes in, pictures it was given to or may fit go out, ranked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.pictures.names import named
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.session import Session
from lookalike.collection.ranking.start_words import MIN_CONFIDENCE
from lookalike.collection.search.lexicon import better_start_words
from lookalike.collection.search.matches import Match, Source, WordCounts
from lookalike.collection.search.searching import make_matches
from lookalike.collection.store import browsing, labels, people, pictures
from lookalike.collection.store.filter import Filter
from lookalike.collection.store.queries import Ask
from lookalike.collection.vectors.queries import MAX_EXAMPLES, spread
from lookalike.core.checks import check_whole
from lookalike.core.errors import CollectionError, DamagedFile, InvalidInput, MissingPart
from lookalike.core.text import first_control, label_name, word_key
from lookalike.features import StartWords

if TYPE_CHECKING:
    from lookalike.annotation.base import Annotator

MAX_TERMS = 20
"""Words of a text that are looked for."""

MAX_TOGETHER = 6
"""The most words that are tried as one, as in ``polar bear``."""

_SOURCES: tuple[Source, ...] = ("given", "name", "learned", "start")
_GIVEN, _NAMED, _LEARNED, _START = range(4)

Ids: TypeAlias = NDArray[np.int64]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ranked:
    """All pictures that a text finds, best first.

    Attributes
    ----------
    ids : int64 array
    scores : float64 array
        1 where the text was given or names the file, else how well it fits, above 0 and up to 1.
    parts : uint8 array
        Where each match comes from, rising: given, by name, learned, from the start.
    terms, unknown : tuple of str
        The words of the text, and those that no picture has and nothing is known of.
    """

    ids: Ids
    scores: NDArray[np.float64]
    parts: NDArray[np.uint8]
    terms: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def given(self) -> list[int]:
        """The pictures that the text was given to, rising."""
        return sorted(self.ids[self.parts == _GIVEN].tolist())

    @property
    def counts(self) -> WordCounts:
        """How many pictures each part has."""
        given, by_name = (int((self.parts == part).sum()) for part in (_GIVEN, _NAMED))
        probable = len(self.ids) - given - by_name
        return WordCounts(given, by_name, probable, self.terms, self.unknown)

    def page(self, session: Session, k: int, offset: int, min_score: float | None) -> list[Match]:
        """Return some of the matches."""
        last = check_whole("search_word", "k", k, 1) + check_whole(
            "search_word", "offset", offset, 0
        )
        hits = list(zip(self.ids[:last].tolist(), self.scores[:last].tolist(), strict=True))
        sources = dict(zip(self.ids[offset:last].tolist(), self.parts[offset:last], strict=True))
        return [
            replace(match, source=_SOURCES[sources[match.id]])
            for match in make_matches(session.database, hits, offset, min_score)
        ]


@dataclass(frozen=True)
class _Fit:
    """How a term fits pictures: given to them, in their names, and how well besides."""

    given: NDArray[np.bool_]
    by_name: NDArray[np.bool_]
    likely: NDArray[np.float64]
    source: int
    is_known: bool


def check_text(text: object) -> str:
    """Return the text to search by, or raise InvalidInput."""
    if not isinstance(text, str) or not (whole := label_name(text)):
        raise InvalidInput(f"search_word: a word is text that is not empty; got {text!r:.80}.")
    if (sign := first_control(whole)) is not None:
        raise InvalidInput(
            f"search_word: a word must not contain control characters; got {sign!r} in "
            f"{text!r:.80}. Leave it out."
        )
    return whole


def rank_word(
    session: Session,
    text: str,
    by: str | None,
    among: Ids | None,
    *,
    learned: bool = True,
    who: str = people.OWNER,
) -> Ranked:
    """Return all pictures that a text finds.

    Pictures it was given to come first, then those whose files or folders are named so, then those
    it probably fits. Of several words, all must fit. A word that was learned is answered by the
    annotator, unless the start word of that name ranks the pictures better that the annotator was
    judged by; other words are answered by start words, and a word that only people know by what is
    like the pictures they gave it to. Without ``learned``, only labels, names and start words
    answer. An annotator that is damaged is left out; ``Rankers.words_damage`` tells. To a person
    who is not trusted, the labels they gave and refused count as if they were everybody's.
    """
    knowing = _Knowing.of(session, by, learned, who)
    ids = pictures.ids(session.database) if among is None else among
    terms = split(text, knowing.knows)
    by_name = named(session.database, terms)
    fits = [
        knowing.fit(term, ids, np.isin(ids, names))
        for term, names in zip(terms, by_name, strict=True)
    ]
    result = _combined(ids, fits)
    unknown = tuple(
        term
        for term, fit, names in zip(terms, fits, by_name, strict=True)
        if not fit.is_known and not names.size
    )
    if not result[0].size and knowing.trouble is not None:
        raise knowing.trouble
    return Ranked(*result, tuple(terms), unknown)


def split(text: str, is_known: Callable[[str], bool]) -> list[str]:
    """Return the words of a text, those known together as one.

    Examples
    --------
    >>> split("polar bear, snow", {"polar bear"}.__contains__)
    ['polar bear', 'snow']
    """
    if is_known(text):
        return [text]
    words = text.replace(",", " ").split()
    terms: list[str] = []
    while words and len(terms) < MAX_TERMS:
        sizes = range(min(MAX_TOGETHER, len(words)), 1, -1)
        size = next((size for size in sizes if is_known(" ".join(words[:size]))), 1)
        terms.append(" ".join(words[:size]))
        words = words[size:]
    return list(dict.fromkeys(terms)) or [text]


def _combined(ids: Ids, fits: list[_Fit]) -> tuple[Ids, NDArray[np.float64], NDArray[np.uint8]]:
    """Return the pictures that all terms fit, ranked, with their scores and parts."""
    likely = np.prod([np.where(fit.given | fit.by_name, 1.0, fit.likely) for fit in fits], axis=0)
    typical = np.prod([fit.likely for fit in fits], axis=0)
    source = min(fit.source for fit in fits)
    parts = np.full(len(ids), source, np.uint8)
    parts[np.all([fit.given | fit.by_name for fit in fits], axis=0)] = _NAMED
    parts[np.all([fit.given for fit in fits], axis=0)] = _GIVEN
    rows = np.flatnonzero(likely > 0)
    order = rows[np.lexsort((ids[rows], -typical[rows], -likely[rows], parts[rows]))]
    return ids[order], likely[order], parts[order]


@dataclass(frozen=True)
class _Knowing:
    """What knows words: labels, annotators and start words; ``trouble`` is why some does not."""

    session: Session
    by: str | None
    learned: bool
    annotators: list[tuple[Ranker, Annotator]]
    starts: list[tuple[Ranker, StartWords]]
    trouble: CollectionError | MissingPart | None
    own: dict[tuple[int, str], people.Proposal]

    @classmethod
    def of(cls, session: Session, by: str | None, learned: bool, who: str) -> _Knowing:
        """Return what the ranker named knows, then what others do."""
        if by is not None:
            session.rankers.row(by)
        annotators: list[tuple[Ranker, Annotator]] = []
        starts: list[tuple[Ranker, StartWords]] = []
        trouble = None
        for name in dict.fromkeys([by, None]):
            try:
                if learned:
                    with _clear_errors():
                        annotators += filter(None, [session.rankers.annotated(name)])
            except (CollectionError, MissingPart) as error:
                trouble = trouble or error
            with suppress(CollectionError, MissingPart), _clear_errors():
                starts += filter(None, [session.rankers.starting(name)])
        known = bool(annotators or starts)
        own = people.own_words(session.database, who)
        return cls(session, by, learned, annotators, starts, None if known else trouble, own)

    def knows(self, term: str) -> bool:
        """Return whether a text is one word: given to a picture, learned, or a start word."""
        return (
            any(_has(annotator, term) for _, annotator in self.annotators)
            or any(start.vocabulary.find(term) is not None for _, start in self.starts)
            or labels.is_label(self.session.database, term)
            or any(key == word_key(term) for _, key in self.own)
        )

    def fit(self, term: str, ids: Ids, by_name: NDArray[np.bool_]) -> _Fit:
        """Return how a term fits pictures."""
        database = self.session.database
        source, fitting, likely, other = self._likely(term)
        names = {term, *other}
        given = np.zeros(len(ids), bool)
        for name in names:
            labelled = browsing.matching(database, Filter(tags=(name,)))
            given |= False if labelled is None else np.isin(ids, labelled)
        refused = set[int]().union(*(labels.refused_for(database, name) for name in names))
        keys = set(map(word_key, names))
        own = {number: one.shows for (number, key), one in self.own.items() if key in keys}
        given[np.isin(ids, [number for number, shows in own.items() if not shows])] = False
        given |= np.isin(ids, [number for number, shows in own.items() if shows])
        refused = {n for n in refused if not own.get(n)} | {n for n in own if not own[n]}
        if source is None and self.learned and given.any():
            source, (fitting, likely) = _LEARNED, self._alike(ids[given])
        here, there = np.isin(ids, fitting), np.isin(fitting, ids)
        spread = np.zeros(len(ids))
        spread[here] = likely[there]
        spread[np.isin(ids, [*refused])] = 0
        is_known = source is not None or bool(given.any()) or self.knows(term)
        return _Fit(given, by_name, spread, _START if source is None else source, is_known)

    def _alike(self, given: Ids) -> tuple[Ids, NDArray[np.float64]]:
        """Return how like pictures are to those that a word was given to."""
        with suppress(CollectionError, MissingPart), _clear_errors():
            ranker = self.session.rankers.get(self.by, learned=False)
            database = self.session.database
            held = ranker.source(database).held(given.tolist())
            if held:
                vector = ranker.source(database).ask(Ask(tuple(spread(sorted(held), MAX_EXAMPLES))))
                ids = np.sort(ranker.index.ids)
                return ids, _above_average(ranker.index.scores(ranker.query(vector), ids)[0])
        return np.zeros(0, np.int64), np.zeros(0)

    def _likely(self, term: str) -> tuple[int | None, Ids, NDArray[np.float64], list[str]]:
        """Return where a term comes from, how well it fits which pictures, and its other name."""
        learned = next((one for one in self.annotators if _has(one[1], term)), None)
        start = next((one for one in self.starts if one[1].vocabulary.find(term) is not None), None)
        if learned is not None:
            name = learned[1].words_[learned[1].word_number(term)]
            if start is None or word_key(name) not in better_start_words(
                self.session, learned, start
            ):
                return _LEARNED, *_learned(*learned, name), []
        if start is not None and (result := start[1].vocabulary.find(term)) is not None:
            classes = self.session.rankers.classes.of(*start)
            sure = np.asarray(start[1].confidences(classes.likely, result[1]), np.float64)
            sure[sure < MIN_CONFIDENCE] = 0
            return _START, classes.ids, sure, [result[0]]
        return None, np.zeros(0, np.int64), np.zeros(0), []


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Go on without what is damaged, and tell."""
    try:
        yield
    except DamagedFile as error:
        _log.warning("%s", error)


def _has(annotator: Annotator, term: str) -> bool:
    with suppress(InvalidInput):
        annotator.word_number(term)
        return True
    return False


def _learned(ranker: Ranker, annotator: Annotator, word: str) -> tuple[Ids, NDArray[np.float64]]:
    """Return how well a learned word fits pictures, by rising id.

    W_wᵀVx (paper 2, Eq. 1), from 0 for what the average picture has to 1 for the best: it is
    an inner product of the stored vector x with VᵀW_w, so that no index has to be made for words.
    """
    # The inner product with the stored vector itself, not with one of unit length.
    plain = ranker.plain.copy()
    plain.set_scales(None)
    ids = np.sort(plain.ids)
    return ids, _above_average(plain.scores(annotator.word_queries([word]), ids)[0])


def _above_average(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return scores from 0 for the average picture to 1 for the best."""
    fine = scores.astype(np.float64)
    average = float(fine.mean()) if fine.size else 0.0
    gap = float(fine.max(initial=average)) - average
    return np.clip((fine - average) / gap, 0, 1) if gap > 0 else np.ones(len(fine))


def spelling(path: Path, word: str, annotator: Annotator) -> str:
    """Return a word as the annotator spells it.

    Raises
    ------
    InvalidInput
        If it was never learned; it names those that are close.
    """
    if not isinstance(word, str):
        raise InvalidInput(f"Collection: a word is text; got {word!r:.80}.")
    if _has(annotator, word):
        return annotator.words_[annotator.word_number(word)]
    spelled = {word_key(one): one for one in annotator.words_}
    close = [spelled[key] for key in get_close_matches(word_key(word), spelled)]
    near = f"Did you mean {' or '.join(map(repr, close))}?" if close else "Learn it first."
    raise InvalidInput(
        f"{path} has not learned the word {word!r:.80} (it knows {len(spelled):,}). {near}"
    )

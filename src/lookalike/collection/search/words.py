"""Find pictures by words: text comes in, pictures it was given to or may fit go out, ranked."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.session import Session
from lookalike.collection.ranking.start_words import MIN_CONFIDENCE
from lookalike.collection.search import reading, whole_texts
from lookalike.collection.search.bearers import bearers
from lookalike.collection.search.conditions import Ids, Select, selected, spellings
from lookalike.collection.search.fit import (
    CAPTIONED,
    GIVEN,
    IN_FOLDER,
    LEARNED,
    MEANING,
    NAMED,
    NO_SOURCE,
    SOURCES,
    START,
    WRITTEN,
    Chances,
    Fit,
    Likeness,
    Mask,
    combined,
    spread_over,
)
from lookalike.collection.search.lexicon import better_start_words
from lookalike.collection.search.matches import Match, Reading, ReadWord, Source, WordCounts
from lookalike.collection.search.query_language import Term, parse
from lookalike.collection.search.reading import Meaning, Meanings, is_sentence, is_stop_word, split
from lookalike.collection.search.searching import above_average, make_matches
from lookalike.collection.store import browsing, labels, people
from lookalike.collection.store.filter import Filter
from lookalike.collection.store.queries import Ask
from lookalike.collection.vectors.queries import MAX_EXAMPLES, spread
from lookalike.core.checks import check_whole
from lookalike.core.errors import CollectionError, DamagedFile, InvalidInput, MissingPart
from lookalike.core.text import label_name, word_key
from lookalike.features import StartWords

if TYPE_CHECKING:
    from lookalike.annotation.base import Annotator
    from lookalike.features.text.model import TextModel

MIN_MEANT = 0.005
"""Pictures that a term fits with less, by its meaning, would be shown as 0 %, and are not found."""

MAX_LABELS = 5
"""The labels and learned words, of those near in meaning, that a term is read as."""

MAX_NAMES = 1000
"""The labels, and the names of folders, that texts may be read as; the most used."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ranked:
    """All pictures that a text finds, best first.

    Attributes
    ----------
    ids : int64 array
    scores : float64 array
        How probable each picture is, above 0; 1 where the text was given to it.
    parts : uint8 array
        Where each match comes from: given, by name, learned, from the start, by meaning.
    readings : tuple of Reading
        What each term was taken for.
    set_aside : tuple of str
        What was typed and not understood.
    among : int or None
        How many pictures pass the filters; None without any.
    """

    ids: Ids
    scores: Chances
    parts: NDArray[np.uint8]
    readings: tuple[Reading, ...]
    set_aside: tuple[str, ...]
    among: int | None

    @property
    def given(self) -> list[int]:
        """The pictures that the text was given to, rising."""
        return sorted(self.ids[self.parts == GIVEN].tolist())

    @property
    def counts(self) -> WordCounts:
        """How many pictures there are of each source, and how the text was read."""
        given, captioned, written, *named = (
            int((self.parts == part).sum())
            for part in (GIVEN, CAPTIONED, WRITTEN, NAMED, IN_FOLDER)
        )
        by_name = sum(named)
        return WordCounts(
            given,
            by_name,
            len(self.ids) - given - captioned - by_name - written,
            tuple(one.text for one in self.readings if not one.without),
            tuple(one.text for one in self.readings if not one.words),
            self.readings,
            self.set_aside,
            self.among,
            captioned,
            written,
        )

    def page(self, session: Session, k: int, offset: int, min_score: float | None) -> list[Match]:
        """Return some of the matches."""
        last = check_whole("search_word", "k", k, 1) + check_whole(
            "search_word", "offset", offset, 0
        )
        hits = list(zip(self.ids[:last].tolist(), self.scores[:last].tolist(), strict=True))
        sources = dict(zip(self.ids[offset:last].tolist(), self.parts[offset:last], strict=True))
        return [
            replace(match, source=SOURCES[sources[match.id]])
            for match in make_matches(session.database, hits, offset, min_score)
        ]


def check_text(text: object) -> str:
    """Return the text to search by, or raise InvalidInput."""
    if not isinstance(text, str) or not (whole := label_name(text)):
        raise InvalidInput(f"search_word: a word is text that is not empty; got {text!r:.80}.")
    return whole


def rank_word(
    session: Session,
    text: str,
    by: str | None,
    among: Ids | None,
    select: Select,
    *,
    learned: bool = True,
    who: str = people.OWNER,
    strike: frozenset[str] = frozenset(),
    like: Likeness | None = None,
) -> Ranked:
    """Return all pictures that a text finds, the most probable first.

    The text is understood as :mod:`~lookalike.collection.search.query_language` tells. A term that
    is a label, a learned word or a start word is taken as it stands; another is read as the words
    nearest in meaning, unless these are struck. A term that nothing is known of is set aside. A
    word that was learned is answered by the annotator, unless the start word of that name ranks
    the pictures better that the annotator was judged by; other words by start words, and a word
    that only people know by what is like the pictures they gave it to. A picture is as probable as
    the product of its terms; where a term does not fit at all, others still put it in order.
    Without ``learned``, only labels, names and start words answer. An annotator that is damaged is
    left out; ``Rankers.words_damage`` tells. To a person who is not trusted, the labels they gave
    and refused count as if they were everybody's.

    With ``like``, pictures are sought that are like others and that the text fits.
    """
    typed = parse(text)
    knowing = _Knowing.of(session, by, learned, who, strike)
    ids, problems = selected(session, typed, among, select)
    is_filtered = among is not None or typed.filters > len(problems)
    if like is not None:
        ids = np.intersect1d(ids, like.ids)
    groups = [[knowing.terms(term) for term in group] for group in typed.groups]
    against = [knowing.terms(term) for term in typed.without]
    texts = {term for side in (*groups, against) for part in side for term in part}
    fits, readings = knowing.fits([*texts], ids)
    if len(groups) == 1 and len(groups[0]) == 1:
        knowing.weigh_whole(typed.groups[0][0].text, groups[0][0], fits, ids)
    alike = None if like is None else like.of(ids)
    result = combined(ids, groups, against, fits, alike)
    if typed.groups and not result[0].size and knowing.trouble is not None:
        raise knowing.trouble
    if not typed.groups and not typed.without and like is None:
        every = max(session.database.count("pictures"), 1)
        listed = browsing.browse_ids(session.database, every, 0, None, "newest")
        newest = np.array(listed, np.int64)
        newest = newest[np.isin(newest, ids)] if is_filtered else newest[:0]
        source = np.full(len(newest), NO_SOURCE, np.uint8)
        result = newest, np.ones(len(newest)), source
    read = [
        replace(readings[term], without=without)
        for sides, without in ((groups, False), ([against], True))
        for side in sides
        for part in side
        for term in part
    ]
    aside = (*typed.set_aside, *problems)
    passing = len(ids) if is_filtered else None
    return Ranked(*result, tuple(dict.fromkeys(read)), aside, passing)


@dataclass(frozen=True)
class _Knowing:
    """What knows words: labels, annotators and start words; ``trouble`` is why some does not."""

    session: Session
    by: str | None
    learned: bool
    strike: frozenset[str]
    annotators: list[tuple[Ranker, Annotator]]
    starts: list[tuple[Ranker, StartWords]]
    trouble: CollectionError | MissingPart | None
    own: dict[tuple[int, str], people.Proposal]
    pair: tuple[Ranker, TextModel] | None

    @classmethod
    def of(
        cls, session: Session, by: str | None, learned: bool, who: str, strike: frozenset[str]
    ) -> _Knowing:
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
        pair = session.rankers.paired(by) or (session.rankers.paired() if by else None)
        known = bool(annotators or starts or pair)
        own = people.own_words(session.database, who)
        missing = None if known else trouble
        return cls(session, by, learned, strike, annotators, starts, missing, own, pair)

    @cached_property
    def _answers(self) -> dict[str, bool]:
        return {}

    def knows(self, term: str) -> bool:
        """Return whether a text is one word: given to a picture, learned, or a start word."""
        if term not in self._answers:
            self._answers[term] = self._knows(term)
        return self._answers[term]

    def _knows(self, term: str) -> bool:
        return word_key(term) not in self.strike and bool(
            any(_has(annotator, term) for _, annotator in self.annotators)
            or any(start.vocabulary.find(term) is not None for _, start in self.starts)
            or spellings(self.session, term)
            or any(key == word_key(term) for _, key in self.own)
        )

    def terms(self, term: Term) -> list[str]:
        """Return what of a term is looked for together: known words, other words, a sentence."""
        if term.is_phrase:
            return [term.text]
        parts = split(term.text, self.knows)
        telling = [part for part in parts if self.knows(part) or not is_stop_word(part)] or parts
        if all(map(self.knows, telling)) or not is_sentence(term.text.split()):
            return telling
        meant = self.meanings.near(term.text, self.strike) is not None
        return [term.text] if meant else telling

    @cached_property
    def meanings(self) -> Meanings:
        """The words that others may be read as."""
        return self.session.answers.get(
            ("meanings", self.by, self.learned), lambda: Meanings(self._words())
        )

    def _words(self) -> Iterator[tuple[str, Source]]:
        for _, start in self.starts:
            # Not synonyms: "orang" and "tit" are near "person" and "woman" in meaning.
            yield from ((word, "start") for word in start.vocabulary.words)
        for _, annotator in self.annotators:
            yield from ((word, "learned") for word in annotator.words_)
        for word, _ in self.session.answers.read(labels.labels_used)[:MAX_NAMES]:
            yield word, "given"

    def fits(self, terms: list[str], ids: Ids) -> tuple[dict[str, Fit], dict[str, Reading]]:
        """Return how terms fit pictures, but for those nothing is known of, and their readings."""
        fits, readings = {}, {}
        for term in terms:
            holders = bearers(self.session, term)
            if self.knows(term):
                known: Source = "start" if self._is_start(term) else "given"
                fits[term] = self._fit(term, ids, _masks(ids, holders))
                readings[term] = Reading(term, (ReadWord(term, 1.0, known),))
                continue
            if word_key(term) in self.strike:
                holders = {}
            evidence = _masks(ids, holders)
            meaning = None if is_stop_word(term) else self.meanings.near(term, self.strike)
            parts = [part for part, some in holders.items() if some.size]
            sources = dict.fromkeys(map(SOURCES.__getitem__, parts))
            words = [ReadWord(term, 1.0, source) for source in sources if source]
            if meaning is not None:
                whole = len(term.split()) >= reading.SENTENCE
                fits[term] = self._meant(meaning, ids, evidence, whole=whole)
                words += meaning.shown
            elif self.pair is not None and not is_stop_word(term):
                words.append(ReadWord(term, 1.0, "meaning"))
                nothing = np.zeros(len(ids))
                fits[term] = Fit(nothing.astype(bool), evidence, nothing, MEANING)
            elif words:
                nothing = np.zeros(len(ids))
                fits[term] = Fit(nothing.astype(bool), evidence, nothing, parts[0])
            readings[term] = Reading(term, tuple(words), is_literal=meaning is None)
        return fits, readings

    def weigh_whole(self, text: str, terms: list[str], fits: dict[str, Fit], ids: Ids) -> None:
        """Let a pair of models, or what was learned of whole texts, tell how well a text fits."""
        some = [term for term in terms if term in fits]
        words = [word for term in some for word in self._words_of(term)]
        if words and self.pair is not None:
            whole, share = whole_texts.paired_fits(*self.pair, text, ids), 1.0
        elif len(words) > 1 and self.annotators:
            whole, share = whole_texts.fits(self.session, self.annotators[0], words, ids)
        else:
            return
        # Of words that were never taught, start words and names know more.
        counts = {term: self._weight_of_whole(term, share) for term in some}
        total = sum(counts.values())
        for term, count in counts.items():
            if count and share:
                fit = fits[term]
                likely = fit.likely ** (1 - count) * whole ** (count / total)
                likely[False if fit.refused is None else fit.refused] = 0
                fits[term] = replace(fit, likely=likely)

    def _weight_of_whole(self, term: str, share: float) -> float:
        """Return how much a whole text counts beside a term: all, if the term was taught."""
        if self.pair is not None or any(_has(one, term) for _, one in self.annotators[:1]):
            return 1.0
        return min(1.0, 2 * share) if is_sentence(term.split()) else 0.0

    def _words_of(self, term: str) -> list[str]:
        known = [term] if self.knows(term) else split(term, self.knows)
        telling = [word for word in known if not is_stop_word(word)]
        return [word for word in telling if word_key(word) not in self.strike]

    def _is_start(self, term: str) -> bool:
        return any(start.vocabulary.find(term) is not None for _, start in self.starts)

    def _meant(
        self, meaning: Meaning, ids: Ids, evidence: Mapping[int, Mask], *, whole: bool = False
    ) -> Fit:
        """Return how the words that a term is read as fit pictures, each by its weight.

        With ``whole``, for a sentence, by the sum of their classes' logits: no picture shows one
        class of all that is told.
        """
        total = np.zeros(len(ids))
        for ranker, start in self.starts[:1]:
            among = np.zeros(start.vocabulary.classes, np.float32)
            for one in meaning.words:
                name = start.vocabulary.find(one.word) if one.source == "start" else None
                if name is not None:
                    among[name[1]] += one.weight / (len(name[1]) if whole else 1)
            if whole:
                query = ranker.space.text_queries((among @ start.classifier()[0])[None])
                total += among.any() * whole_texts.query_fits(ranker, query, ids)
                continue
            classes = self.session.rankers.classes.of(ranker, start)
            sure = np.asarray(start.weighed(classes.likely, np.minimum(among, 1)), np.float64)
            total += spread_over(ids, classes.ids, sure)
        others = [one for one in meaning.words if one.source != "start"][:MAX_LABELS]
        for one in others:
            fit = self._fit(one.word, ids, {}, is_meant=True)
            total += one.weight * fit.chances
        likely = meaning.likeness * np.minimum(total, 1)
        likely[likely < MIN_MEANT] = 0
        return Fit(np.zeros(len(ids), bool), evidence, likely, MEANING)

    def _fit(
        self, term: str, ids: Ids, evidence: Mapping[int, Mask], *, is_meant: bool = False
    ) -> Fit:
        """Return how a word that is known fits pictures; one that another is read as, by itself."""
        database = self.session.database
        source, fitting, likely, other = self._likely(term)
        names = {*spellings(self.session, term), term, *other}
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
            source, (fitting, likely) = LEARNED, self._alike(ids[given])
        seen = spread_over(ids, fitting, likely)
        is_learned = any(_has(one, term) for _, one in self.annotators)
        if source == LEARNED and not is_learned and not is_meant:
            # Of what only people know, and of a sentence they voted on, the meaning still counts.
            meaning = self.meanings.near(term, self.strike | {word_key(term)})
            if meaning is not None:
                seen = (seen + self._meant(meaning, ids, {}).likely) / 2
        against = np.isin(ids, [*refused])
        seen[against] = 0
        return Fit(given, evidence, seen, START if source is None else source, against)

    def _alike(self, given: Ids) -> tuple[Ids, NDArray[np.float64]]:
        """Return how like pictures are to those that a word was given to."""
        with suppress(CollectionError, MissingPart), _clear_errors():
            ranker = self.session.rankers.get(self.by, learned=False)
            database = self.session.database
            held = ranker.source(database).held(given.tolist())
            if held:
                vector = ranker.source(database).ask(Ask(tuple(spread(sorted(held), MAX_EXAMPLES))))
                ids = np.sort(ranker.index.ids)
                return ids, above_average(ranker.index.scores(ranker.query(vector), ids)[0])
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
                return LEARNED, *_learned(*learned, name), []
        if start is not None and (result := start[1].vocabulary.find(term)) is not None:
            classes = self.session.rankers.classes.of(*start)
            sure = np.asarray(start[1].confidences(classes.likely, result[1]), np.float64)
            sure[sure < MIN_CONFIDENCE] = 0
            return START, classes.ids, sure, [result[0]]
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
    ids = np.sort(ranker.plain.ids)
    query = annotator.word_queries([word])
    return ids, above_average(whole_texts.products(ranker, query, ids))


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


def _masks(ids: Ids, holders: Mapping[int, Ids]) -> dict[int, Mask]:
    """Return which of the pictures are among those of each."""
    return {part: np.isin(ids, some) for part, some in holders.items()}

"""Words for pictures: learned words and start words together, each the one that ranks better."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.tag import Tag
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.session import Session
from lookalike.collection.ranking.start_words import MIN_SURE
from lookalike.collection.search.matches import Source
from lookalike.collection.store import labels, models, rankers
from lookalike.collection.store.database import Database
from lookalike.core.errors import InvalidInput
from lookalike.core.ranking import judge
from lookalike.core.text import word_key
from lookalike.core.vectors import Vectors, stack_rows
from lookalike.features import StartWords

if TYPE_CHECKING:
    from lookalike.annotation.base import Annotator

MIN_TO_JUDGE = 3
"""Pictures with a word, among those held out, from which a start word may be preferred."""

Learned: TypeAlias = "tuple[Ranker, Annotator]"
Starting: TypeAlias = tuple[Ranker, StartWords]


@dataclass(frozen=True, slots=True)
class PictureTag(Tag):
    """A word for a picture, and whether it was learned or known from the start."""

    source: Source = "learned"


@dataclass(frozen=True)
class Lexicon:
    """The words that a ranker can give: those it has learned, and the start words of its feature.

    A word that is both comes from the one that ranks better (:func:`better_start_words`).
    """

    database: Database
    ranker: Ranker
    annotator: Annotator | None
    start: StartWords | None
    better: frozenset[str] = frozenset()

    @classmethod
    def of(cls, session: Session, ranker: Ranker, annotator: Annotator | None) -> Lexicon:
        """Return the words of a ranker, with those that its annotator has learned."""
        start, better = ranker.space.feature.start_words, frozenset[str]()
        if annotator is not None and start is not None:
            better = better_start_words(session, (ranker, annotator), (ranker, start))
        return cls(session.database, ranker, annotator, start, better)

    @property
    def least(self) -> float:
        """The confidence of words that are given where none is asked for.

        A half; 0 where all that is known are learned words of unknown confidence.
        """
        is_unsure = self.annotator is not None and not self.annotator.has_confidence
        return 0.0 if is_unsure and self.start is None else MIN_SURE

    def tags(
        self, ids: NDArray[np.int64], records: Sequence[bytes], k: int, least: float
    ) -> list[list[PictureTag]]:
        """Return words for pictures of the collection, then for those of records, best first.

        Learned words stand in the order of their confidence, start words the most telling first;
        of both, the surer comes next. Words of unknown confidence are given only with ``least`` 0.
        """
        if not 0 <= least <= 1:
            raise InvalidInput(f"tag: min_confidence must be from 0 to 1; got {least!r}.")
        learned, start = (
            self.learned_tags(ids, records, k, least),
            self.start_tags(ids, records, least),
        )
        return [
            list(heapq.merge(*both, key=_doubt))[:k] for both in zip(learned, start, strict=True)
        ]

    def learned_tags(
        self, ids: NDArray[np.int64], records: Sequence[bytes], k: int, least: float
    ) -> list[list[PictureTag]]:
        """Return learned words for pictures, as :meth:`tags` does."""
        annotator = self.annotator
        if annotator is None or (not annotator.has_confidence and least > 0):
            return [[] for _ in range(len(ids) + len(records))]
        parts: list[Vectors] = [self.ranker.vectors(ids)]
        if records:
            parts.append(self.ranker.space.vectors(records))
        most = k + len(self.better)
        return [
            [
                PictureTag(tag.word, tag.score, tag.confidence)
                for tag in tags
                if word_key(tag.word) not in self.better
            ]
            for tags in annotator.annotate(stack_rows(parts), most, min_confidence=least)
        ]

    def start_tags(
        self, ids: NDArray[np.int64], records: Sequence[bytes], least: float
    ) -> list[list[PictureTag]]:
        """Return start words for pictures, as :meth:`tags` does."""
        if self.start is None or not len(ids) + len(records):
            return [[] for _ in range(len(ids) + len(records))]
        rising = np.unique(ids)
        stored = rankers.records(self.database, self.ranker.id, rising.tolist())
        every = [*(stored[at] for at in np.searchsorted(rising, ids)), *records]
        with self.database.parsing("a record"):
            likely = self.start.likely(self.ranker.space.feature.vectors(every))
        spelled = self._spelled(self.start)
        return [
            [
                PictureTag(name, sure, sure, "start")
                for word, sure in words
                if (name := spelled.get(word, word))
            ]
            for words in self.start.words(likely, least)
        ]

    def _spelled(self, start: StartWords) -> dict[str, str]:
        """Return how start words are spelled that were learned; empty for those to leave out."""
        result = {}
        for word in () if self.annotator is None else self.annotator.words_:
            if (known := start.vocabulary.find(word)) is not None:
                result[known[0]] = word if word_key(word) in self.better else ""
        return result


def better_start_words(session: Session, learned: Learned, starting: Starting) -> frozenset[str]:
    """Return the keys of learned words whose start words rank pictures better.

    Both are judged by average precision over the pictures that the annotator was judged by, where
    at least three of these have the word; once for each annotator.
    """
    known, key = session.rankers.classes.better, (learned[0].annotator, starting[0].id)
    if key not in known:
        known[key] = _better(session, learned, starting)
    return known[key]


def _better(session: Session, learned: Learned, starting: Starting) -> frozenset[str]:
    (ranker, annotator), (_, start) = learned, starting
    sides = models.sides(session.database, ranker.annotator)
    both = [(word, start.vocabulary.find(word)) for word in annotator.words_]
    shared = [(word_key(word), one[1]) for word, one in both if one is not None]
    if sides is None or not shared:
        return frozenset()
    classes = session.rankers.classes.of(*starting)
    held = np.intersect1d(np.intersect1d(sides[0], ranker.plain.ids), classes.ids)
    own = labels.labels_of(session.database, held.tolist())
    having = [set(map(word_key, own[number])) for number in held.tolist()]
    judged = annotator.as_judged
    scores = judged.scores(ranker.vectors(held))
    likely = classes.likely.taken(np.searchsorted(classes.ids, held))
    result = set()
    for key, numbers in shared:
        has = np.array([key in words for words in having], bool)
        if has.sum() < MIN_TO_JUDGE:
            continue
        pair = np.stack([scores[:, judged.word_number(key)], start.confidences(likely, numbers)])
        by_learning, by_start = judge(pair, np.stack([has, has])).average_precision
        if by_start > by_learning:
            result.add(key)
    return frozenset(result)


def _doubt(tag: PictureTag) -> float:
    """Return what tags are merged by: those of unknown confidence come last."""
    return -tag.confidence if tag.confidence >= 0 else 0.0

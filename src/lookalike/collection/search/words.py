"""Find pictures by word: one that was learned, or a start word, comes in, matches go out."""

from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.base import Annotator
from lookalike.collection.answers import Match
from lookalike.collection.opened import Opened
from lookalike.collection.pictures.browsing import labels_of
from lookalike.collection.search.ranker import Ranker
from lookalike.collection.search.searching import found_matches, most_found, pairs
from lookalike.collection.search.start_words import find_word
from lookalike.collection.store import models
from lookalike.collection.store.database import Database
from lookalike.core.errors import InvalidInput
from lookalike.core.ranking import judge
from lookalike.core.text import word_key
from lookalike.features import StartWords
from lookalike.features.start_words import Vocabulary

LEAST_TO_JUDGE = 3
"""Pictures with a word, among those held out, from which a start word may be preferred."""


def search_word(
    opened: Opened,
    word: str,
    k: int,
    *,
    by: str | None,
    offset: int,
    among: NDArray[np.int64] | None,
    min_score: float | None,
) -> list[Match]:
    """Return the pictures that a word suits most, best first.

    A word that was learned is answered by the annotator, unless the start word of that name ranks
    the pictures better that the annotator was judged by; other words are answered by start words.
    """
    learned, start = opened.rankers.annotated(by), opened.rankers.starting(by)
    if learned is None and start is None:
        raise opened.rankers.untaught()
    annotator = None if learned is None else learned[1]
    vocabulary = None if start is None else start[1].vocabulary
    name, is_learned = known_word(opened.path, word, annotator, vocabulary)
    if start is None or (
        learned is not None and is_learned and not starts_better(opened, learned, start, name)
    ):
        known = learned or opened.rankers.naming(by)
        return _learned(opened.database, *known, name, k, offset, among, min_score)
    ranker, words = start
    most = most_found("search_word", k, offset, ranker)
    classes = opened.rankers.classes.of(ranker, words)
    found = find_word(opened.database, classes, words, word, most, among)
    given = {number for number, _, was_given in found if was_given}
    hits = [(number, sure) for number, sure, _ in found]
    return [
        replace(match, source="given" if match.id in given else "start")
        for match in found_matches(opened.database, hits, offset, min_score)
    ]


def known_word(
    path: Path, word: str, annotator: Annotator | None, start: Vocabulary | None = None
) -> tuple[str, bool]:
    """Return a word as it is spelled, and whether the annotator has learned it.

    Raises
    ------
    InvalidInput
        If it was never learned and is no start word; it names those that are close.
    """
    if not isinstance(word, str):
        raise InvalidInput(f"Collection: a word is text; got {word!r:.80}.")
    words = () if annotator is None else annotator.words_
    if annotator is not None:
        with suppress(InvalidInput):
            return words[annotator.word_number(word)], True
    known = None if start is None else start.find(word)
    if known is not None:
        return known[0], False
    spelled = {word_key(one): one for one in words}
    close = [spelled[key] for key in get_close_matches(word_key(word), spelled)]
    close += [] if start is None else [one for one in start.close(word) if one not in close]
    near = f"Did you mean {' or '.join(map(repr, close))}?" if close else "Learn it first."
    also = "" if start is None else f", and {len(start.words):,} start words"
    raise InvalidInput(
        f"{path} has not learned the word {word!r:.80} (it knows {len(words):,}{also}). {near}"
    )


def starts_better(
    opened: Opened, learned: tuple[Ranker, Annotator], start: tuple[Ranker, StartWords], word: str
) -> bool:
    """Return whether a start word ranks pictures better than what was learned of that word.

    Both are judged by average precision over the pictures that the annotator was judged by, where
    at least three of these have the word; once for each annotator.
    """
    known, key = opened.rankers.classes.better, (learned[0].annotator, word)
    if key not in known:
        known[key] = _starts_better(opened, learned, start, word)
    return known[key]


def _starts_better(
    opened: Opened, learned: tuple[Ranker, Annotator], start: tuple[Ranker, StartWords], word: str
) -> bool:
    (ranker, annotator), words = learned, start[1]
    found, sides = words.vocabulary.find(word), models.sides(opened.database, ranker.annotator)
    if found is None or sides is None:
        return False
    classes = opened.rankers.classes.of(*start)
    held = np.intersect1d(np.intersect1d(sides[0], ranker.plain.ids), classes.ids)
    key, labels = word_key(word), labels_of(opened.database, held.tolist())
    has = np.array([key in map(word_key, labels.get(n, ())) for n in held.tolist()], bool)
    if has.sum() < LEAST_TO_JUDGE:
        return False
    by_learning = np.asarray(ranker.vectors(held) @ annotator.word_queries([word])[0])
    rows = classes.likely.taken(np.searchsorted(classes.ids, held))
    scores = np.stack([by_learning, words.confidences(rows, found[1])])
    judged = judge(scores, np.stack([has, has])).average_precision
    return bool(judged[1] > judged[0])


def _learned(
    database: Database,
    ranker: Ranker,
    annotator: Annotator,
    word: str,
    k: int,
    offset: int,
    among: NDArray[np.int64] | None,
    min_score: float | None,
) -> list[Match]:
    most = most_found("search_word", k, offset, ranker)
    # The inner product with the stored vector itself, not with one of unit length.
    plain = ranker.plain.copy()
    plain.set_scales(None)
    hits = plain.search(annotator.word_queries([word]), most, among=among)
    return [
        replace(match, source="learned")
        for match in found_matches(database, pairs(hits), offset, min_score)
    ]

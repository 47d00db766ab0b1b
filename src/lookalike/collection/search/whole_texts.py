"""Rank pictures by a whole text: learned from labels when it is first asked for, if it is better.

It is judged by the pictures that the annotator was judged by, and used only if texts of several
words find their picture among these better than by their words one by one, by more than chance, and
no worse if half of the words were never taught.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.text_side import TextSide
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.session import Session
from lookalike.collection.search.conditions import Ids
from lookalike.collection.search.fit import Chances, spread_over
from lookalike.collection.search.reading import text_memory
from lookalike.collection.search.searching import above_average
from lookalike.collection.store import labels, models
from lookalike.core import sparse as sp
from lookalike.core.evidence import paired_difference
from lookalike.core.text import word_key
from lookalike.core.vectors import dense

if TYPE_CHECKING:
    from lookalike.annotation.base import Annotator
    from lookalike.features.text.model import TextModel

MAX_TAUGHT = 2000
"""Pictures whose words are learned from; of more, as many at random."""

MIN_JUDGES = 20
"""Pictures with several words to judge by."""

SOFT = 0.02

Learned = tuple[Ranker, "Annotator"]


def fits(session: Session, learned: Learned, words: list[str], ids: Ids) -> tuple[Chances, float]:
    """Return how well a text fits pictures as a whole, from 0 to 1, and how far that counts.

    It counts by the share of its words that were taught; by 0 where nothing was learned.
    """
    ranker, annotator = learned
    known, key = session.rankers.classes.text_sides, (ranker.annotator, ranker.id)
    if key not in known:
        known[key] = _learned(session, ranker, annotator)
    side = known[key]
    share = 0.0 if side is None else side.taught(words)
    if side is None or not share:
        return np.zeros(len(ids)), 0.0
    own = np.sort(ranker.plain.ids)
    lengths = session.answers.get(
        ("lengths of texts", *key), lambda: side.lengths(ranker.vectors(own))
    )
    query = side.query(words)
    scores = side.scores(products(ranker, query, own), query, lengths)
    return spread_over(ids, own, above_average(scores)), share


def paired_fits(ranker: Ranker, model: TextModel, text: str, ids: Ids) -> Chances:
    """Return how well a text fits pictures by the pair that describes them, from 0 to 1."""
    return query_fits(ranker, ranker.space.text_queries(model.encode([text])), ids)


def query_fits(ranker: Ranker, query: NDArray[np.float32], ids: Ids) -> Chances:
    """Return how well a query vector fits pictures, from 0 to 1, whatever was learned."""
    own = np.sort(ranker.plain.ids)
    return spread_over(ids, own, above_average(products(ranker, query, own)))


def products(ranker: Ranker, query: NDArray[np.float32], ids: Ids) -> NDArray[np.floating]:
    """Return the inner products of stored vectors with a query, whatever was learned.

    They are of the stored vector itself, not of one of unit length.
    """
    plain = ranker.plain.copy()
    plain.set_scales(None)
    return np.asarray(plain.scores(query, ids)[0])


def _learned(session: Session, ranker: Ranker, annotator: Annotator) -> TextSide | None:
    """Learn from the pictures that an annotator learned from, or return None if it is no better."""
    memory, sides = text_memory(), models.sides(session.database, ranker.annotator)
    if memory is None or sides is None or ranker.space.feature.sparse:
        return None
    rng = np.random.default_rng(0)
    words = set(map(word_key, annotator.words_))

    def read(ids: Ids, least: int) -> tuple[Ids, list[list[str]]]:
        """Return pictures with so many words, and these."""
        there = np.intersect1d(ids, ranker.plain.ids)
        own = labels.labels_of(session.database, there.tolist())
        texts = [[one for one in own[n] if word_key(one) in words] for n in there.tolist()]
        enough = [len(some) >= least for some in texts]
        some = np.flatnonzero(enough)
        some = np.sort(rng.permutation(some)[:MAX_TAUGHT])
        return there[some], [texts[at] for at in some]

    held, texts = read(sides[0], 2)
    if len(held) < MIN_JUDGES:
        return None
    taught, known = read(np.setdiff1d(sides[1], sides[0]), 1)
    if not len(taught):
        return None
    side = TextSide.fit(ranker.vectors(taught), known, memory.encode)
    vectors = np.asarray(dense(ranker.vectors(held)), np.float32)
    judged = annotator.as_judged
    scores = np.asarray(judged.scores(vectors), np.float64)
    chances = SOFT + (1 - SOFT) * np.stack([above_average(one) for one in scores.T])

    def by_words(some: list[str]) -> NDArray[np.float64]:
        logs: Chances = np.log(chances[[judged.word_number(word) for word in some]]).sum(axis=0)
        return logs

    alone = np.stack([by_words(some) for some in texts])
    groups = sp.csr_matrix(np.eye(len(held)))
    whole = _texts(side, vectors, texts)
    if not paired_difference(_reciprocal_ranks(alone), _reciprocal_ranks(whole), groups).is_gain:
        return None
    half = set(rng.permutation(sorted(words))[: (len(words) + 1) // 2].tolist())
    part = [[one for one in some if word_key(one) in half] for some in known]
    some_rows = [at for at, some in enumerate(part) if some]
    lesser = TextSide.fit(
        ranker.vectors(taught[some_rows]), [part[at] for at in some_rows], memory.encode
    )
    fewer = [[one for one in some if word_key(one) in half] for some in texts]
    taught_alone = np.stack([by_words(some) if some else np.zeros(len(held)) for some in fewer])
    less = _texts(lesser, vectors, texts)
    if paired_difference(_reciprocal_ranks(taught_alone), _reciprocal_ranks(less), groups).is_loss:
        return None
    every, all_texts = read(np.union1d(sides[0], sides[1]), 1)
    return TextSide.fit(ranker.vectors(every), all_texts, memory.encode)


def _texts(side: TextSide, X: NDArray[np.float32], texts: list[list[str]]) -> Chances:
    """Return how well each text (row) fits each picture."""
    lengths = side.lengths(X)
    queries = [side.query(words) for words in texts]
    return np.stack([side.scores(X @ query[0], query, lengths) for query in queries])


def _reciprocal_ranks(scores: Chances) -> Chances:
    """Return one divided by the rank of each text's own picture."""
    own = np.diag(scores)[:, None]
    ties = (scores == own).sum(axis=1) - 1
    return np.asarray(1 / (1 + (scores > own).sum(axis=1) + ties / 2), np.float64)

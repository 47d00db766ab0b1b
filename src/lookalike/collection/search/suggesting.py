"""Suggest words for a picture: what was learned of it, and what the pictures most alike have."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.session import Session
from lookalike.collection.ranking.start_words import MIN_SURE
from lookalike.collection.search.lexicon import Lexicon, PictureTag
from lookalike.collection.search.matches import Source
from lookalike.collection.store import labels as stored
from lookalike.collection.store import people, rankers
from lookalike.collection.store.database import Database
from lookalike.collection.store.queries import Ask, Ref, query_record
from lookalike.core.checks import check_whole
from lookalike.core.text import word_key
from lookalike.core.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A word that may suit a picture; ``why`` says what speaks for it, in a few words.

    Its ``source`` is ``similar`` where the pictures most alike were given it.
    """

    word: str
    confidence: float | None
    why: str
    source: Source


MIN_CONFIDENCE = MIN_SURE / 2
"""Words less sure are not suggested, unless the pictures most alike have them."""

MIN_SUPPORT = 0.2
"""The share of the pictures most alike that must have a word, beyond that of all labelled ones."""

NEAREST = 25
"""Labelled pictures whose words are looked at."""

FIRST = 5
"""Pictures most alike that the reason speaks of, where some of them have the word."""

DOUBT = 0.5
"""What speaks for nothing, in pictures: a single one far away does not carry a word."""

FEW = 10
"""Labelled pictures that say nothing are added to those there are, for a word's own share."""

SAMPLE = 1000
"""Pictures that tell how alike any two are."""

KNOWN = "built-in word"
"""What speaks for a start word."""

MAX_START = 4
"""Start words that are suggested at most."""

_MIN_SPREAD = 1e-9

_key = lru_cache(1 << 16)(word_key)


def suggest(session: Session, ref: Ref, k: int, by: str | None, who: str) -> list[Suggestion]:
    """Return words that may suit a picture or a kept query and were not said of it, best first.

    They come from the annotator, as far as it is sure, and from the labelled pictures most alike by
    what searches use now: so a word given a moment ago is suggested for pictures like that one
    before anything is learned anew. There, a word counts by the share of those pictures that have
    it beyond the share of all labelled pictures that do. Where a word was refused for pictures
    most alike, that counts against it. Start words that were not learned come last, the most
    telling first. What the person who asks said counts as if everybody's labels had it.

    Raises
    ------
    NotFound
        If there is no such picture or query.
    """
    check_whole("suggest", "k", k, 1)
    database, ranker = session.database, session.rankers.get(by, learned=False, who=who)
    lexicon = Lexicon.of(session, ranker, session.rankers.sound_annotator(ranker))
    own = people.own_words(database, who)
    vector = ranker.source(database).ask(Ask((ref,)))
    keys = _keys(database, ref) | {key for number, key in own if number == ref}
    tags = _tags(lexicon, ref, keys, int(k))
    near = _neighbours(ranker, database, vector, ref, {number for number, _ in own})
    labels = stored.labels(database, near)
    for (number, key), one in own.items():
        if number in near:
            others = [name for name in labels.pop(number, []) if _key(name) != key]
            if names := [*others, *([one.word] if one.shows else [])]:
                labels[number] = names
    having = _holders((number, name) for number, names in labels.items() for name in names)
    refusing = stored.refusals(database, near)
    for (number, key), one in own.items():
        if number in near:
            (set.discard if one.shows else set.add)(refusing.setdefault(key, set()), number)
    spelled = {_key(name): name for names in labels.values() for name in names}
    seen = {name for names in labels.values() for name in names}
    used = stored.label_counts(database, seen | {tag.word for tag in tags.values()})
    labelled = stored.count_labelled(database)
    result: list[tuple[float, str, Suggestion]] = []
    source: Source
    places = {key: place for place, key in enumerate(tags)}
    for key in (tags.keys() | having.keys()) - keys:
        name, count = used.get(key, (spelled.get(key, ""), 0))
        yes, no = having.get(key, set()), refusing.get(key, set())
        total = sum(near[number] for number in labels.keys() | no) + DOUBT
        against = sum(near[number] for number in no) / total
        support = sum(near[number] for number in yes) / total - count / (labelled + FEW)
        tag = tags.get(key)
        word, confidence = (name, None) if tag is None else (tag.word, tag.confidence)
        # Only what an annotator is sure of is a probability, so only that is told as one; and what
        # is told is what words are sorted by.
        gain = None if confidence is None else confidence - against
        if gain is not None and gain < MIN_CONFIDENCE:
            gain = None
        worth = support if gain is None else gain
        if support >= MIN_SUPPORT:
            source, why = (
                "similar",
                _reason_text([number in yes for number in near if number in labels]),
            )
        elif gain is None or tag is None:
            continue
        elif tag.source == "learned":
            pictures = "picture" if count == 1 else "pictures"
            source = "learned"
            why = f"learned from {count:,} {pictures}" if count else "learned before"
        else:
            # After all others, in their own order.
            source, why, worth = "start", KNOWN, -1.0 - places[key]
        result.append((-worth, key, Suggestion(word, gain, why, source)))
    return [suggestion for *_, suggestion in sorted(result, key=lambda it: it[:2])[: int(k)]]


def _reason_text(has: list[bool]) -> str:
    """Return how many of the pictures most alike have a word.

    Examples
    --------
    >>> _reason_text([False, True, True])
    '2 of the 3 most similar labelled pictures have it'
    """
    some = has[:FIRST] if any(has[:FIRST]) else has
    if len(some) == 1:
        return "the most similar labelled picture has it"
    everyone = "both" if len(some) == 2 else f"all {len(some)}"
    many = everyone if all(some) else f"{sum(some)} of the {len(some)}"
    return f"{many} most similar labelled pictures {'has' if sum(some) == 1 else 'have'} it"


def _keys(database: Database, ref: Ref) -> set[str]:
    """Return the keys of the words that a picture has or was refused; none of a kept query."""
    return stored.keys_of(database, ref) if isinstance(ref, int) else set()


def _tags(lexicon: Lexicon, ref: Ref, keys: Set[str], k: int) -> dict[str, PictureTag]:
    """Return the words that a picture or a kept query probably shows, but for some, by their keys.

    Learned words come first, then start words, a few.
    """
    nothing = np.zeros(0, np.int64)
    if isinstance(ref, str):
        records = [query_record(lexicon.database, lexicon.ranker.id, ref) or b""]
    else:
        records = rankers.records(lexicon.database, lexicon.ranker.id, [ref])
    (learned,) = lexicon.learned_tags(nothing, records, k + len(keys), MIN_CONFIDENCE)
    (start,) = lexicon.start_tags(nothing, records, MIN_CONFIDENCE)
    start = [tag for tag in start if _key(tag.word) not in keys][:MAX_START]
    return {_key(tag.word): tag for tag in (*learned, *start)}


def _neighbours(
    ranker: Ranker, database: Database, vector: Vectors, ref: Ref, own: Set[int]
) -> dict[int, float]:
    """Return the pictures of which something was said that are most alike, and how each counts.

    Best first. One counts fully if it is as alike as the nearest of all pictures are, and not at
    all below the middle between these and what any picture has on average.
    """
    index, query = ranker.index, ranker.query(vector)
    alone = np.array([ref if isinstance(ref, int) else -1])
    hits = ranker.nearest(vector, 4 * NEAREST, exclude=alone, among=None, database=database)
    nearest = hits.ids[0] >= 0
    rows = np.unique(np.linspace(0, len(index) - 1, SAMPLE).astype(np.intp))
    rows = rows[index.ids[rows] != alone]
    if not nearest.any():
        return {}
    place = min(NEAREST, 1 + len(index) // 10, int(nearest.sum()))
    top = float(hits.scores[0, place - 1])
    any_two = index.scores(query, index.ids[rows]).ravel()
    middle = (top + float(any_two.mean())) / 2
    mine = np.array(sorted(own), np.int64)
    known = stored.with_words(database, hits.ids[0].tolist())
    spoken = np.isin(hits.ids[0], np.union1d(known, mine))
    if spoken.sum() < NEAREST < len(index):
        # Not among the nearest: those of which something was said are few, or far.
        among = np.union1d(stored.with_words(database), np.intersect1d(mine, index.ids))
        hits = index.search(query, NEAREST, exclude=alone, among=among)
        spoken = hits.ids[0] >= 0
    ids, alike = hits.ids[0][spoken][:NEAREST], hits.scores[0][spoken][:NEAREST]
    weights = np.clip(
        (alike.astype(np.float64) - middle) / max(top - middle, _MIN_SPREAD), 0.0, 1.0
    )
    return {int(n): float(w) for n, w in zip(ids, weights, strict=True) if w > 0}


def _holders(pairs: Iterable[tuple[int, str]]) -> dict[str, set[int]]:
    """Return the pictures of each word, however it is spelled."""
    result: dict[str, set[int]] = {}
    for number, word in pairs:
        result.setdefault(_key(word), set()).add(number)
    return result

"""Explain in sentences why a picture was found: what speaks for it, and what against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.start_words import MIN_SURE
from lookalike.collection.search.view_parts import view_parts
from lookalike.collection.store import models, pictures
from lookalike.collection.store.browsing import count
from lookalike.collection.store.database import Database
from lookalike.collection.store.filter import Filter
from lookalike.collection.store.labels import label_counts, labels_of
from lookalike.collection.store.places import places_of
from lookalike.collection.store.queries import Ask, Ref
from lookalike.collection.vectors.queries import read_ask
from lookalike.collection.votes.preferences import Preferences
from lookalike.core.checks import check_whole
from lookalike.core.errors import NotFound
from lookalike.core.text import shown, word_key
from lookalike.core.vectors import Vectors, dense
from lookalike.index.base import Index
from lookalike.similarity.cosine import Cosine

if TYPE_CHECKING:
    from lookalike.annotation.base import Annotator

NEARLY_THE_SAME = 0.95
"""The cosine above which two pictures are taken for nearly the same."""

COMMON = 0.5
"""A folder or day of more than this share of all pictures says nothing of two of them."""

MIN_MOVE = 0.001
"""How far a vote must move a score to be spoken of; scores are about as large as cosines."""

MIN_VIEW = 0.05
"""The share of what all views do that one must have to be named."""

FARTHER = 1.5
"""How many times farther up or down a picture must be moved to be spoken of."""

MAX_TAGS, MAX_WORDS, MAX_VIEWS = 3, 2, 2
"""Tags that are named at once; words that two pictures look like; views that speak for one."""

_CANDIDATES = 10
_NEAR = 1e-5
_FAR = 1e6

Scores = NDArray[np.float64]


def reasons(
    ranker: Ranker,
    annotator: Annotator | None,
    database: Database,
    ask: Ask,
    picture: int,
    k: int,
    named: Callable[[Ref], str] | None = None,
) -> list[str]:
    """Return at most ``k`` sentences on why a picture is found for what is asked.

    What people said of it comes first; then what it has in common with the examples, the rarest
    first; then what votes and labels taught, and how alike they look. Places count all pictures,
    as a search without a filter does. ``named`` gives what stands for a picture or kept query in
    them; by default the name of its file.

    Raises
    ------
    NotFound
        If the picture or an example is not there.
    """
    most = check_whole("reasons", "k", k, 1)
    sentences = Case(ranker, annotator, database, ask, picture, named).sentences()
    return list(islice(sentences, most))


@dataclass(frozen=True)
class Spoken:
    """What the votes on one query add to the score of a picture.

    Of the pictures they prefer and those they reject, ``better`` and ``worse`` add the most.
    """

    subject: str
    total: float
    better: Ref | None
    worse: Ref | None


def spoken(preferences: Preferences, query: Vectors, item: Vectors) -> Iterator[Spoken]:
    """Return what speaks most for an item and what most against it, of all that votes add."""
    subjects, names, sides, parts = preferences.turns.parts(query, item)
    if not subjects:
        return
    known = {subject: place for place, subject in enumerate(dict.fromkeys(subjects))}
    own = np.array([known[subject] for subject in subjects])
    totals = np.bincount(own, parts)
    for sign in (1, -1):
        most = int(np.argmax(sign * totals))
        if sign * totals[most] <= 0:
            continue
        subject = [*known][most]
        itself = np.array([name == subject for name in names])
        chosen = [np.flatnonzero((own == most) & (sides == side) & ~itself) for side in (1, -1)]
        better, worse = (names[s[np.argmax(sign * parts[s])]] if s.size else None for s in chosen)
        yield Spoken(subject, float(totals[most]), better, worse)


class Case:
    """A picture that was found for a query, and what there is to say of that."""

    def __init__(
        self,
        ranker: Ranker,
        annotator: Annotator | None,
        database: Database,
        ask: Ask,
        picture: int,
        named: Callable[[Ref], str] | None = None,
    ) -> None:
        self._ranker, self._annotator, self._database = ranker, annotator, database
        self._ask, self._picture, self._named = ask, picture, named
        self._examples = [ref for ref in ask.like if isinstance(ref, int)]
        source = ranker.source(database)
        known = source.vectors([picture])
        if picture not in known:
            raise NotFound(f"reasons: there is no picture {picture!s:.80}.")
        self._verdicts = ranker.votes.ledger.verdicts(str(ask))
        self._found = known[picture]
        self._asked = source.ask(ask)
        self._voted = source.ask(ask, self._verdicts) if self._verdicts else self._asked

    def sentences(self) -> Iterator[str]:
        """Return all there is to say, the most telling first."""
        yield from self._verdict()
        cosine = _cosine(self._asked, self._found)
        if cosine > NEARLY_THE_SAME:
            yield "Nearly the same picture."
        yield from self._tags()
        facts = [*self._days(), *self._folders()]
        yield from (answer for share, answer in sorted(facts) if share <= COMMON)
        yield from self._votes()
        yield from self._words()
        yield from self._views()
        yield from self._moves()
        if 0 < cosine <= NEARLY_THE_SAME:
            yield f"It looks similar ({cosine:.2f} of 1)."
        elif cosine <= 0:
            yield "Only slightly similar, and the rest are less so."

    def views(self) -> dict[str, float]:
        """Return how far each view lifts it above the average picture, in shares."""
        return view_parts(self._ranker, self._asked, self._found)

    def _verdict(self) -> Iterator[str]:
        sign = self._verdicts.get(self._picture)
        if sign is None:
            return
        side = "picked" if sign > 0 else "rejected"
        own = any(
            vote.who == "" and vote.sign(self._picture) == sign
            for vote in self._ranker.votes.ledger.by_subject.get(str(self._ask), ())
        )
        yield f"{'You' if own else 'Somebody'} {side} it for this search."

    @cached_property
    def _shared(self) -> dict[str, tuple[str, int]]:
        """The tags that it has in common with examples: by their keys, and with how many."""
        labels = labels_of(self._database, [self._picture, *self._examples])
        theirs = [{word_key(label) for label in labels[number]} for number in self._examples]
        own = {word_key(label): label for label in labels[self._picture]}
        having = {key: sum(key in some for some in theirs) for key in own}
        return {key: (own[key], having[key]) for key in own if having[key]}

    def _tags(self) -> Iterator[str]:
        if not self._shared:
            return
        used = label_counts(self._database, {label for label, _ in self._shared.values()})
        rarest = sorted(self._shared, key=lambda key: (used.get(key, ("", 0))[1], key))
        for having in sorted({having for _, having in self._shared.values()}, reverse=True):
            tags = [self._shared[key][0] for key in rarest if self._shared[key][1] == having]
            quoted = _listed([f"“{tag}”" for tag in tags[:MAX_TAGS]])
            if len(self._ask.like) == 1:
                yield f"Both are tagged {quoted}."
            else:
                yield f"It is tagged {quoted}, like {self._some(having)}."

    def _days(self) -> Iterator[tuple[float, str]]:
        taken = pictures.days(self._database, [self._picture, *self._examples])
        day = taken.get(self._picture)
        having = sum(taken.get(number) == day for number in self._examples)
        if day and having:
            same = count(self._database, Filter(taken_from=day, taken_to=day))
            whom = "" if len(self._ask.like) == 1 else f" as {self._some(having)}"
            yield self._share(same), f"Taken on the same day{whom}."

    def _folders(self) -> Iterator[tuple[float, str]]:
        places = places_of(self._database, [self._picture, *self._examples])
        theirs = [{place.parent for place in places.get(n, ())} for n in self._examples]
        for folder in dict.fromkeys(place.parent for place in places.get(self._picture, ())):
            having = sum(folder in some for some in theirs)
            # Where folders were taken for tags, that was said.
            if having and word_key(folder.name) not in self._shared:
                name = shown(folder.name or str(folder))
                text = f"Both are in the folder {name}."
                if len(self._ask.like) > 1:
                    text = f"It is in the same folder as {self._some(having)}, {name}."
                yield self._share(count(self._database, Filter(folder=str(folder)))), text

    def _votes(self) -> Iterator[str]:
        """Name the votes that move its score most, for it and against it."""
        preferences = self._ranker.votes
        if not preferences.standing.strength:
            return
        answer = sorted(
            spoken(preferences, self._voted, self._found), key=lambda it: -abs(it.total)
        )
        for part in answer:
            is_known = part.subject == str(self._ask) and self._picture in self._verdicts
            if is_known or abs(part.total) * preferences.standing.strength < MIN_MOVE:
                continue
            votes = preferences.ledger.by_subject[part.subject]
            one, own = len(votes) == 1, all(vote.who == "" for vote in votes)
            whose = (
                ("Your vote" if one else "Your votes") if own else ("A vote" if one else "Votes")
            )
            way = "up" if part.total > 0 else "down"
            yield f"{whose} on {self._subject(part)}, moved it {way}."

    def _subject(self, part: Spoken) -> str:
        ask = read_ask(part.subject)
        on = self._name(ask.like[0]) if len(ask.like) == 1 else "several examples"
        on = "this search" if ask == self._ask else on
        if part.better in (None, part.subject):
            return f"{on}, rejecting {self._name(part.worse)}"
        if part.worse is None:
            return f"{on}, preferring {self._name(part.better)}"
        return f"{on}, preferring {self._name(part.better)} to {self._name(part.worse)}"

    def _words(self) -> Iterator[str]:
        """Name words that the annotator is sure of for both."""
        if self._annotator is None or not self._annotator.has_confidence:
            return
        of_query, of_picture = (
            {
                word_key(tag.word): tag
                for (tags,) in [self._annotator.annotate(it, _CANDIDATES, min_confidence=MIN_SURE)]
                for tag in tags
            }
            for it in (self._asked, self._found)
        )
        keys = [key for key in of_picture if key in of_query and key not in self._shared]
        who = "Both look" if len(self._ask.like) == 1 else "It and the examples look"
        for key in keys[:MAX_WORDS]:
            one, other = (
                f"{100 * tag.confidence:.0f} %" for tag in (of_query[key], of_picture[key])
            )
            yield f"{who} like “{of_picture[key].word}” ({one} and {other} sure)."

    def _views(self) -> Iterator[str]:
        """Name the views that lift it most above the average picture."""
        views = self.views()
        parts = [(name, part) for name, part in views.items() if part >= MIN_VIEW]
        if parts and sum(views.values()) > 0:
            listed = _listed([f"{name} ({100 * part:.0f} %)" for name, part in parts[:MAX_VIEWS]])
            yield f"What sets it apart most is {listed}."

    def _moves(self) -> Iterator[str]:
        """Name how far it was moved by what was learned."""
        ranker = self._ranker
        before = self._place(ranker.plain, Cosine().query_vectors(self._asked))
        if ranker.number is not None:
            after = self._place(ranker.index, ranker.similarity.query_vectors(self._asked))
            source, _ = models.source_of(self._database, ranker.number)
            yield from _moved(f"What was learned from {source or 'labels'}", before, after)
            before = after
        if self._verdicts.get(self._picture, 0) < 0:
            return
        after = self._place(ranker.index, ranker.query(self._voted), self._verdicts)
        yield from _moved("What was learned from votes", before, after)

    def _place(
        self, index: Index, query: Vectors, verdicts: Mapping[int, int] = MappingProxyType({})
    ) -> int:
        """Return the place of the picture among all but the examples, as a search has it."""
        score = float(index.scores(query, np.array([self._picture]))[0, 0])
        scores = dense(index.vectors @ query.T).ravel() * index.scales
        near = np.flatnonzero(np.abs(scores - score) <= _NEAR * max(1.0, abs(score)))
        scores[near] = index.scores(query, index.ids[near])[0]
        # What was picked comes first, and what was rejected would come last.
        score += verdicts.get(self._picture, 0) * _FAR
        for number, sign in verdicts.items():
            scores[index.ids == number] += sign * _FAR
        apart = [ref for ref in (*self._ask.like, *self._ask.unlike) if isinstance(ref, int)]
        scores[np.isin(index.ids, np.array(apart, np.int64))] = -np.inf
        first = (scores > score) | ((scores == score) & (index.ids < self._picture))
        return 1 + int(first.sum())

    def _share(self, count: int) -> float:
        return count / max(len(self._ranker.plain), 1)

    def _some(self, having: int) -> str:
        total = len(self._ask.like)
        return "the examples" if having == total else f"{having} of the {total} examples"

    def _name(self, ref: Ref | None) -> str:
        if ref == self._picture:
            return "it"
        if self._named is not None and ref is not None:
            return self._named(ref)
        places = places_of(self._database, [ref]) if isinstance(ref, int) else {}
        return shown(places[ref][0].name) if ref in places else "a query picture"


def _moved(what: str, before: int, after: int) -> Iterator[str]:
    if before > FARTHER * after:
        yield f"{what} moved it up from rank {before:,} to {after:,}."
    elif after > FARTHER * before:
        yield f"{what} moved it down from rank {before:,} to {after:,}."


def _cosine(one: Any, other: Any) -> float:
    lengths = np.linalg.norm(dense(one)) * np.linalg.norm(dense(other))
    return float(dense(one @ other.T)[0, 0] / max(lengths, 1e-12))


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last

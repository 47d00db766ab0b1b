"""The votes of a ledger as one ranker computes with them: their pictures, vectors and people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.log.votes import Taught, Vote
from lookalike.collection.store.queries import Ref
from lookalike.collection.vectors.queries import VectorSource, combined, read_ask
from lookalike.collection.votes.members import Members, Rows
from lookalike.collection.votes.steps import fold_of
from lookalike.core.vectors import Vectors, stack_rows, unit_rows
from lookalike.similarity.base import Similarity

FAINT = 1e-4
"""Votes whose steps all reach a query by less than this are passed over."""


@dataclass(frozen=True)
class Lessons:
    """What a ranker computes with of all votes; adding gives a new one.

    Attributes
    ----------
    ranker : int
        The id of the ranker.
    similarity : Similarity
        What votes are put on.
    places : dict
        The rows of ``vectors`` and ``items`` for each picture and each query.
    people : dict
        The place of each person.
    vectors, items : Rows
        The vectors by which steps fade, and those as the similarity stores them, of unit length.
    members : Members
        The pictures of the votes.
    counts : array
        Which votes are the last of their person on their query.
    """

    ranker: int
    similarity: Similarity
    places: dict[Ref, int] = field(default_factory=dict)
    people: dict[str, int] = field(default_factory=dict)
    vectors: Rows = field(default_factory=Rows)
    items: Rows = field(default_factory=Rows)
    members: Members = field(default_factory=Members.none)
    counts: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))

    def extended(self, votes: Sequence[Vote], source: VectorSource) -> Lessons:
        """Add votes, with the vectors of their pictures."""
        own = [(vote, vote.taught[self.ranker]) for vote in votes if self.ranker in vote.taught]
        subjects = dict.fromkeys(vote.subject for vote, _ in own)
        asks = {subject: read_ask(subject) for subject in subjects}
        pictures = {picture for _, taught in own for picture in taught.pictures}
        vectors = source.vectors(
            {ref for ask in asks.values() for ref in (*ask.like, *ask.unlike)} | (pictures - {0})
        )
        # Votes on a query of which a picture was deleted count no more.
        queries: dict[Ref, Vectors] = {
            subject: combined(ask, {}, vectors)
            for subject, ask in asks.items()
            if all(ref in vectors for ref in (*ask.like, *ask.unlike))
        }
        counted = [(vote, taught) for vote, taught in own if vote.subject in queries]
        if not counted:
            return self
        there = vectors | queries
        # In the order votes name them, so that sums round alike however many are read at once.
        names = dict.fromkeys(
            name for vote, taught in counted for name in (vote.subject, *_names(vote, taught))
        )
        fresh = [name for name in names if name not in self.places and name in there]
        people = dict.fromkeys(vote.who for vote, _ in counted if vote.who not in self.people)
        grown = replace(
            self, people=self.people | {who: len(self.people) + k for k, who in enumerate(people)}
        )
        if fresh:
            rows = stack_rows([there[name] for name in fresh])
            items = unit_items(self.similarity, rows)
            extended = self.vectors.extended(rows)
            stored = extended if items is rows else self.items.extended(items)
            places = self.places | {name: len(self.places) + k for k, name in enumerate(fresh)}
            grown = replace(grown, places=places, vectors=extended, items=stored)
        members = self.members.extended(_columns(counted, grown))
        return replace(grown, members=members, counts=_counts(members, self.counts))

    def votes_of(self, who: str, subject: str) -> NDArray[np.intp]:
        """Return the place of the vote of a person on a query that counts; empty for none."""
        person, place = self.people.get(who, -1), self.places.get(subject, -1)
        is_own = (self.members.person.rows == person) & (self.members.subject.rows == place)
        return np.flatnonzero(is_own & self.counts)


def unit_items(similarity: Similarity, vectors: Vectors) -> Vectors:
    """Return vectors as a similarity stores them, of unit length; the same bits however many.

    A product with several rows rounds otherwise than one with a single row, so they are made
    one by one. Vectors are of unit length: where they are stored as they are, so are these.
    """
    stored: Any = similarity.stored_vectors(vectors)
    if isinstance(stored, np.ndarray) and np.may_share_memory(stored, vectors):
        return vectors
    rows = range(vectors.shape[0])
    units: Vectors = stack_rows(
        [unit_rows(similarity.stored_vectors(vectors[row : row + 1])) for row in rows]
    )
    return units


def _names(vote: Vote, taught: Taught) -> list[Ref]:
    """Return the pictures of a vote, its query by the name of that."""
    return [picture or vote.subject for picture in taught.pictures]


def _columns(votes: Sequence[tuple[Vote, Taught]], of: Lessons) -> dict[str, list[Any]]:
    """Return what :class:`Members` has of further votes, by the places of pictures and people."""
    new: dict[str, list[Any]] = {one.name: [] for one in fields(Members)}
    stop = len(of.members.item)
    for vote, taught in votes:
        names = _names(vote, taught)
        held = [k for k, name in enumerate(names) if name in of.places]
        picked = sum(k < taught.picked for k in held)
        steps = taught.steps[held].tolist()
        if taught.picked < len(names) and picked == len(held):
            # What it compared was deleted.
            steps = [0.0] * len(held)
        stop += len(held)
        new["item"] += [of.places[names[k]] for k in held]
        new["step"] += steps
        new["stop"].append(stop)
        new["picked"].append(picked)
        new["width"].append(taught.width)
        new["reach"].append(_reach(max(map(abs, steps), default=0.0), taught.width))
        new["person"].append(of.people[vote.who])
        new["fold"].append(fold_of(vote.subject))
        new["subject"].append(of.places[vote.subject])
    return new


def _counts(members: Members, before: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which votes count: a new one takes the place of that before it on the same query."""
    last = len(before)
    if len(members.stop) > last + 1:
        return members.last(len(members.stop))
    person, subject = members.person.rows, members.subject.rows
    is_replaced = (person[:last] == person[last]) & (subject[:last] == subject[last])
    return np.append(before & ~is_replaced, True)


def _reach(longest: float, width: float) -> float:
    """Return the least cosine with its picture at which a step is not faint; a little less."""
    if longest <= FAINT or not width:
        return -inf if longest > FAINT else inf
    return 1 - float(log(longest / FAINT) ** 0.5) / width - 1e-6

"""How votes turn a query; what is stored never changes.

Every picture a of a vote has a step τ and a direction d (:mod:`lookalike.collection.votes.steps`).
All of them together turn a query q by

    t(q) = Σ τ·k(q, a)·d + e(q),   k(q, a) = exp(−(γ(1 − cos(q, a)))²),

a sum over what is near the query, and what holds for every search
(:mod:`lookalike.collection.votes.spread`). Searches ask with u(q) + s·|u(q)|·t(q), where
u(q) is what the similarity asks with and s the strength that the gate allows; t is cut to the
length ``LIMIT``, so that however many votes there are, a ranking stays near what the pictures
themselves say. Directions are kept as the pictures they are made of, so that a search costs
4·(|A| + |P|)·d and a few passes over the votes near it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.log.votes import Vote
from lookalike.collection.store.people import OWNER
from lookalike.collection.store.queries import Ask, Ref
from lookalike.collection.vectors.queries import VectorSource
from lookalike.collection.votes._fast.weights import (
    Votes,
    near_votes,
    row_products,
    vote_sums,
    vote_weights,
    weighted_rows,
)
from lookalike.collection.votes.ledger import Ledger
from lookalike.collection.votes.lessons import FAINT, Lessons
from lookalike.collection.votes.spread import Spread
from lookalike.collection.votes.steps import Geometry, Weights, directions, fold_of
from lookalike.core import sparse as sp
from lookalike.core.vectors import Vectors, dense, stack_rows, unit_rows
from lookalike.similarity.base import Similarity

LIMIT = 0.8
"""The longest turn of a query, beside the length of what is asked with."""


@dataclass(frozen=True)
class Turns:
    """How votes turn queries; it never changes.

    ``people`` are 1 for each person whose votes are used, else 0, and ``spread`` how pictures that
    were picked together differ, None where vectors have many numbers. ``judges`` are the same of
    the owner and of the person whose layers these are: by what these two taught it is judged
    whether a person's votes are used, so that no other's votes count against them for ever.
    """

    lessons: Lessons
    people: Weights
    spread: Spread | None = None
    judges: tuple[Weights, Spread | None] = field(default_factory=lambda: (np.zeros(0), None))

    @classmethod
    def none(cls, ranker: int, similarity: Similarity) -> Turns:
        """Return how no votes turn the queries of a ranker."""
        return cls(Lessons(ranker, similarity), np.zeros(0))

    def extended(self, new: Sequence[Vote], ledger: Ledger, source: VectorSource) -> Turns:
        """Return the same with further votes, of which a ledger says whose are used."""
        lessons = self.lessons.extended(new, source)
        records = [ledger.records[lessons.ranker, who] for who in lessons.people]
        people = np.array([float(not record.is_worse) for record in records])
        own = np.array([float(who in {OWNER, ledger.of}) for who in lessons.people])
        return self._using(people, lessons, people * own)

    def without(self, who: str) -> Turns:
        """Return the same without the votes of a person."""
        people = self.people.copy()
        people[self.lessons.people[who]] = 0
        return self._using(people, self.lessons, self.judges[0])

    def _using(self, people: Weights, lessons: Lessons, judges: Weights) -> Turns:
        matrix, members = lessons.items.matrix, lessons.members
        spread = Spread.of(matrix, members, people, self.spread)
        own = spread
        if not np.array_equal(judges, people):
            own = Spread.of(matrix, members, judges, self.judges[1])
        return Turns(lessons, people, spread, (judges, own))

    @cached_property
    def _trust(self) -> Weights:
        """1 for each vote that is used, by whose it is; 0, if another took its place."""
        members = self.lessons.members
        return np.asarray(self.people[members.person.rows] * self.lessons.counts)

    @cached_property
    def _votes(self) -> Votes:
        of = self.lessons.members
        return Votes(
            *(of.item.rows, of.step.rows, of.stop.rows, of.picked.rows, of.width.rows),
            np.where(self.lessons.counts, of.reach.rows, inf),
        )

    def turned(self, queries: Vectors, query: Weights | None = None) -> Weights:
        """Return how votes turn queries, a row each.

        ``query`` is what the similarity asks with, where it is known.
        """
        units = dense(self.lessons.similarity.query_vectors(queries)) if query is None else query
        if not len(self.lessons.members.item):
            return np.zeros_like(units)
        rows, which = np.arange(len(units)), np.zeros(len(units), np.int64)
        return self._turned(queries, units, rows, which, self._trust[None], [(self.spread, None)])

    def added(self, queries: Vectors, query: Vectors | None = None) -> Weights:
        """Return what votes add, at full strength, to what the similarity asks with.

        ``query`` is that, where it is known.
        """
        whole = dense(self.lessons.similarity.query_vectors(queries) if query is None else query)
        lengths = np.linalg.norm(whole, axis=1, keepdims=True)
        added: Weights = lengths * self.turned(queries, whole)
        return added

    def apart(
        self, queries: Vectors, query: Weights, fold: int, own: NDArray[np.intp]
    ) -> tuple[Weights, Weights]:
        """Return how votes turn queries, and how those of other parts than one turn the first.

        The latter are those of who judges alone. ``own`` are votes that are left out of the former.
        """
        if not len(self.lessons.members.item):
            return np.zeros_like(query), np.zeros_like(query[:1])
        trust, (people, spread) = self._trust.copy(), self.judges
        trust[own] = 0
        members = self.lessons.members
        judging = people[members.person.rows] * self.lessons.counts * (members.fold.rows != fold)
        turned = self._turned(
            queries,
            query,
            np.array([*range(len(query)), 0]),
            np.array([*[0] * len(query), 1]),
            np.stack([trust, judging]),
            [(self.spread, None), (spread, fold)],
        )
        return turned[:-1], turned[-1:]

    def geometry(
        self, ask: Ask, pictures: Sequence[int], source: VectorSource, *, who: str
    ) -> Geometry:
        """Return the inner products of a query and pictures of a source; 0 is the query itself.

        What was learned is that without the votes of ``who`` on the same query: theirs is to take
        the place of these.
        """
        vector, others = source.ask_among(ask, [picture for picture in pictures if picture])
        whole: Any = stack_rows([others[it] if it else vector for it in pictures])
        lessons = self.lessons
        query = dense(lessons.similarity.query_vectors(whole))
        items = dense(lessons.similarity.item_vectors(whole))
        units = dense(unit_rows(lessons.similarity.stored_vectors(whole)))
        lengths = np.linalg.norm(query, axis=1)
        unit = np.maximum(lengths * np.linalg.norm(items, axis=1).mean(), 1e-12)[:, None]
        subject = str(ask)
        turned, first = self.apart(whole, query, fold_of(subject), lessons.votes_of(who, subject))
        return Geometry(
            near=dense(whole @ whole.T),
            gram=units @ units.T,
            base=query @ items.T / unit,
            learned=(lengths[:, None] * turned) @ items.T / unit,
            others=((lengths[:1, None] * first) @ items.T / unit[:1])[0],
        )

    def _turned(
        self,
        queries: Vectors,
        query: Weights,
        rows: NDArray[np.int64],
        which: NDArray[np.int64],
        trusts: Weights,
        spreads: Sequence[tuple[Spread | None, int | None]],
    ) -> Weights:
        """Return how votes turn the queries in some rows, near them and, by M⁻¹, everywhere.

        ``query`` is what the similarity asks with, and ``which``, for each of the rows, the row of
        weights of votes, and of the ``spreads`` with the part of the votes that M is without.
        """
        turns = self._turned_near(queries[rows], which, trusts)
        units = dense(unit_rows(query))[rows]
        for number, (spread, part) in enumerate(spreads):
            if spread is not None:
                own = which == number
                turns[own] += spread.turned(units[own], part)
        lengths = np.linalg.norm(turns, axis=1, keepdims=True)
        turns *= np.minimum(1.0, LIMIT / np.maximum(lengths, 1e-12))
        return turns

    def _turned_near(self, queries: Vectors, which: NDArray[np.int64], trusts: Weights) -> Weights:
        """Return how votes near queries turn them, before that is cut to a length."""
        cosines, matrix = self._cosines(queries), self.lessons.items.matrix
        near = self._near(cosines)
        used, sums = vote_sums(cosines, self._votes, trusts, which, near, FAINT, matrix.shape[0])
        if sp.issparse(matrix):
            return dense(sums @ matrix[used])
        turns: Weights = weighted_rows(sums, matrix, used)
        return turns

    def _cosines(self, queries: Vectors) -> NDArray[np.float32]:
        """Return the cosines of queries with the pictures of votes, a row each."""
        vectors = self.lessons.vectors.matrix
        if sp.issparse(vectors):
            return np.ascontiguousarray((vectors @ queries.T).toarray().T)
        products: NDArray[np.float32] = row_products(np.ascontiguousarray(queries), vectors)
        return products

    def _near(self, cosines: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the votes that are near one of the queries."""
        near = np.empty(len(self.lessons.members.stop), np.int64)
        return near[: near_votes(cosines.max(axis=0), self._votes, near)]

    def parts(
        self, queries: Vectors, item: Vectors
    ) -> tuple[list[str], list[Ref], Weights, Weights]:
        """Return what each picture of each vote near a query adds to an item's score.

        Returns
        -------
        subjects, names : list
            The query voted on and the picture.
        sides, parts : array
            +1 where the picture was preferred and -1 where it was rejected, and what it adds.
        """
        members = self.lessons.members
        count = len(members.item)
        if not count:
            return [], [], np.zeros(0), np.zeros(0)
        (cosines,) = self._cosines(queries)
        near = self._near(cosines[None])
        rows, weights = np.empty(count, np.int64), np.empty(count)
        filled = vote_weights(cosines, self._votes, self._trust, near, FAINT, rows, weights)
        moves = weights[:filled] != 0
        rows, weights = rows[:filled][moves], weights[:filled][moves]
        places = members.item.rows[rows]
        moved = dense(self.lessons.items.matrix[places])
        turn = weights @ moved
        query = dense(self.lessons.similarity.query_vectors(queries))
        if self.spread is not None:
            turn = turn + self.spread.turned(dense(unit_rows(query)))
        length = float(np.linalg.norm(turn))
        whole = dense(self.lessons.similarity.item_vectors(item))[0]
        scale = np.linalg.norm(query)
        parts = scale * min(1.0, LIMIT / max(length, 1e-12)) * weights * (moved @ whole)
        stops = members.stop.rows
        votes = np.searchsorted(stops, rows, side="right")
        starts = np.concatenate([[0], stops[:-1]])
        names = [*self.lessons.places]
        return (
            [str(names[place]) for place in members.subject.rows[votes].tolist()],
            [names[place] for place in places.tolist()],
            np.where(rows - starts[votes] < members.picked.rows[votes], 1.0, -1.0),
            np.asarray(parts),
        )

    def formula(self) -> dict[str, NDArray[np.float32]]:
        """Return the kernel's centres and widths, and what each adds, for use elsewhere."""
        members, places = self.lessons.members, self.lessons.places
        stops = members.stop.rows
        steps = members.step.rows * np.repeat(self._trust, np.diff(stops, prepend=0))
        centres: dict[tuple[int, float], int] = {}
        links: list[tuple[int, int, float]] = []
        items = members.item.rows.tolist()
        for number, (start, stop) in enumerate(pairwise([0, *stops.tolist()])):
            moves = directions(stop - start, int(members.picked.rows[number]))
            width = float(members.width.rows[number])
            for row, at in zip(moves, range(start, stop), strict=True):
                centre = centres.setdefault((items[at], width), len(centres))
                links += [
                    (centre, items[start + k], steps[at] * row[k]) for k in np.flatnonzero(row)
                ]
        rows, columns, weights = zip(*links, strict=True) if links else ((), (), ())
        move = sp.csr_matrix((weights, (rows, columns)), (len(centres), len(places)))
        near = dense(self.lessons.vectors.matrix)[[place for place, _ in centres]]
        matrix = None if self.spread is None else self.spread.matrix()
        return {
            "votes_near": near.astype(np.float32),
            "votes_width": np.array([width for _, width in centres], np.float32),
            "votes_move": (move @ dense(self.lessons.items.matrix)).astype(np.float32),
            **({} if matrix is None else {"votes_matrix": matrix.astype(np.float32)}),
        }

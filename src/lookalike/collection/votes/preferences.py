"""What votes add to a search: a turn of the query, never a change of what is stored.

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
from copy import copy
from dataclasses import fields
from functools import cached_property
from itertools import pairwise
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.log.votes import Taught, Vote
from lookalike.collection.store.queries import Ask, Ref
from lookalike.collection.vectors.queries import VectorSource, combined, read_ask
from lookalike.collection.votes._fast.weights import (
    Votes,
    near_votes,
    row_products,
    vote_sums,
    vote_weights,
    weighted_rows,
)
from lookalike.collection.votes.gate import HeldLabels
from lookalike.collection.votes.ledger import Judged, Ledger, Standing
from lookalike.collection.votes.members import Members, Rows
from lookalike.collection.votes.spread import WIDEST as WIDEST_SPREAD
from lookalike.collection.votes.spread import Spread
from lookalike.collection.votes.steps import POWER, Geometry, Weights, directions, fold_of
from lookalike.core import sparse as sp
from lookalike.core.vectors import Vectors, dense, stack_rows, unit_rows
from lookalike.similarity.base import Similarity

LIMIT = 0.8
"""The longest turn of a query, beside the length of what is asked with."""

FAINT = 1e-4
"""Votes whose steps all reach a query by less than this are passed over."""

MEAN_KERNEL = 1.5e-3
"""What the kernel is to be on average between two pictures of a collection.

It sets the width, wherever cosines lie, without a label (decision 13)."""

NEIGHBOURS = 10
"""Nearest pictures that are compared for what two pictures have in common."""

AMONG = 4096
"""Pictures of the collection among which these are looked for."""

SAMPLE = 500
NARROWEST, WIDEST = 25.0, 2.0


class Preferences:
    """What votes taught a ranker, over the vectors of one moment; it never changes.

    Parameters
    ----------
    ranker : int
        The id of the ranker.
    source : VectorSource
        Where vectors come from.
    similarity : Similarity
        What votes are put on.
    held : HeldLabels or None
        Labelled pictures to judge by as well.
    """

    def __init__(
        self,
        ranker: int,
        source: VectorSource,
        similarity: Similarity,
        held: HeldLabels | None = None,
    ) -> None:
        self.source, self.held = source, held
        self._ranker, self._similarity = ranker, similarity
        self._anchors, self._items, self._members = Rows(), Rows(), Members.none()
        self._places: dict[Ref, int] = {}
        self._people: dict[str, int] = {}
        self._latest: dict[tuple[str, str], tuple[int, ...]] = {}
        self._counts = np.zeros(0, bool)
        self._spread: Spread | None = None
        self.ledger = Ledger()

    def following(self, ledger: Ledger) -> Preferences:
        """Return what a ledger that goes on from this one comes to."""
        known = len(self.ledger.votes)
        goes_on = ledger.votes[:known] == self.ledger.votes
        if goes_on:
            following = copy(self)
            following.__dict__["_spread"] = self.__dict__.get("spread", self._spread)
            for name in ("spread", "standing", "_trust", "_votes"):
                following.__dict__.pop(name, None)
        else:
            following = Preferences(self._ranker, self.source, self._similarity, self.held)
            for name in ("width", "_some"):
                if name in self.__dict__:
                    following.__dict__[name] = self.__dict__[name]
        following.ledger = ledger
        following._add(ledger.votes[known if goes_on else 0 :])
        return following

    def over(self, source: VectorSource) -> Preferences:
        """Return the same over an index that has more pictures."""
        other = copy(self)
        other.source = source
        other.__dict__.pop("_some", None)
        return other

    def judged_by(self, held: HeldLabels | None) -> Preferences:
        """Return the same with other labelled pictures to judge by."""
        other = copy(self)
        other.held = held
        other.__dict__.pop("standing", None)
        return other

    def _add(self, votes: Sequence[Vote]) -> None:
        own = [(vote, vote.taught[self._ranker]) for vote in votes if self._ranker in vote.taught]
        subjects = dict.fromkeys(vote.subject for vote, _ in own)
        asks = {subject: read_ask(subject) for subject in subjects}
        pictures = {picture for _, taught in own for picture in taught.pictures}
        vectors = self.source.vectors(
            {ref for ask in asks.values() for ref in (*ask.like, *ask.unlike)} | (pictures - {0})
        )
        # Votes on a query of which a picture was deleted count no more.
        asked: dict[Ref, Vectors] = {
            subject: combined(ask, {}, vectors)
            for subject, ask in asks.items()
            if all(ref in vectors for ref in (*ask.like, *ask.unlike))
        }
        counted = [(vote, taught) for vote, taught in own if vote.subject in asked]
        # In the order votes name them, so that sums round alike however many are read at once.
        wanted = dict.fromkeys(
            name
            for vote, taught in counted
            for name in (vote.subject, *(p or vote.subject for p in taught.pictures))
            if name not in self._places
        )
        found = vectors | asked
        fresh = {name: found[name] for name in wanted if name in found}
        if fresh:
            start = len(self._places)
            self._places = self._places | {name: start + k for k, name in enumerate(fresh)}
            rows = stack_rows([*fresh.values()])
            items = self._unit_items(rows)
            self._anchors = self._anchors.extended(rows)
            self._items = self._anchors if items is rows else self._items.extended(items)
        self._people = self._people | {
            who: len(self._people) + k
            for k, who in enumerate(
                dict.fromkeys(vote.who for vote, _ in counted if vote.who not in self._people)
            )
        }
        self._replace(counted)
        new: dict[str, list[Any]] = {one.name: [] for one in fields(Members)}
        places, stop = self._places, len(self._members.item)
        for vote, taught in counted:
            names: list[Ref] = [picture or vote.subject for picture in taught.pictures]
            held = [k for k, name in enumerate(names) if name in places]
            own_places = [places[names[k]] for k in held]
            stop += len(held)
            picked, steps = taught.picked, taught.steps[held].tolist()
            sides = [0 if picked is None else 1 if k < picked else -1 for k in held]
            rejects = picked is None or picked < len(names)
            if picked is not None and rejects and -1 not in sides:
                # What it compared was deleted.
                steps = [0.0] * len(held)
            new["anchor"] += [places[vote.subject]] * len(held) if picked is None else own_places
            new["item"] += own_places
            new["side"] += sides
            new["step"] += steps
            new["number"].append(vote.number)
            new["stop"].append(stop)
            new["width"].append(taught.width)
            new["power"].append(POWER)
            longest = max(map(abs, steps), default=0.0)
            new["reach"].append(_reach(longest, taught.width, POWER))
            new["person"].append(self._people[vote.who])
            new["fold"].append(fold_of(vote.subject))
            new["subject"].append(places[vote.subject])
            new["rejects"].append(rejects)
        self._members = self._members.extended(new)

    def _replace(self, new: Sequence[tuple[Vote, Taught]]) -> None:
        """Let new votes take the place of those of the same person on the same query."""
        counts = np.concatenate([self._counts, np.ones(len(new), bool)])
        latest = dict(self._latest)
        for place, (vote, _) in enumerate(new, len(self._counts)):
            on = vote.who, vote.subject
            counts[[*latest.get(on, ())]] = False
            latest[on] = (place,)
        self._counts, self._latest = counts, latest

    @cached_property
    def width(self) -> float:
        """γ of the kernel, by the mean of the kernel between pictures of the collection."""
        X = self._sample(SAMPLE)
        cosines = dense(X @ X.T)[np.triu_indices(X.shape[0], 1)]
        narrow, wide = NARROWEST, WIDEST
        if not len(cosines):
            return float(np.sqrt(narrow * wide))
        for _ in range(20):
            middle = np.sqrt(narrow * wide)
            if np.exp(-((middle * (1 - cosines)) ** POWER)).mean() > MEAN_KERNEL:
                wide = middle
            else:
                narrow = middle
        return round(float(narrow), 2)

    def _sample(self, count: int) -> Vectors:
        """Return vectors of the collection, at most so many, from all over it."""
        ids = self.source.ids
        return self.source.take(ids[np.unique(np.linspace(0, len(ids) - 1, count).astype(np.intp))])

    @cached_property
    def _some(self) -> Vectors:
        """The pictures among which neighbours are looked for."""
        return self._sample(AMONG)

    def _in_common(self, asked: Vectors) -> Weights:
        """Return how many of its nearest pictures each query has in common with the first."""
        cosines = dense(asked @ self._some.T)
        nearest = np.argpartition(-cosines, min(NEIGHBOURS, cosines.shape[1]) - 1, axis=1)
        near = [{*row} for row in nearest[:, :NEIGHBOURS].tolist()]
        return np.array([len(near[0] & one) for one in near], np.float64)

    def unit_item(self, vector: Vectors) -> Vectors:
        """Return a vector as the similarity stores it, of unit length."""
        unit: Vectors = unit_rows(self._similarity.stored_vectors(vector))
        return unit

    def _unit_items(self, vectors: Vectors) -> Vectors:
        """Return what :meth:`unit_item` gives of each row; the same bits however many.

        A product with several rows rounds otherwise than one with a single row, so they are made
        one by one. Vectors are of unit length: where they are stored as they are, so are these.
        """
        stored: Any = self._similarity.stored_vectors(vectors)
        if isinstance(stored, np.ndarray) and np.may_share_memory(stored, vectors):
            return vectors
        rows = range(vectors.shape[0])
        units: Vectors = stack_rows([self.unit_item(vectors[row : row + 1]) for row in rows])
        return units

    @cached_property
    def _trust(self) -> Weights:
        """How much each vote weighs, by whose it is; nothing, if another took its place."""
        records = [self.ledger.records[self._ranker, who] for who in self._people]
        people = np.array([(record.unjudged, record.weight) for record in records])
        trust = people[self._members.person.rows, self._members.rejects.rows]
        return np.asarray(trust * self._counts)

    def turned(self, asked: Vectors) -> Weights:
        """Return how votes turn queries, a row each."""
        return self._turned_all(asked, dense(self._similarity.query_vectors(asked)))

    def _turned_all(self, asked: Vectors, query: Weights) -> Weights:
        """Return how votes turn queries, with which the similarity asks ``query``."""
        if not len(self._members.item):
            return np.zeros_like(query)
        each, everyone = np.arange(len(query)), np.zeros(len(query), np.int64)
        return self._turned(asked, query, each, everyone, self._trust[None], [None])

    @cached_property
    def spread(self) -> Spread | None:
        """How pictures that were picked together differ; None where vectors have many numbers."""
        items = self._items.matrix
        if sp.issparse(items) or items.shape[1] > WIDEST_SPREAD:
            return None
        before = Spread.none(items.shape[1]) if self._spread is None else self._spread
        records = [self.ledger.records[self._ranker, who] for who in self._people]
        return before.following(items, self._members, records)

    def _turned(
        self,
        asked: Vectors,
        query: Weights,
        rows: NDArray[np.int64],
        which: NDArray[np.int64],
        trusts: Weights,
        without: Sequence[int | None],
    ) -> Weights:
        """Return how votes turn the queries in some rows, near them and, by M⁻¹, everywhere.

        ``query`` is what the similarity asks with, and ``which``, for each of the rows, the row of
        weights of votes and the part of them that M is ``without``.
        """
        turns = self._turned_near(asked[rows], which, trusts)
        if self.spread is not None:
            units = dense(unit_rows(query))[rows]
            for number, part in enumerate(without):
                own = which == number
                turns[own] += self.spread.turned(units[own], part)
        lengths = np.linalg.norm(turns, axis=1, keepdims=True)
        turns *= np.minimum(1.0, LIMIT / np.maximum(lengths, 1e-12))
        return turns

    def _turned_near(self, asked: Vectors, which: NDArray[np.int64], trusts: Weights) -> Weights:
        """Return how votes near queries turn them, before that is cut to a length."""
        cosines, matrix = self._cosines(asked), self._items.matrix
        used, sums = vote_sums(
            *(cosines, self._votes, trusts, which),
            *(self._near(cosines), FAINT, self._members.item.rows, matrix.shape[0]),
        )
        if sp.issparse(matrix):
            return dense(sums @ matrix[used])
        turns: Weights = weighted_rows(sums, matrix, used)
        return turns

    def _cosines(self, asked: Vectors) -> NDArray[np.float32]:
        """Return the cosines of queries with the anchors, a row each."""
        anchors = self._anchors.matrix
        if sp.issparse(anchors):
            return np.ascontiguousarray((anchors @ asked.T).toarray().T)
        products: NDArray[np.float32] = row_products(np.ascontiguousarray(asked), anchors)
        return products

    @cached_property
    def _votes(self) -> Votes:
        of = self._members
        return Votes(
            *(of.anchor.rows, of.side.rows, of.step.rows, of.stop.rows),
            *(of.width.rows, of.power.rows, np.where(self._counts, of.reach.rows, inf)),
        )

    def _near(self, cosines: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the votes that are near one of the queries."""
        every = np.arange(len(self._members.stop))
        near = np.empty_like(every)
        return near[: near_votes(cosines.max(axis=0), self._votes, every, near)]

    def added(self, asked: Vectors, query: Vectors | None = None) -> Weights:
        """Return what votes add, at full strength, to what the similarity asks with.

        ``query`` is that, where it is known.
        """
        known = dense(self._similarity.query_vectors(asked) if query is None else query)
        lengths = np.linalg.norm(known, axis=1, keepdims=True)
        added: Weights = lengths * self._turned_all(asked, known)
        return added

    def parts(self, asked: Vectors, item: Vectors) -> tuple[list[str], list[Ref], Weights, Weights]:
        """Return what each picture of each vote near a query adds to an item's score.

        Returns
        -------
        subjects, names : list
            The query voted on and the picture.
        sides, parts : array
            +1 where the picture was preferred and -1 where it was rejected, and what it adds.
        """
        if not len(self._members.item):
            return [], [], np.zeros(0), np.zeros(0)
        (cosines,) = self._cosines(asked)
        near = self._near(cosines[None])
        rows, weights = (
            np.empty(len(self._members.item), np.int64),
            np.empty(len(self._members.item)),
        )
        found = vote_weights(cosines, self._votes, self._trust, near, FAINT, rows, weights)
        rows, weights = rows[:found][weights[:found] != 0], weights[:found][weights[:found] != 0]
        places, side = self._members.item.rows[rows], self._members.side.rows[rows]
        moved = dense(self._items.matrix[places])
        turn = weights @ moved
        query = dense(self._similarity.query_vectors(asked))
        if self.spread is not None:
            turn = turn + self.spread.turned(dense(unit_rows(query)))
        length = float(np.linalg.norm(turn))
        whole = dense(self._similarity.item_vectors(item))[0]
        scale = np.linalg.norm(query)
        parts = scale * min(1.0, LIMIT / max(length, 1e-12)) * weights * (moved @ whole)
        subject_of = {vote.number: vote.subject for vote in self.ledger.votes}
        votes = np.searchsorted(self._members.stop.rows, rows, side="right")
        numbers = self._members.number.rows[votes].tolist()
        names = [*self._places]
        return (
            [subject_of[number] for number in numbers],
            [names[place] for place in places.tolist()],
            np.where(side, side, np.sign(weights)),
            np.asarray(parts),
        )

    def formula(self) -> dict[str, NDArray[np.float32]]:
        """Return the kernel's centres and widths, and what each adds, for use elsewhere."""
        members = self._members
        stops = members.stop.rows
        steps = members.step.rows * np.repeat(self._trust, np.diff(stops, prepend=0))
        centres: dict[tuple[int, float, int], int] = {}
        links: list[tuple[int, int, float]] = []
        anchor, item, side = members.anchor.rows, members.item.rows, members.side.rows
        for number, (start, stop) in enumerate(pairwise([0, *stops.tolist()])):
            older = stop > start and side[start] == 0
            picked = int(np.count_nonzero(side[start:stop] > 0))
            moves = np.eye(stop - start) if older else directions(stop - start, picked)
            kernel = (float(members.width.rows[number]), int(members.power.rows[number]))
            for row, at in zip(moves, range(start, stop), strict=True):
                centre = centres.setdefault((int(anchor[at]), *kernel), len(centres))
                links += [
                    (centre, int(item[start + k]), steps[at] * row[k]) for k in np.flatnonzero(row)
                ]
        rows, columns, weights = zip(*links, strict=True) if links else ((), (), ())
        shape = (len(centres), len(self._places))
        matrix = None if self.spread is None else self.spread.matrix()
        move = sp.csr_matrix((weights, (rows, columns)), shape) @ dense(self._items.matrix)
        return {
            "votes_near": dense(self._anchors.matrix)[[a for a, _, _ in centres]].astype(
                np.float32
            ),
            "votes_width": np.array([width for _, width, _ in centres], np.float32),
            "votes_power": np.array([power for _, _, power in centres], np.float32),
            "votes_move": move.astype(np.float32),
            **({} if matrix is None else {"votes_matrix": matrix.astype(np.float32)}),
        }

    def geometry(
        self, ask: Ask, pictures: Sequence[int], *, who: str, second_view: bool
    ) -> Geometry:
        """Return the inner products of a query and pictures; 0 stands for the query itself.

        What was learned is that without the votes of ``who`` on the same query: theirs is to take
        the place of these. ``second_view`` asks for the nearest pictures that they have in common
        as well.
        """
        named = [picture for picture in pictures if picture]
        vector, found = self.source.ask_among(ask, named)
        each = [found[picture] if picture else vector for picture in pictures]
        whole: Any = stack_rows(each)
        query = dense(self._similarity.query_vectors(whole))
        items = dense(self._similarity.item_vectors(whole))
        units = dense(self.unit_item(whole))
        lengths = np.linalg.norm(query, axis=1)
        unit = np.maximum(lengths * np.linalg.norm(items, axis=1).mean(), 1e-12)[:, None]
        own = self._latest.get((who, str(ask)), ())
        turned, others = self._taught(whole, query, fold_of(str(ask)), own)
        return Geometry(
            near=dense(whole @ whole.T),
            gram=units @ units.T,
            base=query @ items.T / unit,
            learned=(lengths[:, None] * turned) @ items.T / unit,
            others=((lengths[:1, None] * others) @ items.T / unit[:1])[0],
            in_common=self._in_common(whole) if second_view else None,
        )

    def _taught(
        self, asked: Vectors, query: Weights, fold: int, own: Sequence[int] = ()
    ) -> tuple[Weights, Weights]:
        """Return how votes turn queries, and how those of other parts than one turn the first.

        ``own`` are votes that are left out of the former.
        """
        if not len(self._members.item):
            return np.zeros_like(query), np.zeros_like(query[:1])
        trust = self._trust.copy()
        trust[[*own]] = 0
        turned = self._turned(
            asked,
            query,
            np.array([*range(len(query)), 0]),
            np.array([*[0] * len(query), 1]),
            np.stack([trust, self._trust * (self._members.fold.rows != fold)]),
            [None, fold],
        )
        return turned[:-1], turned[-1:]

    @cached_property
    def standing(self) -> Standing:
        """Judge what votes taught: by votes that were not learned from, and by labels."""
        held = self.held if self.ledger.votes else None
        labels = Judged() if held is None else held.judge(self.added)
        return self.ledger.standing(self._ranker, labels)


def _reach(longest: float, width: float, power: int) -> float:
    """Return the least cosine with its anchor at which a step is not faint; a little less."""
    if longest <= FAINT or not width:
        return -inf if longest > FAINT else inf
    return 1 - float(log(longest / FAINT) ** (1 / power)) / width - 1e-6

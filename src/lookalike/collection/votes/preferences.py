"""What votes add to a search: a turn of the query, never a change of what is stored.

Every picture a of a vote has a step τ and a direction d (:mod:`lookalike.collection.votes.steps`).
All of them together turn a query q by

    t(q) = Σ τ·k(q, a)·d,   k(q, a) = exp(−γ(1 − cos(q, a))),

a sum over what is near the query and over nothing else. Searches ask with u(q) + s·|u(q)|·t(q),
where u(q) is what the similarity asks with and s the strength that the gate allows; t is cut to the
length ``LIMIT``, so that however many votes there are, a ranking stays near what the pictures
themselves say. Directions are kept as the pictures they are made of, so that a search costs
4·(|A| + |P|)·d and a few passes over the votes near it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.collection.answers import Ask, Ref, Standing
from lookalike.collection.search.queries import VectorSource, read_ask
from lookalike.collection.votes._fast.weights import vote_weights
from lookalike.collection.votes.gate import HeldLabels, judged
from lookalike.collection.votes.ledger import Ledger, Vote
from lookalike.collection.votes.steps import Geometry, Weights, directions, fold_of
from lookalike.core import sparse as sp
from lookalike.core.errors import NotFound
from lookalike.core.vectors import Vectors, dense, stack_rows, unit_rows
from lookalike.index.growing import GrowingArray
from lookalike.similarity.base import Similarity

LIMIT = 0.6
"""The longest turn of a query, beside the length of what is asked with."""

FAINT = 1e-3
"""Votes whose steps all reach a query by less than this are passed over."""

MEAN_KERNEL = 5e-4
"""What the kernel is to be on average between two pictures of a collection.

It sets the width, wherever cosines lie: on half of each picture set the best widths (12 to 15, 8 to
20 and 8 to 12) are those that this gives (12.5, 14 and 10), without a label."""

_GATHERED = 4

SAMPLE = 500
NARROWEST, WIDEST = 40.0, 4.0


class Rows:
    """Vectors under names, in the order they came; adding gives a new one."""

    def __init__(self) -> None:
        self.places: dict[Ref, int] = {}
        self._dense: GrowingArray[np.float32] | None = None
        self._sparse: Any = None

    @property
    def matrix(self) -> Any:
        """A row each."""
        return self._sparse if self._dense is None else self._dense.rows

    def extended(self, new: dict[Ref, Vectors]) -> Rows:
        """Add vectors under new names."""
        fresh = {name: vector for name, vector in new.items() if name not in self.places}
        if not fresh:
            return self
        rows = Rows()
        start = len(self.places)
        rows.places = self.places | {name: start + k for k, name in enumerate(fresh)}
        parts: list[Any] = list(fresh.values())
        if sp.issparse(parts[0]):
            before = [] if self._sparse is None else [self._sparse]
            rows._sparse = sp.csr_matrix(sp.vstack([*before, *parts]))
        elif self._dense is None:
            rows._dense = GrowingArray(np.vstack(parts))
        else:
            rows._dense = self._dense.extended(np.vstack(parts))
        return rows


@dataclass(frozen=True)
class Members:
    """The pictures of all votes, one row each; adding gives a new one.

    ``anchor`` and ``item`` are the places of their vectors, ``side`` is +1, -1, or 0 in votes of
    older logs, and ``step`` the lengths of their steps. A vote has its number in the log, the row
    after its last picture, a width, a person, and the part it belongs to.
    """

    anchor: GrowingArray[np.int64]
    item: GrowingArray[np.int64]
    side: GrowingArray[np.int64]
    step: GrowingArray[np.float64]
    number: GrowingArray[np.int64]
    stop: GrowingArray[np.int64]
    width: GrowingArray[np.float64]
    person: GrowingArray[np.int64]
    fold: GrowingArray[np.int64]

    @classmethod
    def none(cls) -> Members:
        """Start without any."""
        kinds: dict[str, Any] = {"step": np.float64, "width": np.float64}
        return cls(
            **{
                one.name: GrowingArray(np.zeros(0, kinds.get(one.name, np.int64)))
                for one in fields(cls)
            }
        )

    def extended(self, new: Mapping[str, ArrayLike]) -> Members:
        """Add the pictures of votes."""
        return Members(
            **{name: getattr(self, name).extended(np.asarray(it)) for name, it in new.items()}
        )


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
        self._people: dict[str, int] = {}
        self.ledger = Ledger()

    def following(self, ledger: Ledger) -> Preferences:
        """Return what a ledger that goes on from this one comes to."""
        known = len(self.ledger.votes)
        goes_on = ledger.votes[:known] == self.ledger.votes
        following = Preferences(self._ranker, self.source, self._similarity, self.held)
        if goes_on:
            following._anchors, following._items = self._anchors, self._items
            following._members, following._people = self._members, self._people
        if "width" in self.__dict__:
            following.__dict__["width"] = self.width
        following.ledger = ledger
        following._add(ledger.votes[known if goes_on else 0 :])
        return following

    def over(self, source: VectorSource) -> Preferences:
        """Return the same over an index that has more pictures."""
        other = copy(self)
        other.source = source
        return other

    def judged_by(self, held: HeldLabels | None) -> Preferences:
        """Return the same with other labelled pictures to judge by."""
        other = copy(self)
        other.held = held
        other.__dict__.pop("standing", None)
        return other

    def _add(self, votes: Sequence[Vote]) -> None:
        own = [(vote, vote.taught[self._ranker]) for vote in votes if self._ranker in vote.taught]
        asked: dict[Ref, Vectors] = {}
        for subject in dict.fromkeys(vote.subject for vote, _ in own):
            # Votes on a query of which a picture was deleted count no more.
            with suppress(NotFound):
                asked[subject] = self.source.ask(read_ask(subject))
        counted = [(vote, taught) for vote, taught in own if vote.subject in asked]
        # In the order votes name them, so that sums round alike however many are read at once.
        wanted = dict.fromkeys(
            p or vote.subject for vote, taught in counted for p in (0, *taught.pictures)
        )
        found = asked | self.source.vectors(name for name in wanted if isinstance(name, int))
        fresh = {
            name: found[name]
            for name in wanted
            if name in found and name not in self._anchors.places
        }
        self._anchors = self._anchors.extended(fresh)
        self._items = self._items.extended({name: self.unit_item(it) for name, it in fresh.items()})
        self._people = self._people | {
            who: len(self._people) + k
            for k, who in enumerate(
                dict.fromkeys(vote.who for vote, _ in counted if vote.who not in self._people)
            )
        }
        new: dict[str, list[Any]] = {one.name: [] for one in fields(Members)}
        places, stop = self._anchors.places, len(self._members.item)
        for vote, taught in counted:
            names: list[Ref] = [picture or vote.subject for picture in taught.pictures]
            held = [k for k, name in enumerate(names) if name in places]
            rows = [places[names[k]] for k in held]
            stop += len(rows)
            older = taught.picked is None
            new["anchor"] += [places[vote.subject]] * len(rows) if older else rows
            new["item"] += rows
            new["side"] += [
                0 if taught.picked is None else 1 if k < taught.picked else -1 for k in held
            ]
            new["step"] += taught.steps[held].tolist()
            new["number"].append(vote.number)
            new["stop"].append(stop)
            new["width"].append(taught.width)
            new["person"].append(self._people[vote.who])
            new["fold"].append(fold_of(vote.subject))
        self._members = self._members.extended(new)

    @cached_property
    def width(self) -> float:
        """γ of the kernel, by the mean of the kernel between pictures of the collection."""
        ids = self.source.ids
        some = ids[np.unique(np.linspace(0, len(ids) - 1, SAMPLE).astype(np.intp))]
        X = self.source.take(some)
        cosines = dense(X @ X.T)[np.triu_indices(len(some), 1)]
        narrow, wide = NARROWEST, WIDEST
        if not len(cosines):
            return float(np.sqrt(narrow * wide))
        for _ in range(20):
            middle = np.sqrt(narrow * wide)
            if np.exp(-middle * (1 - cosines)).mean() > MEAN_KERNEL:
                wide = middle
            else:
                narrow = middle
        return round(float(narrow), 2)

    @cached_property
    def trust(self) -> dict[str, float]:
        """How much the votes of each person weigh, from 0 to 1."""
        records = self.ledger.records
        return {who: records[self._ranker, who].weight for who in self._people}

    def unit_item(self, vector: Vectors) -> Vectors:
        """Return a vector as the similarity stores it, of unit length."""
        unit: Vectors = unit_rows(self._similarity.stored_vectors(vector))
        return unit

    def turned(self, asked: Vectors, without: int | None = None) -> Weights:
        """Return how votes turn queries, a row each; all votes, or those of other parts."""
        if not len(self._members.item):
            return np.zeros((asked.shape[0], self._similarity.query_vectors(asked[:1]).shape[1]))
        places, matrix = self._members.item.rows, self._items.matrix
        rows = [np.bincount(places, row, matrix.shape[0]) for row in self._weights(asked, without)]
        sums = np.array(rows, np.float32)
        used = np.flatnonzero(sums.any(axis=0))
        # Rows are gathered only where that is less work than to multiply with all of them.
        if _GATHERED * len(used) < matrix.shape[0]:
            turns = dense(sums[:, used] @ matrix[used])
        else:
            turns = dense(sums @ matrix)
        lengths = np.linalg.norm(turns, axis=1, keepdims=True)
        turns *= np.minimum(1.0, LIMIT / np.maximum(lengths, 1e-12))
        return turns

    def _weights(self, asked: Vectors, without: int | None = None) -> Iterator[Weights]:
        """Return, for each query, how much of each picture of each vote turns it.

        The directions of :func:`~lookalike.collection.votes.steps.directions`, summed up by vote.
        """
        members = self._members
        trust = np.array([self.trust[who] for who in self._people])[members.person.rows]
        if without is not None:
            trust = trust * (members.fold.rows != without)
        widths, own = np.unique(members.width.rows, return_inverse=True)
        for cosines in dense(asked @ self._anchors.matrix.T):
            # Far fewer than pictures of votes, since good pictures are voted on again and again.
            kernels = np.exp(np.outer(widths, np.minimum(cosines, 1.0) - 1.0))
            weights = np.empty(len(members.item))
            vote_weights(
                kernels,
                members.anchor.rows,
                members.side.rows,
                members.step.rows,
                members.stop.rows,
                own,
                trust,
                FAINT,
                weights,
            )
            yield weights

    def added(self, asked: Vectors) -> Weights:
        """Return what votes add, at full strength, to what the similarity asks with."""
        lengths = np.linalg.norm(dense(self._similarity.query_vectors(asked)), axis=1)
        added: Weights = lengths[:, None] * self.turned(asked)
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
        (every,) = self._weights(asked)
        rows = np.flatnonzero(every)
        weights = every[rows]
        places, side = self._members.item.rows[rows], self._members.side.rows[rows]
        moved = dense(self._items.matrix[places])
        length = float(np.linalg.norm(weights @ moved))
        whole = dense(self._similarity.item_vectors(item))[0]
        scale = np.linalg.norm(dense(self._similarity.query_vectors(asked)))
        parts = scale * min(1.0, LIMIT / max(length, 1e-12)) * weights * (moved @ whole)
        subject_of = {vote.number: vote.subject for vote in self.ledger.votes}
        votes = np.searchsorted(self._members.stop.rows, rows, side="right")
        numbers = self._members.number.rows[votes].tolist()
        names = [*self._items.places]
        return (
            [subject_of[number] for number in numbers],
            [names[place] for place in places.tolist()],
            np.where(side, side, np.sign(weights)),
            np.asarray(parts),
        )

    def formula(self) -> dict[str, NDArray[np.float32]]:
        """Return the kernel's centres and widths, and what each adds, for use elsewhere."""
        members = self._members
        trust = np.array([self.trust[who] for who in self._people])
        stops = members.stop.rows
        weight = np.repeat(trust[members.person.rows], np.diff(stops, prepend=0))
        steps = members.step.rows * weight
        centres: dict[tuple[int, float], int] = {}
        links: list[tuple[int, int, float]] = []
        anchor, item, side = members.anchor.rows, members.item.rows, members.side.rows
        for number, (start, stop) in enumerate(pairwise([0, *stops.tolist()])):
            older = stop > start and side[start] == 0
            picked = int(np.count_nonzero(side[start:stop] > 0))
            moves = np.eye(stop - start) if older else directions(stop - start, picked)
            width = float(members.width.rows[number])
            for row, at in zip(moves, range(start, stop), strict=True):
                centre = centres.setdefault((int(anchor[at]), width), len(centres))
                links += [
                    (centre, int(item[start + k]), steps[at] * row[k]) for k in np.flatnonzero(row)
                ]
        rows, columns, weights = zip(*links, strict=True) if links else ((), (), ())
        shape = (len(centres), len(self._items.places))
        move = sp.csr_matrix((weights, (rows, columns)), shape) @ dense(self._items.matrix)
        return {
            "votes_near": dense(self._anchors.matrix)[[a for a, _ in centres]].astype(np.float32),
            "votes_width": np.array([width for _, width in centres], np.float32),
            "votes_move": move.astype(np.float32),
        }

    def geometry(self, ask: Ask, pictures: Sequence[int]) -> Geometry:
        """Return the inner products of a query and pictures; 0 stands for the query itself."""
        vector = self.source.ask(ask)
        found = self.source.vectors(picture for picture in pictures if picture)
        each = [found[picture] if picture else vector for picture in pictures]
        whole: Any = stack_rows(each)
        query = dense(self._similarity.query_vectors(whole))
        items = dense(self._similarity.item_vectors(whole))
        units = dense(self.unit_item(whole))
        lengths = np.linalg.norm(query, axis=1)
        unit = np.maximum(lengths * np.linalg.norm(items, axis=1).mean(), 1e-12)[:, None]
        turned = lengths[:, None] * self.turned(whole)
        others = lengths[:1, None] * self.turned(vector, without=fold_of(str(ask)))
        return Geometry(
            near=dense(whole @ whole.T),
            gram=units @ units.T,
            base=query @ items.T / unit,
            learned=turned @ items.T / unit,
            others=(others @ items.T / unit[:1])[0],
        )

    @cached_property
    def standing(self) -> Standing:
        """Judge what votes taught: by votes that were not learned from, and by labels."""
        records = {
            who: record
            for (ranker, who), record in self.ledger.records.items()
            if ranker == self._ranker
        }
        return judged(self.ledger, records, self.held, self.added)

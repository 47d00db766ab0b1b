"""What votes add to the similarity: a turn of the query, never a change of what is stored.

All votes together are D = ½ Σ w(a xᵀ + x aᵀ − λ x xᵀ) over their queries a and pictures x, with
the weights w of the log. Searches add it to the similarity in use,

    S'(q, p) = S(q, p) + qᵀDp,

which is an inner product of p with a vector made of q. D is never written out: it is kept as the
queries A, the pictures P and the weights between them, so that it costs 4·(|A| + |P|)·d a search
whatever the width d, on dense vectors and on sparse ones.
"""

from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.collection.answers import Ask, Ref, Standing
from lookalike.collection.search.queries import VectorSource, read_ask
from lookalike.collection.votes.gate import HeldLabels
from lookalike.collection.votes.ledger import Ledger, Vote
from lookalike.collection.votes.steps import FOLDS, OWN, Geometry, Weights
from lookalike.core.errors import NotFound
from lookalike.core.vectors import Vectors, dense, stack_rows
from lookalike.index.growing import GrowingArray
from lookalike.similarity.base import Similarity

STRENGTHS = (1.0, 0.5, 0.25)
"""How far searches may go with what votes taught, where labels judge it too."""

ALL_VOTES = slice(FOLDS, FOLDS + 1)
"""The learner that searches use."""


class Rows:
    """Vectors under names, in the order they came; adding gives a new one."""

    def __init__(self, width: int) -> None:
        self.places: dict[Ref, int] = {}
        self._dense = GrowingArray(np.zeros((0, width), np.float32))
        self._sparse: Any = None

    @property
    def matrix(self) -> Any:
        """A row each."""
        return self._dense.rows if self._sparse is None else self._sparse

    def extended(self, new: dict[Ref, Vectors]) -> "Rows":
        """Add vectors under new names."""
        fresh = {name: vector for name, vector in new.items() if name not in self.places}
        if not fresh:
            return self
        rows = Rows(0)
        start = len(self.places)
        rows.places = self.places | {name: start + k for k, name in enumerate(fresh)}
        parts: list[Any] = list(fresh.values())
        if sp.issparse(parts[0]):
            before = [] if self._sparse is None else [self._sparse]
            rows._sparse = sp.csr_matrix(sp.vstack([*before, *parts]))
        else:
            rows._dense = self._dense.extended(np.vstack(parts))
        return rows


@dataclass(frozen=True)
class Links:
    """The weights between queries and pictures, by their places; a row a learner."""

    queries: GrowingArray[np.int64]
    pictures: GrowingArray[np.int64]
    weights: GrowingArray[np.float64]

    @classmethod
    def none(cls) -> "Links":
        """Start without any."""
        empty = np.zeros(0, np.int64)
        return cls(
            GrowingArray(empty), GrowingArray(empty.copy()), GrowingArray(np.zeros((0, FOLDS + 1)))
        )

    def extended(self, query: int, pictures: Sequence[int], weights: Weights) -> "Links":
        """Add the weights of a vote."""
        return Links(
            self.queries.extended(np.full(len(pictures), query, np.int64)),
            self.pictures.extended(np.array(pictures, np.int64)),
            self.weights.extended(weights.T),
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
        What votes are put on: its scales make the vectors of items.
    width : int
        The length of an item's vector.
    held : HeldLabels or None
        Labelled pictures to judge by as well.
    """

    def __init__(
        self,
        ranker: int,
        source: VectorSource,
        similarity: Similarity,
        width: int,
        held: HeldLabels | None = None,
    ) -> None:
        self.source, self.held = source, held
        self._ranker, self._similarity, self._width = ranker, similarity, width
        self._queries, self._pictures, self._links = Rows(width), Rows(width), Links.none()
        self.ledger = Ledger()

    def following(self, ledger: Ledger) -> "Preferences":
        """Return what a ledger that goes on from this one comes to."""
        known = len(self.ledger.votes)
        goes_on = ledger.votes[:known] == self.ledger.votes
        following = Preferences(self._ranker, self.source, self._similarity, self._width, self.held)
        if goes_on:
            following._queries, following._pictures = self._queries, self._pictures
            following._links = self._links
        following.ledger = ledger
        following._add(ledger.votes[known if goes_on else 0 :])
        return following

    def over(self, source: VectorSource) -> "Preferences":
        """Return the same over an index that has more pictures."""
        other = copy(self)
        other.source = source
        return other

    def judged_by(self, held: HeldLabels | None) -> "Preferences":
        """Return the same with other labelled pictures to judge by."""
        other = copy(self)
        other.held = held
        other.__dict__.pop("standing", None)
        return other

    def _add(self, votes: Sequence[Vote]) -> None:
        own = [(vote, vote.taught[self._ranker]) for vote in votes if self._ranker in vote.taught]
        anchors: dict[Ref, Vectors] = {}
        for subject in dict.fromkeys(vote.subject for vote, _ in own):
            # Votes on a query of which a picture was deleted count no more.
            with suppress(NotFound):
                anchors[subject] = self.item(self.source.ask(read_ask(subject)))
        counted = [(vote, taught) for vote, taught in own if vote.subject in anchors]
        # In the order votes name them, so that sums round alike however many are read at once.
        wanted = dict.fromkeys(
            p or vote.subject for vote, taught in counted for p in taught.pictures
        )
        found = self.source.vectors(name for name in wanted if isinstance(name, int))
        pictures = {
            name: self.item(found[name]) if name in found else anchors[name]
            for name in wanted
            if name in found or name in anchors
        }
        self._queries = self._queries.extended(anchors)
        self._pictures = self._pictures.extended(pictures)
        for vote, taught in counted:
            names: list[Ref] = [picture or vote.subject for picture in taught.pictures]
            held = [k for k, name in enumerate(names) if name in self._pictures.places]
            self._links = self._links.extended(
                self._queries.places[vote.subject],
                [self._pictures.places[names[k]] for k in held],
                taught.weights[:, held],
            )

    def item(self, vector: Vectors) -> Vectors:
        """Return a vector as items are compared: as stored, times its scale."""
        return self._similarity.item_vectors(vector)

    def turned(self, item: Vectors, learners: slice = ALL_VOTES) -> Weights:
        """Return Dq of some learners, a row each; by default of all votes."""
        if not len(self._links.queries):
            return np.zeros((len(range(*learners.indices(FOLDS + 1))), self._width))
        A, P = self._queries.matrix, self._pictures.matrix
        by_query, by_picture = _flat(A @ item.T), _flat(P @ item.T)
        rows, columns = self._links.queries.rows, self._links.pictures.rows
        weights = self._links.weights.rows[:, learners]
        sums = np.zeros((weights.shape[1], self._width))
        for row in range(weights.shape[1]):
            own = weights[:, row]
            apart = by_query[rows] - OWN * by_picture[columns]
            to_pictures = np.bincount(columns, own * apart, P.shape[0])
            to_queries = np.bincount(rows, own * by_picture[columns], A.shape[0])
            sums[row] = _flat(P.T @ to_pictures.astype(np.float32))
            sums[row] += _flat(A.T @ to_queries.astype(np.float32))
        return sums / 2

    def turned_all(self, items: Vectors) -> NDArray[np.float64]:
        """Return q'ᵀDq for all pairs of some items, by all votes."""
        A, P = self._queries.matrix, self._pictures.matrix
        weights = self._links.weights.rows[:, -1]
        places = (self._links.queries.rows, self._links.pictures.rows)
        C = sp.csr_matrix((weights, places), shape=(A.shape[0], P.shape[0]))
        to_pictures = dense(P @ items.T)
        half = dense(items @ A.T) @ (C @ to_pictures)
        own = np.asarray(C.sum(axis=0)).reshape(-1, 1)
        return (half + half.T - OWN * to_pictures.T @ (own * to_pictures)) / 2

    def factors(self) -> tuple[Rows, Links, Rows]:
        """Return the queries, the weights between them and pictures, and the pictures."""
        return self._queries, self._links, self._pictures

    def parts(self, query: Vectors, item: Vectors) -> Weights:
        """Return what each of the weights between queries and pictures adds to qᵀDp."""
        a, x = self._links.queries.rows, self._links.pictures.rows
        A, P = self._queries.matrix, self._pictures.matrix
        qa, qx, pa, px = (_flat(rows @ it.T) for it in (query, item) for rows in (A, P))
        weights = self._links.weights.rows[:, -1]
        return np.asarray(weights / 2 * ((qa[a] - OWN * qx[x]) * px[x] + qx[x] * pa[a]))

    def halves(self) -> tuple[Weights, Weights]:
        """Return two matrices whose product HᵀT is D, with a row for each query and picture."""
        A, P = dense(self._queries.matrix), dense(self._pictures.matrix)
        weights = self._links.weights.rows[:, -1]
        places = (self._links.queries.rows, self._links.pictures.rows)
        C: Any = sp.csr_matrix((weights, places), shape=(len(A), len(P)))
        own = np.asarray(C.sum(axis=0)).reshape(-1, 1)
        return np.vstack([A, P]), np.vstack([C @ P, C.T @ A - OWN * own * P]) / 2

    def geometry(self, ask: Ask, pictures: Sequence[int]) -> Geometry:
        """Return the inner products of a query and pictures; 0 stands for the query itself."""
        vector = self.source.ask(ask)
        found = self.source.vectors(picture for picture in pictures if picture)
        query: Any = self._similarity.query_vectors(vector)
        anchor = self.item(vector)
        X = np.tile(a := _flat(anchor), (len(pictures), 1))
        own = [place for place, picture in enumerate(pictures) if picture]
        if own:
            X[own] = dense(self.item(stack_rows([found[pictures[place]] for place in own])))
        return Geometry(
            base=X @ _flat(query),
            learned=self.turned(anchor, slice(None)) @ X.T,
            gram=X @ X.T,
            across=X @ a,
            square=float(a @ a),
        )

    @cached_property
    def standing(self) -> Standing:
        """Judge what votes taught: by votes that were not learned from, and by labels."""
        votes = self.ledger.votes
        taught = [vote.taught[self._ranker] for vote in votes if self._ranker in vote.taught]
        right = [one.right for one in taught if one.right[0] is not None]
        before = after = None
        if right:
            before, after = (sum(side) / len(right) for side in zip(*right, strict=True))
        labels: tuple[float | None, float | None, float] = (None, None, STRENGTHS[0])
        if self.held is not None and votes:
            labels = self.held.judge(self.turned_all, STRENGTHS)
        worse = after is not None and before is not None and after < before
        strength = 0.0 if worse or not votes else labels[2]
        return Standing(
            votes=len(votes),
            judged=len(right),
            before=before,
            after=after,
            labels_before=labels[0],
            labels_after=labels[1],
            strength=strength,
            reason=_reason(len(votes), len(right), worse, labels[2], self.ledger.damaged),
        )


def _reason(votes: int, judged: int, worse: bool, labels: float, damaged: int | None) -> str:
    lost = f" Votes from event {damaged} on are damaged and were left out." if damaged else ""
    if not votes:
        return f"No votes yet.{lost}"
    if worse:
        said = "Votes are paused: with them, held-out votes rank worse."
    elif not labels:
        said = "Votes are paused: with them, held-out labelled pictures rank worse."
    elif labels < STRENGTHS[0]:
        said = (
            f"Votes are used at {labels:.0%} strength; with more, held-out labelled pictures rank "
            f"worse."
        )
    elif judged:
        said = "Votes are in use: with them, held-out votes rank no worse."
    else:
        said = "Votes are in use; none compares two pictures yet, so they cannot be evaluated."
    return said + lost


def _flat(part: Any) -> Weights:
    return dense(part).reshape(-1)

"""A sparse similarity: which visual words speak for each other, learned from triplets."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.checks import check_number, check_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.ranking import judge
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import Arrays, Learned, stored_whole, with_settings
from lookalike.core.threads import one_blas_thread
from lookalike.core.vectors import Vectors, check_vectors, unit_rows
from lookalike.similarity._fast.sparse import TINY, online_steps
from lookalike.similarity.base import Similarity, check_triplets, scaled_rows, stored_array
from lookalike.similarity.sparse_matrix import Mask, check_neighbours, loop_rows
from lookalike.similarity.sparse_objective import Objective
from lookalike.similarity.sparse_triplets import (
    WeightedTriplets,
    choose_queries,
    collect,
    hold_out,
)
from lookalike.supervision import Relevance

PATIENCE = 12
"""Iterations without a better figure on held-out pictures after which learning ends."""


@with_settings
class SparseSimilarity(Similarity):
    """Score tf-idf rows by a sparse matrix: S_ij / √(S_ii·S_jj) with S_ij = iᵀMj.

    Yan and Yu, *Sparse Similarity Matrix Learning for Visual Object Retrieval* (2013), paper 4.
    M is symmetric, at least 0, and differs from 0 only on the diagonal and where one word is among
    the nearest of another (:meth:`set_neighbours`). It starts as tf-idf and is learned from
    triplets by Eq. 4 and 5. A query is expanded to M·q / √(qᵀMq); an item's vector stays as it is,
    its scale is 1 / √(pᵀMp).

    Parameters
    ----------
    neighbours : int, default=2
        k: how many of the nearest words of each word may speak for it.
    margin : float, default=0.02
        γ of Eq. 4.
    iterations : int, default=60
        Of L-BFGS-B, at most.
    max_queries : int, default=80
        Pictures of an object that are queried for hard triplets (section IV-B).
    max_triplets : int, default=2_000_000
    random_share : float, default=0.25
        Random triplets for each hard one.
    held_out : int, default=4
        Pictures of each object by which the best iterate is chosen (section IV-D).
    aggressiveness : float, default=0.1
        C of :meth:`partial_fit`: the longest step.
    random_state : int, numpy Generator or None, default=None

    Attributes
    ----------
    M_ : ndarray of float64
        The diagonal, then an element for each pair of words that may be similar.
    mask_ : Mask
        Which words those are.
    history_ : list of float
        The figure on held-out pictures at the start and after each iteration.
    triplets_ : int
        How many triplets it was last fitted with.

    Notes
    -----
    *Departures.* Rows are tf-idf vectors at unit length, so the M of the paper is D·M·D with D the
    weights of tf-idf, and M starts as the identity. Scores are √Ŝ of Eq. 3, which rank the same.
    :meth:`partial_fit`, which the paper leaves open (section VI), takes a passive-aggressive step
    along the gradient of Eq. 4 for each triplet.

    Examples
    --------
    >>> X = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]], np.float32)
    >>> similarity = SparseSimilarity(random_state=0)
    >>> similarity.set_neighbours([[1], [0], [1]])
    SparseSimilarity(random_state=0)
    >>> before = similarity.fit_triplets(X, [[0, 2, 1], [2, 0, 3]]).scores(X[:1], X)
    >>> bool(before[0, 2] > before[0, 1])
    True
    """

    name: ClassVar[str] = "sparse"
    learns_from: ClassVar[tuple[str, ...]] = ("classes", "labels", "relevance", "triplets")

    neighbours: int = 2
    margin: float = 0.02
    iterations: int = 60
    max_queries: int = 80
    max_triplets: int = 2_000_000
    random_share: float = 0.25
    held_out: int = 4
    aggressiveness: float = 0.1
    random_state: RandomState = None

    M_: NDArray[np.float64] = field(init=False)
    mask_: Mask = field(init=False)
    history_: list[float] = field(init=False)
    triplets_: int = field(init=False)

    def set_neighbours(self, neighbours: ArrayLike) -> Self:
        """Set the nearest words of each word, nearest first: one row for each word.

        :meth:`Regions.word_neighbours` returns them. Without, only the diagonal is learned.
        """
        self._neighbours = check_neighbours(type(self).__name__, neighbours)
        return self

    @one_blas_thread()
    def fit(
        self, X: ArrayLike | sp.spmatrix, y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Learn from rows and which of them show the same object.

        Rows without a label count as neither: leave junk unlabelled, and give each picture of the
        background a label of its own.
        """
        rows = self._rows(X)
        relevance = Relevance.of(y, rows.shape[0])
        rng = generator(self.random_state)
        held = hold_out(relevance, self.held_out, rng)
        database = np.setdiff1d(np.arange(rows.shape[0]), held)
        queries = choose_queries(relevance, database, self.max_queries, rng)
        triplets = collect(
            rows, relevance, database, queries, self.max_triplets, self.random_share, rng
        )
        if not len(triplets.rows):
            raise InvalidInput(
                "SparseSimilarity cannot learn from this: no picture has both a related and an "
                "unrelated one. Give at least two classes, one of them with two pictures."
            )
        judge_rows = _HeldOut.of(rows, relevance, held, database)
        return self._learn(rows, triplets, judge_rows, progress)

    @one_blas_thread()
    def fit_triplets(
        self, X: ArrayLike | sp.spmatrix, triplets: ArrayLike, *, progress: Progress = silent
    ) -> Self:
        """Learn from explicit triplets, all of the same weight; no pictures are held out."""
        rows = self._rows(X)
        given = check_triplets(type(self).__name__, triplets, rows.shape[0]).astype(np.int32)
        if not len(given):
            raise InvalidInput("SparseSimilarity: fit_triplets needs at least one triplet.")
        return self._learn(
            rows, WeightedTriplets(given, np.ones(len(given)), len(given)), None, progress
        )

    def partial_fit(self, X: ArrayLike | sp.spmatrix, triplets: ArrayLike) -> Self:
        """Continue from the current matrix, one step for each triplet that misses its margin."""
        rows = self._rows(X)
        given = check_triplets(type(self).__name__, triplets, rows.shape[0]).astype(np.int32)
        if hasattr(self, "M_"):
            check_vectors(type(self).__name__, rows, width=self.n_features_in_)
            mask, M = self.mask_, self.M_.copy()
        else:
            mask = self._mask(rows.shape[1])
            M = _start(mask)
        online_steps(given, *loop_rows(rows), *mask.lists, self.margin, self.aggressiveness, M)
        self._keep(mask, M, getattr(self, "history_", []), len(given))
        return self

    def stored_vectors(self, P: ArrayLike | sp.spmatrix) -> Vectors:
        """Return the rows at unit length."""
        units: Vectors = unit_rows(self._vectors(P))
        return units

    def item_scales(self, P: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return 1 / √(pᵀMp) of each row at unit length; 1 where that is 0."""
        return self._scales(sp.csr_matrix(self.stored_vectors(P)))

    def query_vectors(self, Q: ArrayLike | sp.spmatrix) -> Vectors:
        """Return M·q / √(qᵀMq) of each row, CSR if the rows are."""
        self._width()
        return self._expanded(Q, self._matrix)

    def parts(
        self, q: ArrayLike | sp.spmatrix, p: ArrayLike | sp.spmatrix
    ) -> dict[str, NDArray[np.float32]]:
        """Return the parts of the scores from the same words and from different words."""
        items = self.item_vectors(p)
        off = self._matrix - sp.diags_array(self._matrix.diagonal(), format="csr")
        matrices = {"same words": self._matrix - off, "near words": sp.csr_matrix(off)}
        return {
            name: _products(self._expanded(q, sp.csr_matrix(matrix)), items)
            for name, matrix in matrices.items()
        }

    @property
    def learned(self) -> bool:
        """Whether M differs from the tf-idf it started as."""
        self._width()
        return not np.array_equal(self.M_, _start(self.mask_))

    @property
    def matrix(self) -> sp.csr_matrix:
        """M, without its zeros."""
        self._width()
        return self._matrix

    def _expanded(self, Q: ArrayLike | sp.spmatrix, matrix: sp.csr_matrix) -> Vectors:
        units = self.stored_vectors(Q)
        rows = sp.csr_matrix(units)
        turned: Any = scaled_rows(_canonical(rows @ matrix), self._scales(rows))
        is_sparse: bool = sp.issparse(units)
        return turned if is_sparse else np.ascontiguousarray(turned.toarray(), np.float32)

    def _scales(self, rows: sp.csr_matrix) -> NDArray[np.float32]:
        own = self.mask_.own_scores(rows, self.M_)
        return np.where(own > TINY, 1 / np.sqrt(np.maximum(own, TINY)), 1).astype(np.float32)

    def _learn(
        self,
        rows: sp.csr_matrix,
        triplets: WeightedTriplets,
        held: _HeldOut | None,
        progress: Progress,
    ) -> Self:
        mask = self._mask(rows.shape[1])
        objective = Objective.of(rows, mask, triplets.rows, triplets.weights, self.margin)
        start = _start(mask)
        best, figure, history, done, since = start, -1.0, list[float](), 0, 0
        if held is not None:
            figure = held.figure(mask, start)
            history.append(figure)

        def look(M: NDArray[np.float64]) -> bool:
            nonlocal best, figure, done, since
            done += 1
            progress(done, self.iterations)
            if held is None:
                best = M
                return False
            now = held.figure(mask, M)
            history.append(now)
            since = 0 if now > figure else since + 1
            if now > figure:
                best, figure = M, now
            return since >= PATIENCE

        objective.minimise(start, self.iterations, look)
        progress(self.iterations, self.iterations)
        self._keep(mask, best, history, len(triplets.rows))
        return self

    def _rows(self, X: ArrayLike | sp.spmatrix) -> sp.csr_matrix:
        rows = sp.csr_matrix(unit_rows(self._given(X)))
        if rows.nnz and rows.data.min() < 0:
            raise InvalidInput(
                "SparseSimilarity: vectors must be at least 0, as the weights of words are; got "
                "negative numbers. Learn with oasis instead."
            )
        rows.eliminate_zeros()
        return rows

    def _mask(self, width: int) -> Mask:
        given: NDArray[np.int32] | None = getattr(self, "_neighbours", None)
        if given is None:
            return Mask.of(width, None)
        if len(given) != width:
            raise InvalidInput(
                f"SparseSimilarity: neighbours must have one row for each of the {width} columns; "
                f"got {len(given)}. Set those of the vocabulary that made the vectors."
            )
        return Mask.of(width, given[:, : self.neighbours])

    def _keep(
        self, mask: Mask, M: NDArray[np.float64], history: list[float], triplets: int
    ) -> None:
        # As in its file: what was learned scores the same after it was saved.
        self.mask_, self.M_ = mask, M.astype(np.float32).astype(np.float64)
        self._matrix = mask.matrix(self.M_)
        self.history_, self.triplets_ = history, triplets
        self.n_features_in_ = mask.words

    def _state(self) -> tuple[Arrays, Learned]:
        self._width()
        words, pairs = self.mask_.words, self.mask_.pairs
        arrays: Arrays = {"diagonal": self.M_[:words].astype(np.float32)}
        if len(pairs):
            arrays |= {"pairs": pairs, "values": self.M_[words:].astype(np.float32)}
        return arrays, {"words": words, "pairs": len(pairs), "triplets": self.triplets_}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        words, count = stored_whole(learned["words"]), stored_whole(learned["pairs"])
        values = [stored_array(arrays, "diagonal", 1)]
        pairs = np.zeros((0, 2), np.int32)
        if count:
            pairs = np.ascontiguousarray(arrays["pairs"])
            values.append(stored_array(arrays, "values", 1))
            if pairs.dtype != np.int32 or pairs.shape != (count, 2):
                raise ValueError("pairs do not match")
            if pairs.min() < 0 or pairs.max() >= words or (pairs[:, 0] >= pairs[:, 1]).any():
                raise ValueError("pairs are not of words")
        M = np.concatenate(values).astype(np.float64)
        if len(values[0]) != words or len(M) != words + count or (M < 0).any():
            raise ValueError("values do not match")
        self._keep(Mask(words, pairs), M, [], stored_whole(learned["triplets"]))

    def _check_parameters(self) -> None:
        who = type(self).__name__
        check_whole(who, "neighbours", self.neighbours, 0)
        for name in ("iterations", "max_queries", "max_triplets"):
            check_whole(who, name, getattr(self, name), 1)
        check_whole(who, "held_out", self.held_out, 0)
        for name in ("margin", "random_share", "aggressiveness"):
            check_number(who, name, getattr(self, name))


class _HeldOut:
    """Held-out pictures that query the database, and what they should find."""

    def __init__(
        self, queries: sp.csr_matrix, database: sp.csr_matrix, relevant: NDArray[np.bool_]
    ) -> None:
        self.queries, self.database, self.relevant = queries, database, relevant

    @classmethod
    def of(
        cls,
        rows: sp.csr_matrix,
        relevance: Relevance,
        held: NDArray[np.intp],
        database: NDArray[np.intp],
    ) -> Self | None:
        """Return them, the rows about which something is known; None if none is held out."""
        if not len(held):
            return None
        known = database[relevance.known[database]]
        return cls(rows[held], rows[known], relevance.rows(held, known))

    def figure(self, mask: Mask, M: NDArray[np.float64]) -> float:
        """Return their mean average precision."""
        own = mask.own_scores(self.database, M)
        products = ((self.queries @ mask.matrix(M)) @ self.database.T).toarray()
        scores = products / np.sqrt(np.maximum(own, TINY))
        return judge(scores.astype(np.float32), self.relevant).mean_average_precision


def _start(mask: Mask) -> NDArray[np.float64]:
    return np.concatenate([np.ones(mask.words), np.zeros(len(mask.pairs))])


def _canonical(matrix: Any) -> sp.csr_matrix:
    rows = sp.csr_matrix(matrix, dtype=np.float32)
    rows.sort_indices()
    return rows


def _products(queries: Vectors, items: Vectors) -> NDArray[np.float32]:
    result: Any = queries @ items.T
    is_sparse: bool = sp.issparse(result)
    return np.ascontiguousarray(result.toarray() if is_sparse else result, np.float32)

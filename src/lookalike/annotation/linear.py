"""Rank words by f_i(x) = w_iᵀx: one vector per word, in the space of the pictures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from lookalike.annotation._fast.linear import Rows, pair_steps, score_rows, warp_steps
from lookalike.annotation._fast.wsabie import Pictures, Truth
from lookalike.annotation.base import (
    Annotator,
    InnerProductAnnotator,
    Ranking,
    check_fitted,
)
from lookalike.annotation.held_out import Matrix, Split, clearly_worse, precision
from lookalike.annotation.layout import MAX_LENGTH, check_matrix, lay_out, mean_length
from lookalike.annotation.lessons import Lessons, blocks
from lookalike.annotation.words import read_words
from lookalike.core import sparse as sp
from lookalike.core.checks import check_choice, check_number, check_share, check_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, further, silent
from lookalike.core.seeds import RandomState, generator, loop_state
from lookalike.core.stored import Arrays, Learned, stored_whole, with_settings
from lookalike.core.vectors import Vectors, squared_lengths

PATIENCE = 5
"""Training ends when a fifth of the passes in a row brought no better precision."""

_STEPS = 4096


@dataclass(frozen=True)
class Taught:
    """Pictures in the layout of the loops, their squared lengths, and the mean of these."""

    pictures: Pictures
    truth: Truth
    lengths: Matrix
    mean_length: float

    @classmethod
    def of(cls, lessons: Lessons, mean_length: float) -> Taught:
        """Arrange pictures with words; ``mean_length`` is that of the pictures given to ``fit``."""
        truth = Truth(lessons.has.indices.astype(np.uint32), lessons.has.indptr.astype(np.uint64))
        lengths = squared_lengths(lessons.vectors).astype(np.float32)
        return cls(lay_out(lessons.vectors), truth, lengths, mean_length)

    def __len__(self) -> int:
        return len(self.lengths)


class LinearAnnotator(InnerProductAnnotator):
    """The base class of linear models: training in passes, stopping, scoring and saving.

    A subclass implements one pass over the pictures in ``_pass``.

    Attributes
    ----------
    W_ : ndarray of shape (Y, d)
        The words' vectors w_i.
    epochs_ : int
        Training passes behind W.
    history_ : list of (int, float)
        Passes and held-out precision at 1; empty if nothing was held out.
    mean_length_ : float
        The mean squared length of the training pictures.
    """

    epochs: int | None

    W_: Matrix
    epochs_: int
    mean_length_: float

    def picture_vectors(self, X: ArrayLike | sp.spmatrix) -> Vectors:
        """Return pictures' vectors unchanged: words are in the same space."""
        return self._vectors(X)

    def word_vectors(self) -> Matrix:
        """Return the words' vectors w_i, one row per word."""
        check_fitted(self)
        return self.W_

    def word_queries(self, words: Sequence[str]) -> Matrix:
        """Return w_i for words: its inner product with a picture's vector x is f_i(x)."""
        return np.ascontiguousarray(self.word_vectors()[[self.word_number(word) for word in words]])

    def scores(self, X: ArrayLike | sp.spmatrix) -> Matrix:
        """Return every word's score for each picture; O(Y) for each nonzero value."""
        return scores_of(self._vectors(X), self.word_vectors())

    def rank(self, X: ArrayLike | sp.spmatrix, k: int = 10) -> Ranking:
        """Return the k best words of each picture; ties go to the lower index."""
        return Annotator.rank(self, X, k)

    def _learn(self, split: Split, rng: np.random.Generator, progress: Progress) -> None:
        vectors, words = split.learned.vectors, split.whole.words
        mean = mean_length(type(self).__name__, vectors)
        taught = Taught.of(split.learned, mean)
        W = _zeros(len(words), vectors)
        best, epochs, history = self._train(W, taught, split.judged, rng, progress)
        self._publish(best, words, mean, epochs, history)
        self.confidence_ = self._confidence_from(split.judged)

    def _own_state(self) -> tuple[Arrays, Learned]:
        return {"W": self.word_vectors().T}, {
            "epochs": self.epochs_,
            "mean_length": self.mean_length_,
        }

    def _restore_own(self, arrays: Arrays, learned: Learned) -> None:
        W = arrays["W"].T
        check_matrix("W", W, rows=len(self.words_))
        who = type(self).__name__
        mean = check_number(who, "mean_length", learned["mean_length"])
        self._publish(W, self.words_, mean, stored_whole(learned["epochs"]), self.history_)

    @abstractmethod
    def _pass(
        self, W: Matrix, taught: Taught, left: float, rng: np.random.Generator, progress: Progress
    ) -> None:
        """Visit every picture once, in random order, and update W; ``left`` falls from 1 to 0."""

    def _passes(self, pictures: int) -> int:
        """Return the number of passes over so many pictures if ``epochs`` is None."""
        return int(np.clip(600_000 // max(pictures, 1), 5, 30))

    def _settles(self) -> bool:
        """Return whether steps get shorter, so that training must not stop early."""
        return False

    def _train(
        self,
        W: Matrix,
        taught: Taught,
        judged: Lessons | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> tuple[Matrix, int, list[tuple[int, float]]]:
        """Train until the held-out precision no longer rises; return a good W."""
        epochs = self.epochs or self._passes(len(taught))
        best, most, peak, kept = W, (-1.0, -1.0), 0, epochs
        history: list[tuple[int, float]] = []
        total = epochs * len(taught)
        for epoch in range(epochs):
            left = 1 - (epoch + 0.5) / epochs
            self._pass(W, taught, left, rng, further(progress, epoch * len(taught), total))
            self._check_finite(W)
            if judged is None:
                continue
            figures = precision(lambda rows: scores_of(judged.vectors[rows], W), judged.has)
            history.append((epoch + 1, figures[0]))
            if figures > most:
                most, peak = figures, epoch
            if not clearly_worse(figures[0], most[0], len(judged)):
                best, kept = W.copy(order="K"), epoch + 1
            if (epoch - peak) * PATIENCE >= epochs and not self._settles():
                break
        progress(total, total)
        return best, kept, history

    def _check_parameters(self) -> None:
        who = type(self).__name__
        if self.epochs is not None:
            check_whole(who, "epochs", self.epochs, 1)
        check_share(who, "held_out", self.held_out)

    def _check_finite(self, W: Matrix) -> None:
        if not float(np.abs(W).max()) < MAX_LENGTH:
            raise InvalidInput(
                f"{type(self).__name__}: the words' vectors would not stay finite. Scale pictures' "
                f"vectors to unit length, or lower learning_rate or aggressiveness."
            )

    def _publish(
        self,
        W: Matrix,
        words: tuple[str, ...],
        mean_length: float,
        epochs: int,
        history: Sequence[tuple[int, float]],
    ) -> Self:
        self.W_ = np.asfortranarray(W)
        self.words_ = words
        self.n_features_in_ = W.shape[1]
        self.mean_length_ = mean_length
        self.epochs_ = epochs
        self.history_ = history
        return self


@with_settings
class LinearRanker(LinearAnnotator):
    """Learn a vector for each word so that true words score above others by a margin of 1.

    With the WARP loss, Algorithm 1 of Weston, Bengio and Usunier, *Large Scale Image Annotation*
    (2010), section 3, on f_i(x) = w_iᵀx: for a picture x and one of its p true words y, other
    words are drawn until one violates the margin, f_ȳ(x) > f_y(x) − 1. If the N-th did,

        w_y ← w_y + γ·L(⌊(Y − p)/N⌋)·x,   w_ȳ ← w_ȳ − γ·L(⌊(Y − p)/N⌋)·x,   L(k) = Σ_{j≤k} 1/j

    With the AUC loss it is PAMIR^IA of section 6.3: one other word is drawn, and

        w_y ← w_y + τx,   w_ȳ ← w_ȳ − τx,   τ = min(C, |1 − f_y(x) + f_ȳ(x)|₊ / (2|x|²))

    Both are the linear rows of Table 5. A true word is never drawn as the other word; of several
    true words one is chosen at random each time, which averages the loss over them (footnote 1).

    Parameters
    ----------
    loss : {"warp", "auc"}
        Which of the two losses.
    learning_rate : float
        γ of WARP, for pictures of length 1.
    schedule : {"decay", "fixed"}
        Whether γ falls linearly to zero over ``epochs``, or stays constant as in the paper.
    max_norm : float or None
        The bound |w_i| ≤ C of Eq. 3, for pictures of length 1, with WARP. None means no bound.
    aggressiveness : float
        C of the AUC loss, the maximum step, for pictures of length 1.
    epochs : int or None
        The maximum number of passes over the pictures. None means 30, fewer for more than 20,000
        pictures, and at least 5; ten times as many with the AUC loss, which tries one word per
        visit.
    held_out : float
        The share of the pictures, at most 2,000, to hold out: the passes are evaluated by
        precision at 1 on them, the last that is within a standard error of the best is kept, and
        confidence is learned there. Unless γ decays, training ends when a fifth of ``epochs`` in a
        row were no better. A word's only picture is never held out. 0 holds out nothing and does
        all passes.
    random_state : int, Generator or None
        Makes a run repeatable.

    Notes
    -----
    A model takes 4·Y·d bytes, and twice that while it learns: 4 GB for 100,000 words and 10,000
    columns, where :class:`~lookalike.annotation.WSABIE` takes 44 MB. A WARP step costs O(nnz) for
    each word tried, and on sparse pictures never more than about Y/20 of them.

    *Departures.* ``learning_rate``, ``aggressiveness`` and ``max_norm`` are for pictures of mean
    squared length 1, so that they do not depend on the vectors' unit. Weights start at zero, since
    the model is convex. After Y/64 unsuccessful tries, or Y/8 on dense vectors, all words are
    scored at once, and the step ends if none violates the margin.

    Examples
    --------
    >>> X = np.array([[1, 0.1], [1, -0.1], [0.1, 1], [-0.1, 1]])
    >>> model = LinearRanker(random_state=0).fit(X, ["cat", "cat", "dog", {"dog", "pet"}])
    >>> [model.words_[i] for i in model.rank([[0.0, 1.0]], k=2).words[0]]
    ['dog', 'pet']
    """

    name = "linear"
    file_kind = "linear_ranker/1"

    loss: Literal["warp", "auc"] = "warp"
    learning_rate: float = 0.1
    schedule: Literal["decay", "fixed"] = "decay"
    max_norm: float | None = None
    aggressiveness: float = 1.0
    epochs: int | None = None
    held_out: float = 0.1
    random_state: RandomState = None

    def partial_fit(self, X: ArrayLike | sp.spmatrix, y: Any, *, epochs: int = 5) -> Self:
        """Continue with more pictures, and with new words, which start at zero.

        Before ``fit`` it is the same as ``fit``. Known words keep their indices, and training
        continues from their vectors; but it lowers the scores of words that the new pictures do
        not have, so include some pictures of known words.

        Parameters
        ----------
        X, y
            As for ``fit``.
        epochs : int
            Passes over these pictures, at the full ``learning_rate``.
        """
        if not hasattr(self, "words_"):
            return self.fit(X, y)
        self.chances_ = None
        self._check_parameters()
        check_whole("LinearRanker", "epochs", epochs, 1)
        vectors = self._vectors(X)
        has, words = read_words("LinearRanker", y, vectors.shape[0], self.words_)
        W = _zeros(len(words), vectors)
        W[: len(self.words_)] = self.W_
        taught = Taught.of(Lessons(vectors, has, words), self.mean_length_)
        rng = generator(self.random_state)
        for _ in range(epochs):
            self._pass(W, taught, 1.0, rng, silent)
        self._check_finite(W)
        return self._publish(W, words, self.mean_length_, self.epochs_ + epochs, self.history_)

    def _passes(self, pictures: int) -> int:
        # PAMIR tries one word per visit, so its passes cost less and teach less.
        return super()._passes(pictures) * (1 if self.loss == "warp" else 10)

    def _settles(self) -> bool:
        return self.loss == "warp" and self.schedule == "decay"

    def _pass(
        self, W: Matrix, taught: Taught, left: float, rng: np.random.Generator, progress: Progress
    ) -> None:
        order = rng.permutation(len(taught)).astype(np.uint32)
        state = loop_state(rng)
        pictures, lengths, truth = taught.pictures, taught.lengths, taught.truth
        if self.loss == "auc":
            C = np.float32(self.aggressiveness / taught.mean_length)
            for some in blocks(len(order), _STEPS):
                pair_steps(W, pictures, lengths, truth, order[some], C, state)
                progress(some.stop, len(order))
            return
        Y = len(W)
        rate = self.learning_rate / taught.mean_length
        if self.schedule == "decay":
            rate *= left
        limit = 0.0 if self.max_norm is None else self.max_norm / np.sqrt(taught.mean_length)
        squares = np.zeros(Y) if limit == 0 else np.einsum("ij,ij->i", W, W, dtype=np.float64)
        rows = Rows(W, np.ones(Y, np.float32), squares)
        penalties = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, Y))]).astype(np.float32)
        room = np.empty(Y, np.float32)
        rates = np.float32(rate), np.float32(limit)
        for some in blocks(len(order), _STEPS):
            warp_steps(rows, pictures, lengths, truth, order[some], *rates, penalties, state, room)
            progress(some.stop, len(order))
        W *= rows.scales[:, None]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        who = "LinearRanker"
        check_choice(who, "loss", self.loss, ("warp", "auc"))
        check_choice(who, "schedule", self.schedule, ("decay", "fixed"))
        check_number(who, "learning_rate", self.learning_rate)
        check_number(who, "aggressiveness", self.aggressiveness)
        if self.max_norm is not None:
            check_number(who, "max_norm", self.max_norm)


def scores_of(vectors: Vectors, W: Matrix) -> Matrix:
    """Return w_iᵀx for every row x and every word i."""
    if not sp.issparse(vectors):
        return np.ascontiguousarray(vectors @ W.T)
    scores = np.empty((vectors.shape[0], len(W)), np.float32)
    score_rows(W, lay_out(vectors), scores)
    return scores


def _zeros(words: int, vectors: Vectors) -> Matrix:
    """Return an empty W: column-major for sparse pictures, row-major for dense ones."""
    order: Literal["F", "C"] = "F" if sp.issparse(vectors) else "C"
    return np.zeros((words, vectors.shape[1]), np.float32, order=order)

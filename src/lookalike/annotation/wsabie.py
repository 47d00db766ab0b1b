"""WSABIE: embed pictures and words in one space, learned by ranking words for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from lookalike.annotation.base import InnerProductAnnotator, check_fitted
from lookalike.annotation.held_out import Matrix, Split
from lookalike.annotation.layout import check_constant, check_matrix, widened
from lookalike.annotation.lessons import Lessons, check_words
from lookalike.annotation.odds import odds_of
from lookalike.annotation.parts import Parts
from lookalike.annotation.start import (
    Start,
    longest_row,
    random_start,
    ridge_start,
    with_odds,
    with_start,
)
from lookalike.annotation.training import (
    UNAVERAGED,
    Descent,
    InMemory,
    OnDisk,
    bounded,
)
from lookalike.annotation.words import read_words
from lookalike.core import sparse as sp
from lookalike.core.checks import check_choice, check_number, check_share, check_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, further, silent
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import Arrays, Learned, stored_whole, with_settings
from lookalike.core.threads import one_blas_thread

PATIENCE = 5
"""Averaged passes without better held-out precision after which training at a fixed rate ends."""


Chosen = tuple[float | None, int | None]
"""λ of the start and how many passes."""


@with_settings
class WSABIE(InnerProductAnnotator):
    """Learn an embedding of pictures and words in one space, by ranking.

    f_i(x) = W_iᵀVx of Weston, Bengio and Usunier, *Large Scale Image Annotation: Learning to Rank
    with Joint Word-Image Embeddings* (2010), Eq. 1, with |V_j| ≤ C and |W_i| ≤ C (Eq. 2-3), by
    stochastic steps on

    - ``"warp"``: L(⌊(Y − p)/N⌋)·|1 − f_y(x) + f_ȳ(x)|₊ with L(k) = Σ_{j≤k} 1/j, where N words
      were drawn until ȳ violated the margin (section 3, Algorithm 1);
    - ``"auc"``: |1 − f_y(x) + f_ȳ(x)|₊ for one ȳ drawn (section 6.4, Table 5);
    - ``"owpc"``: Eq. 6 with the exact rank, all violators at once (OWPC-SGD of Figure 2).

    A picture may have p > 1 true words: one is chosen at random at each visit, which averages the
    loss over them (footnote 1), and none of them is ever drawn as ȳ.

    Parameters
    ----------
    dimension : int
        D, the dimension of the space.
    loss : {"warp", "auc", "owpc"}
        Which of the three losses.
    start : {"random", "ridge"}
        Where V and W start: at random, as in the paper; or at the ridge solution, WVx near 1 for
        true words and near 0 for others, cut to the rank D. That takes a few hundred milliseconds
        and learns better from dense vectors; for vectors of more than 2,048 numbers it is iterated,
        which may take longer than all passes.
    learning_rate : float or None
        γ, for pictures of length 1. None means 0.05, or with a ridge start what suits it.
    schedule : {"decay", "fixed", "paper"}
        Whether γ falls linearly to zero over ``epochs``, or stays constant as in the paper; then
        training ends when five passes in a row, after the first ten, were no better. ``"paper"``
        is plain Algorithm 1: γ constant, pictures drawn with replacement, no means; it ends when
        five passes in a row were no better, with V and W as they were after the best pass, or
        without held-out pictures after the last.
    max_norm : float or None
        C, for pictures of length 1. None means 1.5, or with a ridge start three quarters of its
        longest row.
    constant : float
        A constant appended to each picture's vector, for pictures of length 1: like a bias, it
        allows a word to be likely whatever a picture shows. 0, as in the paper, means none. With a
        ridge start it also carries the offsets of the words' log odds.
    epochs : int or None
        The maximum number of passes over the pictures. None means 30, or 20 with a ridge start,
        fewer for more than 20,000 pictures, and at least 5.
    max_trials : int or None
        The maximum number of words drawn for a picture; None allows Y − p, as in the paper.
    choose_by : {"P@1", "MAP"}
        Whether passes are chosen by precision at 1 or by mean average precision.
    held_out : float
        The share of the pictures, at most 2,000, to hold out: the passes are evaluated on them,
        the last that is within a standard error of the best is kept, and confidence is learned
        there. A word's only picture is never held out. 0 holds out nothing, does all passes and
        leaves confidence unknown.
    threads : int
        The number of threads. With more than one, no two runs are the same.
    random_state : int, Generator or None
        Makes a run with one thread repeatable.

    Attributes
    ----------
    V_ : ndarray of shape (d, D)
        One row per feature.
    W_ : ndarray of shape (Y, D)
        One row per word.
    constant_ : float
        The constant appended to the pictures' vectors; 0 if there was none.
    constant_row_ : ndarray of shape (D,)
        The row of V for it.
    epochs_ : int
        Training passes behind V and W.
    learning_rate_, max_norm_ : float
        γ and C, as given or as fitted to the start.
    history_ : list of (int, float)
        Passes and the held-out figure after them.
    confidence_ : Confidence or None
        Turns scores into confidence; None if too few pictures were held out.

    Notes
    -----
    A step costs O(D·(nnz + N)): no pass over all words. Ranking costs O(D·(nnz + Y)) per picture,
    and a model takes 4·D·(Y + d) bytes; in memory, a quarter more for its words once it has ranked
    a few pictures with many words.

    *Departures*, the second and third of which ``schedule="paper"`` is without. ``learning_rate``
    and ``max_norm`` are for pictures of mean squared length 1, so that they do not depend on the
    vectors' unit. Pictures are visited in a new random order in each pass, not drawn with
    replacement. After ten passes V and W are weighted means over the ends of the passes since,
    with later ones weighing more, where the paper uses the last step; the means are evaluated and
    kept (``docs/decisions/0006``). ``constant`` is not in the paper, nor is the ridge start, a
    third of which is kept in the end beside what was learned from there; with both, words' scores
    are then brought to log odds, since the loss makes them comparable for each picture only.
    Held-out pictures are learned from, too: V and W start again and take as many passes as were
    kept, over all pictures (``docs/decisions/0010``).

    Examples
    --------
    >>> X = np.array([[1, 0.1], [1, -0.1], [0.1, 1], [-0.1, 1]])
    >>> model = WSABIE(dimension=2, random_state=0).fit(X, ["cat", "cat", "dog", "dog"])
    >>> [model.words_[i] for i in model.rank([[0.0, 1.0]], k=2).words[0]]
    ['dog', 'cat']
    """

    name = "wsabie"

    dimension: int = 100
    loss: Literal["warp", "auc", "owpc"] = "warp"
    start: Literal["random", "ridge"] = "random"
    learning_rate: float | None = None
    schedule: Literal["decay", "fixed", "paper"] = "decay"
    max_norm: float | None = None
    constant: float = 0.0
    epochs: int | None = None
    max_trials: int | None = None
    choose_by: Literal["P@1", "MAP"] = "P@1"
    held_out: float = 0.1
    threads: int = 1
    random_state: RandomState = None

    V_: Matrix = field(init=False)
    W_: Matrix = field(init=False)
    constant_: float = field(init=False)
    constant_row_: Matrix = field(init=False)
    epochs_: int = field(init=False)
    mean_length_: float = field(init=False)
    learning_rate_: float = field(init=False)
    max_norm_: float = field(init=False)
    _chosen: Chosen = field(default=(None, None), init=False)

    @one_blas_thread()
    def fit(
        self,
        X: ArrayLike | sp.spmatrix | Parts,
        y: Any = None,
        *,
        validation: tuple[Any, Any] | None = None,
        progress: Progress = silent,
    ) -> Self:
        """Learn from vectors and words.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or Parts
            One row per picture; or pictures on disk, with their words.
        y : sequence of words, or of sets of words
            The words of each picture; pictures without a word are ignored.
        validation : (X, y) or None
            Pictures to evaluate on and to learn confidence from, instead of held-out ones.
        progress : callable
            Called with the number of pictures visited and the maximum.
        """
        if not isinstance(X, Parts):
            return super().fit(X, y, validation=validation, progress=progress)
        self._check_parameters()
        rng = generator(self.random_state)
        check_words("WSABIE", X.words)
        source = OnDisk(X)
        if validation is None:
            judged = source.hold_out(self.held_out, rng)
        else:
            judged = Lessons.judging("WSABIE", X.width, X.words, *validation)
        self._learn_from(source, judged, rng, progress)
        return self

    @property
    def refits(self) -> bool:
        """Whether :meth:`refitted` can be called: from the ridge start, with its λ and passes."""
        return self.start == "ridge"

    @one_blas_thread()
    def partial_fit(self, X: ArrayLike | sp.spmatrix, y: Any, *, epochs: int = 10) -> Self:
        """Continue with more pictures, and with new words; what was learned is kept.

        Before ``fit`` it starts from scratch. Pictures whose words are all known take ordinary
        steps, at a tenth of ``learning_rate``. A new word starts at zero and learns by Algorithm
        1 with V and all known words fixed, so it does not change the known words' scores or their
        order for any picture. It may still rank above a known word on a picture of the known one,
        if there were no such pictures here; include pictures of known words to prevent that.

        Parameters
        ----------
        X, y
            As for ``fit``.
        epochs : int
            Passes over these pictures; the rate falls linearly.
        """
        if not hasattr(self, "words_"):
            return self.fit(X, y)
        self.chances_ = None
        self._check_parameters()
        check_whole("WSABIE", "epochs", epochs, 1)
        scale = 1 / np.sqrt(self.mean_length_)
        vectors = widened(self._vectors(X), self.constant_)
        V = self.V_.copy()
        if self.constant_:
            V = np.concatenate([V, self.constant_row_[None]])
        known = len(self.words_)
        has, words = read_words("WSABIE", y, vectors.shape[0], self.words_)
        grown = np.zeros((len(words) - known, self.W_.shape[1]), np.float32)
        rng = generator(self.random_state)
        # What is kept of a ridge start may exceed the bound, and known words are to stay as is.
        bound = max(self.max_norm_, longest_row(V, self.W_, scale))
        descent = self._descent(V, np.concatenate([self.W_, grown]), bound, scale, rng)
        is_new = np.diff(has[:, known:].indptr) > 0
        for new in (False, True):
            rows = np.flatnonzero(is_new == new)
            block = Lessons(vectors[rows], has[rows], words)
            rate = self.learning_rate_ if new else self.learning_rate_ / 10
            for epoch in range(epochs if len(rows) else 0):
                descent.visit(block, rate * (1 - epoch / epochs), fixed=known if new else 0)
        descent.settle()
        epochs += self.epochs_
        self._publish(*self._parted(descent.V), descent.W, words, epochs, self.history_)
        return self

    def picture_vectors(self, X: ArrayLike | sp.spmatrix) -> Matrix:
        """Return Vx for each picture, plus what ``constant`` adds."""
        places: Matrix = np.asarray(self._vectors(X) @ self.V_, dtype=np.float32)
        return places + np.float32(self.constant_) * self.constant_row_

    def word_vectors(self) -> Matrix:
        """Return the words' vectors W_i, one row per word."""
        check_fitted(self)
        return self.W_

    def word_queries(self, words: Sequence[str]) -> Matrix:
        """Return VᵀW_i for words: its inner product with a picture's vector x is f_i(x).

        So an index of pictures can be searched for a word without storing anything new. What
        ``constant`` adds is the same for all pictures and is left out.
        """
        chosen = [self.word_number(word) for word in words]
        queries: Matrix = self.word_vectors()[chosen] @ self.V_.T
        return queries

    def _own_state(self) -> tuple[Arrays, Learned]:
        row = {"constant_row": self.constant_row_} if self.constant_ else {}
        return {"V": self.V_, "W": self.W_, **row}, {
            "epochs": self.epochs_,
            "mean_length": self.mean_length_,
            "constant": self.constant_,
            "learning_rate": self.learning_rate_,
            "max_norm": self.max_norm_,
        }

    def _restore_own(self, arrays: Arrays, learned: Learned) -> None:
        V, W = arrays["V"], arrays["W"]
        check_matrix("V", V)
        check_matrix("W", W, rows=len(self.words_))
        if V.shape[1] != W.shape[1]:
            raise ValueError(f"V has {V.shape[1]} dimensions and W {W.shape[1]}")
        self.constant_ = check_constant("WSABIE", learned["constant"])
        for name in ("learning_rate", "max_norm"):
            fitted = check_number("WSABIE", name, learned[name])
            setattr(self, f"{name}_", fitted)
        row = arrays["constant_row"] if self.constant_ else np.zeros(V.shape[1], np.float32)
        check_matrix("constant_row", row[None])
        if row.shape != (V.shape[1],):
            raise ValueError(f"constant_row has shape {row.shape} and V {V.shape[1]} dimensions")
        self.mean_length_ = check_number("WSABIE", "mean_length", learned["mean_length"])
        self._publish(V, row, W, self.words_, stored_whole(learned["epochs"]), self.history_)

    def _learn(self, split: Split, rng: np.random.Generator, progress: Progress) -> None:
        learned, judged, whole = split.learned, split.judged, split.whole
        if self.start == "random" or judged is None or learned is whole:
            self._learn_from(InMemory(learned), judged, rng, progress)
            return
        # What held-out pictures are for is chosen then, so all are learned from.
        total = len(learned) + len(whole)
        self._learn_from(InMemory(learned), judged, rng, _share(progress, 0, len(learned), total))
        history, confidence = self.history_, self.confidence_
        rest = _share(progress, len(learned), len(whole), total)
        self._learn_from(InMemory(whole), None, rng, rest, chosen=self._chosen)
        self.history_, self.confidence_ = history, confidence

    def _learn_again(
        self, fitted: Self, split: Split, rng: np.random.Generator, progress: Progress
    ) -> None:
        self._learn_from(InMemory(split.whole), None, rng, progress, chosen=fitted._chosen)

    def _learn_from(
        self,
        source: InMemory | OnDisk,
        judged: Lessons | None,
        rng: np.random.Generator,
        progress: Progress,
        *,
        chosen: Chosen = (None, None),
    ) -> None:
        """Learn from pictures, with what was ``chosen`` on held-out pictures before, if any."""
        mean_length = source.mean_length
        if mean_length == 0:
            raise InvalidInput("WSABIE: all vectors are zero, so there is nothing to learn from.")
        scale = 1 / np.sqrt(mean_length)
        constant = float(self.constant / scale)
        source.widen(constant)
        wide = None
        if judged is not None:
            wide = replace(judged, vectors=widened(judged.vectors, constant))
        penalty, passes = chosen
        start, sample = self._started(source, wide, scale, rng, penalty)
        ridge = (start.V.copy(), start.W.copy()) if self.start == "ridge" else None
        V, W, epochs, history = self._train(start, source, wide, scale, rng, progress, passes)
        if ridge is not None:
            V, W = with_start(ridge, V, W)
        if sample is not None and start.penalty is not None and constant:
            odds = odds_of(V, W, sample, start.penalty * mean_length, start.unit)
            V, W = (V, W) if odds is None else with_odds(V, W, odds, constant)
        self.mean_length_, self.constant_ = float(mean_length), constant
        self.learning_rate_, self.max_norm_ = start.learning_rate, start.max_norm
        self._chosen = start.penalty, epochs
        self._publish(*self._parted(V), W, source.words, epochs, history)
        self.confidence_ = self._confidence_from(judged)

    def _started(
        self,
        source: InMemory | OnDisk,
        judged: Lessons | None,
        scale: float,
        rng: np.random.Generator,
        penalty: float | None,
    ) -> tuple[Start, Lessons | None]:
        """Return where training starts, with the rate and the bound that were given.

        And the pictures that a ridge start was solved from.
        """
        some = None
        if self.start == "random":
            start = random_start(source.width, len(source.words), self.dimension, scale, rng)
        else:
            # Pictures on disk come in blocks from all over the folder, so the first is a sample.
            some = next(iter(source.blocks(rng)))
            start = ridge_start(some, judged, self.dimension, scale, rng, penalty)
        rate = start.learning_rate if self.learning_rate is None else self.learning_rate
        norm = start.max_norm if self.max_norm is None else self.max_norm
        bounded(start.V, norm * scale)
        bounded(start.W, norm)
        return replace(start, learning_rate=rate, max_norm=norm), some

    def _train(
        self,
        start: Start,
        source: InMemory | OnDisk,
        judged: Lessons | None,
        scale: float,
        rng: np.random.Generator,
        progress: Progress,
        passes: int | None,
    ) -> tuple[Matrix, Matrix, int, list[tuple[int, float]]]:
        """Train and keep a good pass; return V, W, their passes and the figures."""
        n = len(source)
        most_epochs = 30 if self.start == "random" else 20
        epochs = passes or self.epochs or int(np.clip(600_000 // max(n, 1), 5, most_epochs))
        total = epochs * n
        descent = self._descent(start.V, start.W, start.max_norm, scale, rng)
        best, most, peak, kept = (start.V, start.W), (-1.0, -1.0, 0.0), 0, epochs
        history: list[tuple[int, float]] = []
        done = 0
        for epoch in range(1, epochs + 1):
            for block in source.blocks(rng):
                rate = start.learning_rate
                if self.schedule == "decay":
                    rate *= 1 - (done + len(block) / 2) / total
                descent.visit(block, rate, further(progress, done, total))
                done += len(block)
            descent.settle()
            descent.average()
            if judged is None:
                continue
            figures = descent.figures(judged, self.choose_by)
            history.append((epoch, figures[0]))
            if figures[:2] > most[:2]:
                most, peak = figures, epoch
            plain = self.schedule == "paper"
            if peak == epoch if plain else figures[0] >= most[0] - most[2]:
                best, kept = descent.learned(), epoch
            since = epoch - max(peak, 0 if plain else UNAVERAGED)
            if self.schedule != "decay" and since >= PATIENCE:
                break
        progress(total, total)
        if judged is None:
            best = descent.learned()
        return *best, kept, history

    def _descent(
        self, V: Matrix, W: Matrix, max_norm: float, scale: float, rng: np.random.Generator
    ) -> Descent:
        return Descent(
            V,
            W,
            loss=self.loss,
            max_norm=max_norm,
            max_trials=self.max_trials,
            threads=self.threads,
            scale=scale,
            rng=rng,
            plain=self.schedule == "paper",
        )

    def _parted(self, V: Matrix) -> tuple[Matrix, Matrix]:
        """Return V and, separately, the row of the constant."""
        return (V[:-1], V[-1]) if self.constant_ else (V, np.zeros(V.shape[1], np.float32))

    def _publish(
        self,
        V: Matrix,
        constant_row: Matrix,
        W: Matrix,
        words: tuple[str, ...],
        epochs: int,
        history: Sequence[tuple[int, float]],
    ) -> None:
        self.V_, self.constant_row_, self.W_ = V, constant_row, W
        self.words_ = words
        self.n_features_in_ = len(V)
        self.epochs_ = epochs
        self.history_ = history

    def _check_parameters(self) -> None:
        who = "WSABIE"
        check_choice(who, "loss", self.loss, ("warp", "auc", "owpc"))
        check_choice(who, "schedule", self.schedule, ("decay", "fixed", "paper"))
        check_choice(who, "start", self.start, ("random", "ridge"))
        check_choice(who, "choose_by", self.choose_by, ("P@1", "MAP"))
        for name in ("learning_rate", "max_norm"):
            if getattr(self, name) is not None:
                check_number(who, name, getattr(self, name))
        check_constant(who, self.constant)
        check_whole(who, "dimension", self.dimension, 1)
        check_whole(who, "threads", self.threads, 1)
        for name in ("epochs", "max_trials"):
            if getattr(self, name) is not None:
                check_whole(who, name, getattr(self, name), 1)
        check_share(who, "held_out", self.held_out)


def _share(progress: Progress, before: int, part: int, whole: int) -> Progress:
    """Return a callable that reports a part of the work, ``part`` of ``whole`` after ``before``."""
    return lambda done, total: progress(before * total + part * done, whole * total)

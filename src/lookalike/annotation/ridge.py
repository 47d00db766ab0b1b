"""Ridge regression onto words: the closed form that other annotators are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.annotation.base import Annotator
from lookalike.annotation.confidence import Confidence, enough
from lookalike.annotation.held_out import Matrix, Split, average_precision
from lookalike.annotation.layout import check_constant, check_matrix, mean_length, widened
from lookalike.annotation.lessons import blocks
from lookalike.annotation.regression import (
    DIRECT,
    GRID,
    UNJUDGED,
    Floats,
    Regression,
    direct_solver,
    gram,
)
from lookalike.annotation.words import read_words
from lookalike.core import sparse as sp
from lookalike.core.checks import check_number, check_share
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress
from lookalike.core.seeds import RandomState
from lookalike.core.stored import Arrays, Learned, with_settings
from lookalike.core.vectors import Vectors

_WORDS = 256


@with_settings
class Ridge(Annotator):
    """Learn a vector and an offset for each word by least squares: 1 if a picture has it, else 0.

    f_i(x) = w_iᵀx + b_i with the W and b that minimise Σ |f(x) − t|² + λ(|W|² + |b|²/c²), the sum
    over pictures x with the words t, c being ``constant``: W = (XᵀX + λI)⁻¹XᵀT (Hoerl and Kennard,
    *Ridge Regression*, 1970). It has a closed form, so nothing depends on rates, passes or a seed,
    but for which pictures are held out.

    Parameters
    ----------
    regularisation : float or None
        λ, for pictures of length 1. None chooses among seven values, from 0.03 to 30, the one with
        the largest mean average precision on held-out pictures; 1 if none are held out.
    constant : float
        A constant appended to each picture's vector, for pictures of length 1: like a bias, it
        allows a word to be likely whatever a picture shows. 0 means none.
    held_out : float
        The share of the pictures, at most 2,000, to hold out: λ is chosen and confidence is
        learned there; then W is solved for again with all pictures. A word's only picture is never
        held out.
    random_state : int, Generator or None
        Which pictures are held out.

    Attributes
    ----------
    W_ : ndarray of shape (Y, d)
        The words' vectors w_i.
    offsets_ : ndarray of shape (Y,)
        b_i.
    regularisation_ : float
        The λ used, for pictures of length 1.
    history_ : list of (int, float)
        The number of each λ tried, from 1, and its held-out mean average precision.
    mean_length_ : float
        The mean squared length of the training pictures.

    Notes
    -----
    ``fit`` costs O(n·d² + d³ + d²·Y) per λ, or, with vectors of 2,048 numbers or more, O(nnz·Y)
    per round of conjugate gradients, at most 40 rounds. A model takes 4·Y·d bytes, and 4·d² more
    below 2,048 columns, with which :meth:`partial_fit` continues exactly.

    Examples
    --------
    >>> X = np.array([[1, 0.1], [1, -0.1], [0.1, 1], [-0.1, 1]])
    >>> model = Ridge(random_state=0).fit(X, ["cat", "cat", "dog", {"dog", "pet"}])
    >>> [model.words_[i] for i in model.rank([[0.0, 1.0]], k=2).words[0]]
    ['dog', 'pet']
    """

    name = "ridge"

    regularisation: float | None = None
    constant: float = 1.0
    held_out: float = 0.1
    random_state: RandomState = None

    W_: Matrix = field(init=False)
    offsets_: Matrix = field(init=False)
    regularisation_: float = field(init=False)
    mean_length_: float = field(init=False)
    constant_: float = field(init=False)
    _gram: Floats | None = field(init=False)

    @property
    def refits(self) -> bool:
        """Whether :meth:`refitted` can be called: it can, with the λ that was chosen."""
        return True

    def partial_fit(self, X: ArrayLike | sp.spmatrix, y: Any) -> Self:
        """Continue with more pictures, and with new words.

        The result is that of ``fit`` with all pictures so far and the same λ, where the pictures of
        before do not have the new words. Before ``fit`` it is the same as ``fit``. Raise
        InvalidInput for vectors of 2,048 numbers or more, for which XᵀX is not kept.
        """
        if not hasattr(self, "words_"):
            return self.fit(X, y)
        self.chances_ = None
        if self._gram is None:
            raise InvalidInput(
                f"Ridge cannot learn incrementally from vectors of {DIRECT} numbers or more. "
                f"Call fit with all pictures."
            )
        vectors = widened(self._vectors(X), self.constant_)
        has, words = read_words("Ridge", y, vectors.shape[0], self.words_)
        penalty = self.regularisation_ * self.mean_length_
        more = Regression(vectors)
        right = more.onto(has)
        # What XᵀT was, from (XᵀX + λI)B = XᵀT.
        B = self._solution()
        right[:, : len(self.words_)] += self._gram @ B + penalty * B
        total = self._gram + gram(vectors)
        self._publish(direct_solver(total, penalty)(right), total, words)
        return self

    def scores(self, X: ArrayLike | sp.spmatrix) -> Matrix:
        """Return the score of every word for each picture, of shape (pictures, words)."""
        vectors = self._vectors(X)
        return np.asarray(vectors @ self.W_.T, np.float32) + self.offsets_

    def word_queries(self, words: Sequence[str]) -> Matrix:
        """Return w_i for words: its inner product with a picture's vector x is f_i(x) − b_i."""
        return np.ascontiguousarray(self.W_[[self.word_number(word) for word in words]])

    def _learn(self, split: Split, rng: np.random.Generator, progress: Progress) -> None:
        whole, judged = split.whole, split.judged
        mean = mean_length("Ridge", whole.vectors)
        constant = self.constant * float(np.sqrt(mean))
        tried = GRID if self.regularisation is None else (self.regularisation,)
        chosen = tried[0] if len(tried) == 1 else UNJUDGED
        history: list[tuple[int, float]] = []
        confidence = None
        if judged is not None:
            part = Regression(widened(split.learned.vectors, constant))
            seen = widened(judged.vectors, constant)
            solutions = []
            for number, value in enumerate(tried, start=1):
                solutions.append(_solve(part, split.learned.has, value * mean))
                score = partial(_scores, seen, solutions[-1])
                history.append((number, average_precision(score, judged.has)[0]))
                progress(number, len(tried) + 1)
            best = int(np.argmax([figure for _, figure in history]))
            chosen = tried[best]
            rows = enough(len(judged), len(whole.words))
            confidence = Confidence.learned(_scores(seen, solutions[best], rows), judged.has[rows])
        every = Regression(widened(whole.vectors, constant))
        B = _solve(every, whole.has, chosen * mean)
        progress(len(tried) + 1, len(tried) + 1)
        self.regularisation_, self.mean_length_, self.constant_ = chosen, mean, constant
        self.history_, self.confidence_ = history, confidence
        self._publish(B, every.gram, whole.words)

    def _own_state(self) -> tuple[Arrays, Learned]:
        arrays = {"W": self.W_, "offsets": self.offsets_}
        if self._gram is not None:
            arrays["gram"] = self._gram.astype(np.float32)
        return arrays, {
            "regularisation": self.regularisation_,
            "mean_length": self.mean_length_,
            "constant": self.constant_,
        }

    def _restore_own(self, arrays: Arrays, learned: Learned) -> None:
        W, offsets = arrays["W"], arrays["offsets"]
        check_matrix("W", W, rows=len(self.words_))
        check_matrix("offsets", offsets[:, None], rows=len(self.words_))
        self.constant_ = check_constant("Ridge", learned["constant"])
        self.mean_length_ = check_number("Ridge", "mean_length", learned["mean_length"])
        self.regularisation_ = check_number("Ridge", "regularisation", learned["regularisation"])
        self._gram = None
        if "gram" in arrays:
            width = W.shape[1] + int(self.constant_ > 0)
            check_matrix("gram", arrays["gram"], rows=width)
            if arrays["gram"].shape != (width, width):
                raise ValueError(f"gram has shape {arrays['gram'].shape}, not {width} × {width}")
            self._gram = arrays["gram"].astype(np.float64)
        self.W_, self.offsets_, self.n_features_in_ = W, offsets, W.shape[1]

    def _solution(self) -> Floats:
        """Return W and the offsets as they were solved for, one column per word."""
        if not self.constant_:
            return self.W_.T.astype(np.float64)
        return np.vstack([self.W_.T, self.offsets_ / self.constant_]).astype(np.float64)

    def _publish(self, B: Floats, total: Floats | None, words: tuple[str, ...]) -> None:
        if self.constant_:
            B, row = B[:-1], B[-1] * self.constant_
        else:
            row = np.zeros(len(words))
        self.W_ = np.ascontiguousarray(B.T, np.float32)
        self.offsets_ = row.astype(np.float32)
        self._gram = total
        self.words_ = words
        self.n_features_in_ = len(B)

    def _check_parameters(self) -> None:
        if self.regularisation is not None:
            check_number("Ridge", "regularisation", self.regularisation)
        check_constant("Ridge", self.constant)
        check_share("Ridge", "held_out", self.held_out)


def _solve(regression: Regression, has: sp.csr_matrix, penalty: float) -> Floats:
    """Return the ridge solution, one column per word, a few words at a time."""
    B = np.empty((regression.vectors.shape[1], has.shape[1]))
    solve, columns = regression.solver(penalty), has.tocsc()
    for some in blocks(has.shape[1], _WORDS):
        B[:, some] = solve(regression.onto(columns[:, some]))
    return B


def _scores(vectors: Vectors, B: Floats, rows: slice | NDArray[np.int64]) -> Matrix:
    """Return the scores of the pictures in some rows, in the layout of :func:`_solve`."""
    return np.asarray(vectors[rows] @ B, np.float32)

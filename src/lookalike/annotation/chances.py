"""How sure words are for any picture of a collection, tagged or not: log odds for each word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.confidence import MIN_PICTURES
from lookalike.annotation.held_out import Matrix
from lookalike.annotation.layout import check_matrix, mean_length, widened
from lookalike.annotation.regression import DIRECT, Floats, Solver, direct_solver, gram
from lookalike.core import sparse as sp
from lookalike.core.stored import Arrays
from lookalike.core.vectors import Vectors, dense

OPEN, CLOSED = 10.0, 1.0
"""λ of the regressions among all pictures and among tagged ones, for pictures of length 1."""

SLOPE, SHARE, SHIFT = 0.87, 4.7, -5.75
"""Fitted to four sets of pictures with known words (``docs/decisions/0027``)."""

UNLIKE, LIKE = 0.7, 0.9
"""How much less likely the likeliest words of others are, where tagged ones tell nothing of them.

Of pictures tagged at random it is .9 to 1.6, of twelve words given to 8 to 40 pictures .2 to .65.
"""

TELLING, PRIOR = 1.5, 3.0
"""Deviations above the mean from which a word counts that is not among its picture's likeliest two;
and how strongly log odds are left as they are."""

MIN_OTHERS = 20
"""The minimum number of pictures without words to tell from how words fit any picture."""

MAX_OTHERS = 4000
"""The most of them that are looked at."""


@dataclass(frozen=True)
class Chances:
    """The probability that a picture x of the collection shows the word w, σ(g_wᵀx + h_w).

    People tag a few pictures of a collection, and of these only some words: among tagged pictures
    a word is likelier than among all, and most kinds of pictures have none. So it stands on two
    ridge regressions onto words, C among tagged pictures, and O among all, where those without
    words have none and count together as much as the tagged ones. With the mean m and the
    deviation s of O_w over pictures without words,

        logit P(w) = 0.87·(O_w(x) − m)/s + 4.7·C_w(x) − 5.75,

    one linear form for each word. Where people tag some words of some pictures, what their tags
    leave unsaid cannot be told from what is not there, so nothing in it is fitted to these tags.
    Where tagged pictures are like all others, the log odds are brought to how often tagged
    pictures have words that fit, each judged as if it had not been learned from. Of n pictures
    with a word no probability above (n + 1)/(n + 2) is said.

    Attributes
    ----------
    queries : ndarray of shape (Y, d)
        g_w.
    offsets, most : ndarray of shape (Y,)
        h_w, and the largest probability.
    """

    queries: Matrix
    offsets: Matrix
    most: Matrix

    @classmethod
    def learned(cls, tagged: Vectors, has: sp.csr_matrix, others: Vectors) -> Chances | None:
        """Learn from tagged pictures, which word they have, and pictures without words.

        Where next to all are tagged, these stand for any. None from too few pictures, or from
        vectors that are too long to solve for.
        """
        T, N = tagged.shape[0], others.shape[0]
        if T < MIN_PICTURES or tagged.shape[1] >= DIRECT:
            return None
        mean = mean_length("learn", tagged)
        X, U = (
            np.asarray(dense(widened(one, float(np.sqrt(mean)))), np.float64)
            for one in (tagged, others)
        )
        inner, true = gram(X), has.toarray()
        weight = min(1.0, T / N) if N else 0.0
        closed, closed_out = _solved(direct_solver(inner, CLOSED * mean), X, true)
        opened, opened_out = _solved(direct_solver(inner + weight * gram(U), OPEN * mean), X, true)
        scores = U @ opened if N >= MIN_OTHERS else opened_out
        middle, spread = scores.mean(axis=0), np.maximum(scores.std(axis=0), 1e-12)
        form: Floats = SLOPE * opened / spread + SHARE * closed
        shift = SHIFT - SLOPE * middle / spread
        # The log odds of tagged pictures, had they not been learned from.
        logits = SLOPE * opened_out / spread + SHARE * closed_out + shift
        others_logits = U @ form + shift if N >= MIN_OTHERS else logits
        slope, more = _brought(logits, opened_out - middle > TELLING * spread, true, others_logits)
        offsets = slope * (form[-1] * np.sqrt(mean) + shift) + more
        uses = true.sum(axis=0)
        most = (uses + 1) / (uses + 2)
        queries = slope * form[:-1].T
        return cls(*(np.ascontiguousarray(it, np.float32) for it in (queries, offsets, most)))

    def of(self, X: Vectors, words: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probability that pictures show words, given by number, a row a picture."""
        from scipy.special import expit

        rows = np.arange(len(words))[:, None]
        logits = np.asarray(X @ self.queries.T, np.float64)[rows, words] + self.offsets[words]
        chances: NDArray[np.float64] = np.minimum(expit(logits), self.most[words])
        return chances

    def arrays(self) -> Arrays:
        """Return what is saved."""
        return {f"chances_{name}": one for name, one in vars(self).items()}

    @classmethod
    def is_in(cls, arrays: Arrays) -> bool:
        """Return whether arrays that were saved hold chances."""
        return "chances_queries" in arrays

    @classmethod
    def read(cls, arrays: Arrays, words: int) -> Chances:
        """Return what was saved, or raise ValueError."""
        queries, offsets, most = (
            arrays[f"chances_{name}"] for name in ("queries", "offsets", "most")
        )
        check_matrix("queries of chances", queries, rows=words)
        for name, one in (("offsets", offsets), ("most", most)):
            check_matrix(f"{name} of chances", one[:, None], rows=words)
        return cls(queries, offsets, most)


def _solved(solve: Solver, X: Floats, true: Floats) -> tuple[Floats, Floats]:
    """Return ridge regression onto words, and the scores of pictures had they been left out."""
    solution = solve(X.T @ true)
    leverage = np.einsum("ij,ji->i", X, solve(X.T))[:, None]
    return solution, (X @ solution - leverage * true) / (1 - leverage)


def _brought(
    tagged: Floats, telling: NDArray[np.bool_], true: Floats, others: Floats
) -> tuple[float, float]:
    """Return the slope and shift that bring log odds to how often tagged pictures have words.

    As far as others look like tagged ones: by the mean probability of a picture's likeliest word.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    likeness = expit(others.max(axis=1)).mean() / expit(tagged.max(axis=1)).mean()
    share = float(np.clip((likeness - UNLIKE) / (LIKE - UNLIKE), 0, 1))
    if share == 0:
        return 1.0, 0.0
    second = np.sort(tagged, axis=1)[:, -2:][:, :1]
    counted = telling | (tagged >= second)
    z, y = tagged[counted], true[counted]

    def surprise(x: NDArray[np.float64]) -> float:
        away = x - (1.0, 0.0)
        logits = x[0] * z + x[1]
        return float((np.logaddexp(0, logits) - y * logits).sum() + PRIOR / 2 * away @ away)

    slope, shift = minimize(surprise, [1.0, 0.0], bounds=[(0.0, None), (None, None)]).x
    return float(1 + share * (slope - 1)), float(share * shift)

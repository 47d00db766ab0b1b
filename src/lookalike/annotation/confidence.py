"""Estimate the confidence of words, so that about 80 % of the words given with 80 % are right."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation._fast.top import keep_top
from lookalike.core import sparse as sp

CANDIDATES = 5
"""The best words of each held-out picture, from which confidence is learned.

Of more, most are wrong and never said, and the fit would go by those.
"""

MIN_PICTURES = 20
"""The minimum number of held-out pictures to learn confidence from."""

UNTAUGHT = 5.0
"""How many pictures those of kinds that were never taught count for, all together.

More teach more caution on such pictures, but too much of it on others where few are held out.
"""

MAX_SCORES = 1 << 25
"""The most scores that confidence is learned from at once."""

_PRIOR = 3.0
_EDGE = 1e-6


@dataclass(frozen=True)
class Confidence:
    """Turn the scores of a picture's words into the probability that each is true.

    First p_i = exp(βf_i) / Σ_j exp(βf_j), with the β that makes the held-out pictures' true
    words most likely; then beta calibration (Kull, Silva Filho and Flach, 2017),

        logit P(i is true) = a·ln p_i − b·ln(1 − p_i) + c + d·ln Σ_j exp(βf_j),   a, b ≥ 0,

    fitted on the best words of held-out pictures. So a picture may have several likely words. The
    last term is ours: p_i alone cannot tell a picture of which much is known from one of which
    little is.

    Where all held-out pictures are right, the likelihood alone would make any word certain. So β
    is learned from one more picture, an average one whose true word may be any; true words have
    the target (N₊ + 1)/(N₊ + 2) and others 1/(N₋ + 2) (Platt, *Probabilistic outputs for support
    vector machines*, 1999); and of n pictures no confidence above (n + 1)/(n + 2) is learned. Each
    picture also counts a little without its true words, like one of a kind that was never taught.

    Parameters
    ----------
    sharpness : float
        β.
    a, b, c, d : float
        What the second step learned; 1, 1, 0, 0 leave p unchanged.
    most : float
        The highest confidence.
    """

    sharpness: float
    a: float = 1.0
    b: float = 1.0
    c: float = 0.0
    d: float = 0.0
    most: float = 1.0

    @classmethod
    def learned(cls, scores: NDArray[np.float32], has: sp.csr_matrix) -> Confidence | None:
        """Learn from scores (pictures × words) and the true words; None from too few pictures."""
        if scores.shape[0] < MIN_PICTURES:
            return None
        start = cls(_sharpness(scores, has))
        p, sums, words = start._best(scores)
        rows = np.repeat(np.arange(len(scores)), words.shape[1])
        true = np.asarray(has[rows, words.ravel()]).ravel() > 0
        targets = np.where(true, 1 - 1 / (true.sum() + 2), 1 / ((~true).sum() + 2))
        # Once more without the true words: all others are wrong.
        others = _without_true(scores, has)
        p_others, sums_others, _ = start._best(others)
        weight = UNTAUGHT / max(len(others), 1)
        weights = np.repeat([1.0, weight], [p.size, p_others.size])
        fitted = _beta(
            np.concatenate([p, p_others]),
            np.concatenate([sums, sums_others]),
            np.concatenate([targets, np.zeros(p_others.size)]),
            weights,
        )
        return cls(start.sharpness, *fitted, most=1 - 1 / (len(scores) + 2))

    def of(self, best: NDArray[np.float32], scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the probability that words with the scores ``best`` are true."""
        from scipy.special import expit

        sums = _log_sums(self.sharpness, scores)
        p = self._shares(best, sums)
        logit = self.a * np.log(p) - self.b * np.log1p(-p) + self.c + self.d * sums[:, None]
        chances: NDArray[np.float64] = np.minimum(expit(logit), self.most)
        return chances

    def written(self) -> dict[str, float]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def read(cls, written: dict[str, Any] | None) -> Confidence | None:
        """Return the confidence that :meth:`written` wrote; None for None."""
        if written is None:
            return None
        numbers = {name: float(value) for name, value in written.items()}
        if not np.isfinite(list(numbers.values())).all():
            raise ValueError(f"confidence must be finite; got {numbers}")
        return cls(**numbers)

    def _best(
        self, scores: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Return p and ln Σ exp(βf) of the best words of all pictures in turn, and the words."""
        k = min(CANDIDATES, scores.shape[1])
        best = np.full((len(scores), k), -np.inf, np.float32)
        words = np.zeros((len(scores), k), np.int64)
        keep_top(scores, 0, best, words)
        sums = _log_sums(self.sharpness, scores)
        return self._shares(best, sums).ravel(), np.repeat(sums, k), words

    def _shares(self, best: NDArray[np.float32], sums: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = np.exp(self.sharpness * best.astype(np.float64) - sums[:, None])
        clipped: NDArray[np.float64] = np.clip(shares, _EDGE, 1 - _EDGE)
        return clipped


def enough(pictures: int, words: int, max_scores: int = MAX_SCORES) -> NDArray[np.int64]:
    """Return evenly spaced rows of pictures to learn from, so that scores fit in memory."""
    most = max(MIN_PICTURES, max_scores // words)
    return np.linspace(0, pictures - 1, min(pictures, most)).astype(np.int64)


def _log_sums(sharpness: float, scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return ln Σ_j exp(βf_j) for each row."""
    top = scores.max(axis=1)
    inner = np.exp(np.float32(sharpness) * (scores - top[:, None])).sum(axis=1, dtype=np.float64)
    sums: NDArray[np.float64] = sharpness * top.astype(np.float64) + np.log(inner)
    return sums


def _without_true(scores: NDArray[np.float32], has: sp.csr_matrix) -> NDArray[np.float32]:
    """Return the scores of pictures that lack some word, with those of true words at −∞."""
    lacking = np.flatnonzero(np.diff(has.indptr) < has.shape[1])
    others = scores[lacking]
    entries = has[lacking].tocoo()
    others[entries.row, entries.col] = -np.inf
    return others


def _sharpness(scores: NDArray[np.float32], has: sp.csr_matrix) -> float:
    from scipy.optimize import minimize_scalar

    entries = has.tocoo()
    weights = 1.0 / np.diff(has.indptr)[entries.row]
    true = scores[entries.row, entries.col].astype(np.float64)
    means = scores.mean(axis=1)

    def surprise(log_sharpness: float) -> float:
        sharpness = float(np.exp(log_sharpness))
        sums = _log_sums(sharpness, scores)
        any_word = float(np.mean(sums - sharpness * means))
        return float(np.sum(weights * (sums[entries.row] - sharpness * true))) + any_word

    above = scores.max(axis=1) - means
    spread = float(np.std(above)) + float(np.mean(above))
    centre = -np.log(max(spread, 1e-12))
    solution = minimize_scalar(surprise, bounds=(centre - 5, centre + 7), method="bounded")
    return float(np.exp(solution.x))


def _beta(
    p: NDArray[np.float64],
    sums: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> tuple[float, float, float, float]:
    """Fit a, b, c, d by maximum likelihood, regularised towards 1, 1, 0, 0 for small data."""
    from scipy.optimize import minimize
    from scipy.special import expit

    middle = float(np.average(sums, weights=weights))
    features = np.stack([np.log(p), -np.log1p(-p), np.ones_like(p), sums - middle], axis=1)
    start = np.array([1.0, 1.0, 0.0, 0.0])

    def cost(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        z = features @ x
        slope = weights * (expit(z) - targets)
        away = x - start
        total = float(weights @ (np.logaddexp(0, z) - targets * z) + _PRIOR / 2 * away @ away)
        return total, features.T @ slope + _PRIOR * away

    bounds = [(0.0, None), (0.0, None), (None, None), (None, None)]
    a, b, c, d = minimize(cost, start, jac=True, bounds=bounds, method="L-BFGS-B").x.tolist()
    return a, b, c - d * middle, d

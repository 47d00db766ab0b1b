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

LEAST = 20
"""The minimum number of held-out pictures to learn confidence from."""

_MOST_SCORES = 1 << 25
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

    Parameters
    ----------
    sharpness : float
        β.
    a, b, c, d : float
        What the second step learned; 1, 1, 0, 0 leave p unchanged.
    """

    sharpness: float
    a: float = 1.0
    b: float = 1.0
    c: float = 0.0
    d: float = 0.0

    @classmethod
    def learned(cls, scores: NDArray[np.float32], has: sp.csr_matrix) -> Confidence | None:
        """Learn from scores (pictures × words) and the true words; None from too few pictures."""
        if scores.shape[0] < LEAST:
            return None
        start = cls(_sharpness(scores, has))
        k = min(CANDIDATES, scores.shape[1])
        best = np.full((len(scores), k), -np.inf, np.float32)
        words = np.zeros((len(scores), k), np.int64)
        keep_top(scores, 0, best, words)
        sums = _log_sums(start.sharpness, scores)
        rows = np.repeat(np.arange(len(scores)), k)
        true = np.asarray(has[rows, words.ravel()]).ravel() > 0
        return cls(
            start.sharpness, *_beta(start._shares(best, sums).ravel(), np.repeat(sums, k), true)
        )

    def of(self, best: NDArray[np.float32], scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the probability that words with the scores ``best`` are true."""
        from scipy.special import expit

        sums = _log_sums(self.sharpness, scores)
        p = self._shares(best, sums)
        logit = self.a * np.log(p) - self.b * np.log1p(-p) + self.c + self.d * sums[:, None]
        chances: NDArray[np.float64] = expit(logit)
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

    def _shares(self, best: NDArray[np.float32], sums: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = np.exp(self.sharpness * best.astype(np.float64) - sums[:, None])
        clipped: NDArray[np.float64] = np.clip(shares, _EDGE, 1 - _EDGE)
        return clipped


def enough(pictures: int, words: int) -> NDArray[np.int64]:
    """Return evenly spaced rows of pictures to learn from, so that scores fit in memory."""
    most = max(LEAST, _MOST_SCORES // words)
    return np.linspace(0, pictures - 1, min(pictures, most)).astype(np.int64)


def _log_sums(sharpness: float, scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return ln Σ_j exp(βf_j) for each row."""
    top = scores.max(axis=1)
    inner = np.exp(np.float32(sharpness) * (scores - top[:, None])).sum(axis=1, dtype=np.float64)
    sums: NDArray[np.float64] = sharpness * top.astype(np.float64) + np.log(inner)
    return sums


def _sharpness(scores: NDArray[np.float32], has: sp.csr_matrix) -> float:
    from scipy.optimize import minimize_scalar

    entries = has.tocoo()
    weights = 1.0 / np.diff(has.indptr)[entries.row]
    true = scores[entries.row, entries.col].astype(np.float64)

    def surprise(log_sharpness: float) -> float:
        sharpness = float(np.exp(log_sharpness))
        sums = _log_sums(sharpness, scores)[entries.row]
        return float(np.sum(weights * (sums - sharpness * true)))

    spread = float(np.std(scores.max(axis=1) - scores.mean(axis=1))) + float(
        np.mean(scores.max(axis=1) - scores.mean(axis=1))
    )
    centre = -np.log(max(spread, 1e-12))
    found = minimize_scalar(surprise, bounds=(centre - 5, centre + 7), method="bounded")
    return float(np.exp(found.x))


def _beta(
    p: NDArray[np.float64], sums: NDArray[np.float64], true: NDArray[np.bool_]
) -> tuple[float, float, float, float]:
    """Fit a, b, c, d by maximum likelihood, regularised towards 1, 1, 0, 0 for small data."""
    from scipy.optimize import minimize
    from scipy.special import expit

    middle = float(sums.mean())
    features = np.stack([np.log(p), -np.log1p(-p), np.ones_like(p), sums - middle], axis=1)
    sign = np.where(true, -1.0, 1.0)
    start = np.array([1.0, 1.0, 0.0, 0.0])

    def cost(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        z = sign * (features @ x)
        slope = sign * expit(z)
        away = x - start
        total = float(np.logaddexp(0, z).sum() + _PRIOR / 2 * away @ away)
        return total, features.T @ slope + _PRIOR * away

    bounds = [(0.0, None), (0.0, None), (None, None), (None, None)]
    a, b, c, d = minimize(cost, start, jac=True, bounds=bounds, method="L-BFGS-B").x.tolist()
    return a, b, c - d * middle, d

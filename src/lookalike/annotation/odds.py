"""Make the scores of words comparable: bring each to the log odds that a picture has the word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.confidence import MIN_PICTURES, enough
from lookalike.annotation.held_out import Matrix
from lookalike.annotation.lessons import Lessons, blocks
from lookalike.annotation.regression import Floats, Regression
from lookalike.core.vectors import dense

OVERFIT = 1.5
"""By how much more than the ridge solution a joint embedding that starts there fits its pictures.

Measured on pictures that were held out (``docs/decisions/0010``).
"""

ROUNDS = 12
_WORDS = 64
_MIN_SLOPE = 0.1


@dataclass(frozen=True)
class Odds:
    """The log odds that a picture has the word i, a_i·f_i + b_i, in the unit of the scores f.

    Only what differs between words counts here: slopes are divided by their mean, and offsets are
    without theirs, so that on average scores stay as they are.

    Attributes
    ----------
    slopes : ndarray of shape (Y,)
        a_i, above 0, so that a word's order of pictures does not change.
    offsets : ndarray of shape (Y,)
        b_i.
    """

    slopes: Floats
    offsets: Floats

    @classmethod
    def learned(cls, scores: Matrix, true: NDArray[np.bool_]) -> Odds | None:
        """Learn from scores (pictures × words) of pictures and the words that are true.

        Logistic regression for each word, with a normal prior of the words' slopes and offsets
        whose mean and covariance are learned from all words by expectation maximisation (empirical
        Bayes; the Laplace approximation stands for the posteriors): the fewer pictures a word has,
        the nearer it stays to the others. None where scores say nothing, or pictures are too few.
        """
        if len(scores) < MIN_PICTURES or not true.any() or true.all():
            return None
        unit = float(scores.std())
        if unit == 0:
            return None
        columns = np.ascontiguousarray(scores.T / np.float32(unit))
        has = np.ascontiguousarray(true.T)
        common = true.mean()
        centre, spread = np.array([1.0, np.log(common / (1 - common))]), np.eye(2)
        result = np.tile(centre, (len(columns), 1))
        here = _Likelihood.at(result, columns, has)
        share = np.ones(len(columns))
        for _ in range(ROUNDS):
            prior = np.asarray(np.linalg.inv(spread), np.float64)
            slope = here.slope - (result - centre) @ prior
            step = np.linalg.solve(here.curvature + prior, slope[:, :, None])[:, :, 0]
            tried = result + share[:, None] * step
            there = _Likelihood.at(tried, columns, has)
            rise = there.value - here.value
            rise -= (_lengths(tried - centre, prior) - _lengths(result - centre, prior)) / 2
            better = rise >= 0
            result = np.where(better[:, None], tried, result)
            here = there.where(better, here)
            # A step of Newton's method may go too far.
            share = np.where(better, 1.0, share / 2)
            doubt = np.linalg.inv(here.curvature + prior).mean(axis=0)
            centre = result.mean(axis=0)
            away = result - centre
            spread = away.T @ away / len(away) + doubt
        if not centre[0] > 0:
            return None
        slopes = np.maximum(result[:, 0] / centre[0], _MIN_SLOPE)
        return cls(slopes, (result[:, 1] - centre[1]) * unit / centre[0])


@dataclass(frozen=True)
class _Likelihood:
    """The log likelihood of each word's slope and offset, its gradient and minus its Hessian."""

    value: Floats
    slope: Floats
    curvature: Floats

    @classmethod
    def at(cls, result: Floats, columns: Matrix, has: NDArray[np.bool_]) -> _Likelihood:
        Y = len(columns)
        value, slope, curvature = np.empty(Y), np.empty((Y, 2)), np.empty((Y, 2, 2))
        for some in blocks(Y, _WORDS):
            s, true = columns[some], has[some]
            a, b = (result[some, number, None].astype(np.float32) for number in (0, 1))
            logits = a * s + b
            small = np.exp(-np.abs(logits))
            chances = np.where(logits > 0, 1, small) / (1 + small)
            # ln P of what is the case: z where it is true, less ln(1 + exp z).
            gained = np.where(true, logits, 0) - np.maximum(logits, 0) - np.log(1 + small)
            value[some] = gained.sum(axis=1)
            missed = true - chances
            weights = chances * (1 - chances)
            slope[some] = np.stack([_sums(missed, s), missed.sum(axis=1)], axis=1)
            cross = _sums(weights, s)
            curvature[some, 0, 0] = _sums(weights * s, s)
            curvature[some, 0, 1] = curvature[some, 1, 0] = cross
            curvature[some, 1, 1] = weights.sum(axis=1)
        return cls(value, slope, curvature)

    def where(self, chosen: NDArray[np.bool_], other: _Likelihood) -> _Likelihood:
        """Return it for the words that are chosen, and another for the rest."""
        return _Likelihood(
            np.where(chosen, self.value, other.value),
            np.where(chosen[:, None], self.slope, other.slope),
            np.where(chosen[:, None, None], self.curvature, other.curvature),
        )


def left_out(lessons: Lessons, penalty: float, rows: NDArray[np.int64]) -> Floats | None:
    """Return by how much ridge scores of pictures would change had they not been learned from.

    Without the picture x, its scores f(x) become f(x) + (f(x) − t)·h/(1 − h), where t are its
    words and h = xᵀ(XᵀX + λI)⁻¹x (Allen, *The relationship between variable selection and data
    augmentation and a method for prediction*, 1974). None for vectors too long to solve for.
    """
    regression = Regression(lessons.vectors)
    if regression.gram is None:
        return None
    solve, columns = regression.solver(penalty), lessons.has.tocsc()
    some = lessons.vectors[rows]
    pictures = np.asarray(dense(some), np.float64)
    leverage = np.einsum("ij,ji->i", pictures, solve(pictures.T))
    change: Floats = -lessons.has[rows].toarray().astype(np.float64)
    for words in blocks(columns.shape[1], _WORDS):
        change[:, words] += pictures @ solve(regression.onto(columns[:, words]))
    change *= (leverage / (1 - leverage))[:, None]
    return change


def odds_of(V: Matrix, W: Matrix, lessons: Lessons, penalty: float, unit: float) -> Odds | None:
    """Learn the log odds of words from the pictures that taught them.

    ``unit`` is what 1 of the ridge solution is in VWᵀ. Scores of pictures that were learned from
    are too good, so each is first brought to about what it would be had the picture been left out.
    """
    rows = enough(len(lessons), len(lessons.words))
    change = left_out(lessons, penalty, rows)
    if change is None:
        return None
    scores = np.asarray(lessons.vectors[rows] @ V) @ W.T
    scores += (OVERFIT * unit * change).astype(np.float32)
    return Odds.learned(scores, lessons.has[rows].toarray() > 0)


def _lengths(away: Floats, prior: Floats) -> Floats:
    """Return the squared length of each row in the metric of a prior."""
    lengths: Floats = np.einsum("ij,jk,ik->i", away, prior, away)
    return lengths


def _sums(left: Matrix, right: Matrix) -> Matrix:
    sums: Matrix = np.einsum("ij,ij->i", left, right)
    return sums

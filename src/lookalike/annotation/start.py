"""Where a joint embedding starts: at random, or at the ridge solution cut to its dimension."""

from dataclasses import dataclass

import numpy as np

from lookalike.annotation.held_out import Matrix, average_precision
from lookalike.annotation.lessons import Lessons
from lookalike.annotation.odds import Odds
from lookalike.annotation.regression import GRID, UNJUDGED, Floats, Regression, low_rank

RATE, NORM = 0.05, 1.5
"""The rate and the bound that suit a random start, for pictures of length 1."""

STEP = 0.03
"""By how much of the margin a step of weight 1 from the ridge solution raises f_y(x) − f_ȳ(x)."""

TIGHT = 0.75
"""The bound on the rows' norms, as a share of the longest row of the ridge solution."""

KEPT = 0.35
"""How much of the ridge solution is kept beside what was learned from there."""


@dataclass(frozen=True)
class Start:
    """V (d × D) and W (Y × D), and the rate and the bound that suit them.

    Of a ridge start also its λ, and what its scores were multiplied by.
    """

    V: Matrix
    W: Matrix
    learning_rate: float
    max_norm: float
    penalty: float | None = None
    unit: float = 1.0


def random_start(d: int, Y: int, D: int, scale: float, rng: np.random.Generator) -> Start:
    """Return normal deviates (paper 2, section 3), for pictures of the mean length 1/``scale``."""
    V = rng.standard_normal((d, D), np.float32) * np.float32(scale / np.sqrt(d))
    W = rng.standard_normal((Y, D), np.float32) * np.float32(1 / np.sqrt(d))
    return Start(V, W, RATE, NORM)


def ridge_start(
    lessons: Lessons,
    judged: Lessons | None,
    D: int,
    scale: float,
    rng: np.random.Generator,
    penalty: float | None = None,
) -> Start:
    """Return ridge regression onto words, cut to the dimension D.

    λ is ``penalty``, for pictures of length 1, or if that is None the one with the largest mean
    average precision on the pictures ``judged``, or 1 if there are none. The solution is
    scaled so that true words score 1 above others on average, the margin that is trained for.
    Dimensions beyond its rank start at random for pictures and at zero for words, so that they
    change no score but can be learned. With e = E|Vx|² and w = E|W_y|² a step of size γ raises
    f_y(x) − f_ȳ(x) by about γ·(e + w), so γ = ``STEP``/(e + w).
    """
    Y, d = len(lessons.words), int(lessons.vectors.shape[1])
    regression = Regression(lessons.vectors)
    # Iterating for every λ would take longer than all training.
    choose = penalty is None and judged is not None and regression.gram is not None
    tried = GRID if choose else (penalty or UNJUDGED,)
    result = [low_rank(regression, lessons.has, one / scale**2, min(D, Y, d), rng) for one in tried]
    best = 0
    if choose and judged is not None:
        best = int(np.argmax([_mean_average_precision(judged, *one) for one in result]))
    features, words = result[best]
    places = np.asarray(lessons.vectors @ features)
    factor = 1 / np.sqrt(_lead(lessons, places, words))
    spare = random_start(d, Y, D - features.shape[1], scale, rng)
    V: Matrix = np.hstack([factor * features, spare.V]).astype(np.float32)
    W: Matrix = np.hstack([factor * words, 0 * spare.W]).astype(np.float32)
    lengths = np.square(lessons.vectors @ V).sum(axis=1).mean()
    lengths += np.square(W[lessons.has.indices]).sum(axis=1).mean()
    bound = TIGHT * longest_row(V, W, scale)
    return Start(V, W, float(STEP / lengths), bound, tried[best], float(factor**2))


def longest_row(V: Matrix, W: Matrix, scale: float) -> float:
    """Return the length of the longest row of V, for pictures of length 1, or of W."""
    return float(max(np.linalg.norm(V, axis=1).max() / scale, np.linalg.norm(W, axis=1).max()))


def with_start(start: tuple[Matrix, Matrix], V: Matrix, W: Matrix) -> tuple[Matrix, Matrix]:
    """Return V and W of s·V₀W₀ᵀ + (1 − s)·VWᵀ, s = ``KEPT`` of the start, cut to the dimension."""
    left = np.hstack([(1 - KEPT) * V, KEPT * start[0]])
    return _cut(left, np.hstack([W, start[1]]), V.shape[1])


def with_odds(V: Matrix, W: Matrix, odds: Odds, constant: float) -> tuple[Matrix, Matrix]:
    """Return V and W whose scores are a_i·f_i(x) + b_i, cut to the dimension.

    The last row of V is that of the constant appended to pictures, which carries the offsets.
    """
    carrier = np.zeros((len(V), 1), np.float32)
    carrier[-1] = 1 / constant
    slopes, offsets = (
        numbers.astype(np.float32)[:, None] for numbers in (odds.slopes, odds.offsets)
    )
    return _cut(np.hstack([V, carrier]), np.hstack([slopes * W, offsets]), V.shape[1])


def _cut(V: Matrix, W: Matrix, dimension: int) -> tuple[Matrix, Matrix]:
    """Return the VWᵀ nearest to that given, with so many columns of V and W."""
    left, upper = np.linalg.qr(V)
    right, lower = np.linalg.qr(W)
    turned, values, last = np.linalg.svd(upper @ lower.T, full_matrices=False)
    D = min(dimension, len(values))
    roots = np.sqrt(values[:D])
    cut_V = np.zeros((len(V), dimension), np.float32)
    cut_W = np.zeros((len(W), dimension), np.float32)
    cut_V[:, :D] = left @ (turned[:, :D] * roots)
    cut_W[:, :D] = right @ (last[:D].T * roots)
    return cut_V, cut_W


def _mean_average_precision(judged: Lessons, V: Floats, W: Floats) -> float:
    places = np.asarray(judged.vectors @ V)
    return average_precision(lambda rows: (places[rows] @ W.T).astype(np.float32), judged.has)[0]


def _lead(lessons: Lessons, places: Floats, W: Floats) -> float:
    """Return by how much the true words of pictures score above the others on average."""
    n, Y = lessons.has.shape
    entries = lessons.has.tocoo()
    true = np.einsum("ij,ij->", places[entries.row], W[entries.col])
    others = n * Y - entries.nnz
    lead = true / entries.nnz
    if others:
        lead -= (places.sum(axis=0) @ W.sum(axis=0) - true) / others
    return float(lead) if lead > 0 else 1.0

"""WSABIE's steps as the paper writes them, one number after another."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def penalty(rank: int) -> float:
    """Return L(k) = Σ_{j≤k} 1/j (Eq. 5 with α_j = 1/j)."""
    return sum(1 / j for j in range(1, rank + 1))


def project(matrix: Matrix, row: int, limit: float) -> None:
    """Shorten a row to the bound of Eq. 2-3."""
    length = np.linalg.norm(matrix[row])
    if length > limit:
        matrix[row] *= limit / length


def warp_step(
    V: Matrix,
    W: Matrix,
    x: Matrix,
    true: Sequence[int],
    draw: Callable[[int], int],
    *,
    rate: float,
    limit: float,
    auc: bool = False,
) -> None:
    """Take one round of Algorithm 1 for a picture; ``draw(n)`` gives a number below n."""
    chosen = true[draw(len(true))] if len(true) > 1 else true[0]
    place = V.T @ x
    others = len(W) - len(true)
    tried = 0
    while tried < (1 if auc else others):
        other = draw(len(W))
        if other in true:
            continue
        tried += 1
        if W[other] @ place > W[chosen] @ place - 1:
            weight = 1.0 if auc else penalty(others // tried)
            descend(V, W, x, place, {chosen: weight, other: -weight}, rate, limit)
            return


def owpc_step(
    V: Matrix, W: Matrix, x: Matrix, true: Sequence[int], chosen: int, rate: float, limit: float
) -> None:
    """Take one step on Eq. 6 with the exact rank of Eq. 7."""
    place = V.T @ x
    goal = W[chosen] @ place - 1
    violators = [i for i in range(len(W)) if i not in true and W[i] @ place > goal]
    if violators:
        weight = penalty(len(violators))
        moves = {i: -weight / len(violators) for i in violators}
        descend(V, W, x, place, {chosen: weight, **moves}, rate, limit)


def descend(
    V: Matrix,
    W: Matrix,
    x: Matrix,
    place: Matrix,
    moves: dict[int, float],
    rate: float,
    limit: float,
) -> None:
    """Follow the gradient for words that are to move by the given weights, and project."""
    direction = sum(weight * W[word] for word, weight in moves.items())
    for j in np.flatnonzero(x):
        V[j] += rate * x[j] * direction
        project(V, j, limit)
    for word, weight in moves.items():
        W[word] += rate * weight * place
        project(W, word, limit)


def mean_of_passes(ends: Sequence[Matrix], unaveraged: int) -> Matrix:
    """Return the mean of a matrix over the ends of passes; the t-th that counts t(t + 1)(t + 2)."""
    counted = ends[unaveraged:]
    if not counted:
        return ends[-1]
    weights = [t * (t + 1) * (t + 2) for t in range(1, len(counted) + 1)]
    return sum(w * end for w, end in zip(weights, counted, strict=True)) / sum(weights)


def pass_kept(figures: Sequence[float], judged: int) -> int:
    """Return the last pass, from 1, whose precision is within a standard error of the highest."""
    most = max(figures)
    error = (most * (1 - most) / judged) ** 0.5
    return max(at for at, figure in enumerate(figures, 1) if figure >= most - error)

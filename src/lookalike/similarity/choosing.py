"""Choose on held-out comparisons how long to train and how far to follow the result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.core.progress import Progress
from lookalike.core.vectors import Vectors
from lookalike.similarity.blend import Path
from lookalike.similarity.held_out import Verdict

FIRST_LOOK, GROWTH, PATIENCE = 4096, 1.5, 3
"""When training is evaluated: after 4,096 steps, then at intervals that grow by half, until three
evaluations in a row are no better."""

ROUNDS = 50
"""Steps per picture before training may stop: held-out figures fluctuate at first."""

MOST_STEPS, MOST_WORK = 1_000_000, 5e10
"""The limits of choosing the steps: so many steps, or products with entries of W."""

REAL_GAIN = 0.1
"""What counts as better during training, in standard errors."""


@dataclass(frozen=True)
class Choice:
    """The steps to take, the point of the path to use, and the best figure of each evaluation."""

    steps: int
    point: float
    history: list[tuple[int, float]]


def choose(
    *,
    start: NDArray[np.float32],
    looks: Sequence[int],
    least: int,
    points: Sequence[float],
    advance: Callable[[int, Callable[[int], None]], None],
    path: Callable[[], Path],
    verdict: Callable[[NDArray[np.float32]], Verdict],
    progress: Progress,
) -> Choice:
    """Train through ``looks``, for at least ``least`` steps; evaluate the path's points at each.

    The best look determines the steps. Of its points that are better than the start, the least
    within one standard error of the best is chosen (Breiman's rule), since pictures will also be
    compared in ways that were not trained. If none is better, the start is kept: point 0.
    """
    before = verdict(start)
    steps, best, verdicts = looks[0], None, dict.fromkeys(points, before)
    history: list[tuple[int, float]] = []
    since = done = 0
    for until in looks:
        advance(until - done, lambda taken, done=done: progress(done + taken, looks[-1]))  # type: ignore[misc]
        done = until
        way = path()
        found = {point: verdict(way.at(point)) for point in points}
        top = max(found.values(), key=lambda one: one.figure)
        history.append((done, top.figure))
        since += done > least
        if best is None or top.figure > best.figure + REAL_GAIN * top.error:
            steps, best, verdicts, since = done, top, found, 0
        if since >= PATIENCE:
            break
    good = {point: one for point, one in verdicts.items() if one.better_than(before)}
    if not good:
        return Choice(steps, 0.0, history)
    lead = max(good.values(), key=lambda one: one.figure)
    near = [point for point, one in good.items() if one.figure >= lead.figure - lead.error]
    return Choice(steps, min(near), history)


def looks_at(vectors: Vectors) -> list[int]:
    """Return the steps after which training is evaluated, within the limits of work."""
    width = vectors.shape[1]
    if sp.issparse(vectors):
        entries = vectors.nnz / max(1, vectors.shape[0])
        work = max(1.0, 2 * entries * entries)
    else:
        work = float(width * width)
    last = int(min(MOST_STEPS, max(FIRST_LOOK, MOST_WORK / work)))
    looks = [FIRST_LOOK]
    while looks[-1] < last:
        looks.append(min(round(looks[-1] * GROWTH), last))
    return looks

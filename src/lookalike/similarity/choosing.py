"""Choose on held-out comparisons how long to train and how far to follow the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.progress import Progress
from lookalike.core.vectors import Vectors
from lookalike.similarity.blend import POINTS, Path
from lookalike.similarity.held_out import Form, HeldOutPictures, Verdict
from lookalike.similarity.reach import SHARES, Reach, ramp

FIRST_LOOK, GROWTH, PATIENCE = 4096, 1.5, 3
"""When training is evaluated: after 4,096 steps, then at intervals that grow by half, until three
evaluations in a row are no better."""

ROUNDS = 50
"""Steps per picture before training may stop: held-out figures fluctuate at first."""

MAX_ROUNDS = 75
"""Steps per picture at most, where each query has its own blend and training goes on after."""

TAUGHT = 0.6
"""The share of searches that are expected to be for kinds that were taught."""

HARM, MAX_LOST_FIRST = 3.0, 0.01
"""How much more than a gain a loss of pictures of left-out kinds counts, and what they may lose in
precision at 1 before that counts, too."""

CERTAIN = 2.0
"""The standard errors by which one of many rules must be better than cosine: by one, a sixth of
labels that mean nothing would pass."""

MAX_STEPS, MAX_WORK = 1_000_000, 5e10
"""The limits of choosing the steps: so many steps, or products with entries of W."""

REAL_GAIN, REAL_LOSS = 0.1, 1.0
"""What counts as better and as worse during training, in standard errors."""


@dataclass(frozen=True)
class Choice:
    """The steps to take, the point of the path to use, and the best figure of each evaluation.

    ``path`` is that at the steps chosen.
    """

    steps: int
    point: float
    history: list[tuple[int, float]]
    path: Path


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
    longest: bool = False,
) -> Choice:
    """Train through ``looks``, for at least ``least`` steps; evaluate the path's points at each.

    The best look determines the steps, or the ``longest`` that is not worse. Of its points that
    are better than the start, the least within one standard error of the best is chosen (Breiman's
    rule), since pictures will also be compared in ways that were not trained. If none is better,
    the start is kept: point 0.
    """
    before = verdict(start)
    steps, best, verdicts = looks[0], None, dict.fromkeys(points, before)
    history: list[tuple[int, float]] = []
    since = done = 0
    chosen = path()
    for until in looks:
        advance(until - done, lambda taken, done=done: progress(done + taken, looks[-1]))  # type: ignore[misc]
        done = until
        way = path()
        result = {point: verdict(way.at(point)) for point in points}
        top = max(result.values(), key=lambda one: one.figure)
        history.append((done, top.figure))
        since += done > least
        needed = -REAL_LOSS if longest else REAL_GAIN
        if best is None or top.figure > best.figure + needed * top.error:
            steps, verdicts, since, chosen = done, result, 0, way
            best = top if best is None else max(best, top, key=lambda one: one.figure)
        if since >= PATIENCE:
            break
    good = {point: one for point, one in verdicts.items() if one.better_than(before)}
    if not good:
        return Choice(steps, 0.0, history, chosen)
    lead = max(good.values(), key=lambda one: one.figure)
    near = [point for point, one in good.items() if one.figure >= lead.figure - lead.error]
    return Choice(steps, min(near), history, chosen)


@dataclass(frozen=True)
class Trial:
    """What was learned without some pictures, and how those are judged.

    Attributes
    ----------
    path : Path
        From where learning started to what was learned.
    judge : HeldOutPictures
        The pictures held out, as they are where learning started.
    before : Verdict
        That on the cosine of their vectors as given.
    near : ndarray
        How near they are to what was taught.
    """

    path: Path
    judge: HeldOutPictures
    before: Verdict
    near: NDArray[np.float64]


def choose_reach(
    trials: Sequence[Trial], form: Form, choices: Sequence[tuple[float, float]] = SHARES
) -> tuple[float, tuple[float, float, float, float] | None]:
    """Return the point of the path to use, and the numbers of the rule by which queries follow it.

    That is the whole of what was learned with a rule for each query; where no rule is better than
    cosine, a point for all queries; and where none is, cosine, 0. The choice gains most in
    mean average precision on the kinds learned and on those left out, as often as either are
    searched for, where what the latter lose counts more. ``choices`` are the shares a rule may
    have, far from what was taught and near it.
    """
    strange = ~np.concatenate([it.judge.judged_taught for it in trials])
    before = Verdict.joined([it.before for it in trials])
    placed = ramp(
        np.concatenate([it.near for it in trials]),
        np.concatenate([it.judge.taught for it in trials]),
    )
    if placed is not None:
        none = np.zeros((0, 1), np.float32)
        most, best = 0.0, None
        blends = [it.judge.blended(it.path.at(1.0), form) for it in trials]
        for shares in choices:
            rule = Reach(none, *placed, *shares)
            result = [
                it.judge.judge(blend(rule.at(it.near)))
                for it, blend in zip(trials, blends, strict=True)
            ]
            gained = worth(Verdict.joined(result), before, strange)
            if gained > most:
                most, best = gained, (*placed, *shares)
        if best is not None:
            return 1.0, best
    worths = {
        point: worth(
            Verdict.joined([it.judge.verdict(it.path.at(point), form) for it in trials]),
            before,
            strange,
        )
        for point in POINTS
    }
    point = max(worths, key=lambda it: worths[it])
    return point if worths[point] > 0 else 0.0, None


def worth(result: Verdict, before: Verdict, strange: NDArray[np.bool_]) -> float:
    """Return what a rule gains over cosine, 0 unless that is certain.

    ``strange`` are the queries of kinds that were left out.
    """
    if not result.better_than(before, CERTAIN):
        return 0.0
    if not strange.any() or strange.all():
        return result.figure - before.figure
    own, _ = result.part(~strange).gains(before.part(~strange))
    gain, first = result.part(strange).gains(before.part(strange))
    gained = TAUGHT * own.mean + (1 - TAUGHT) * gain.mean
    return gained + HARM * min(gain.mean, 0) + min(first.mean + MAX_LOST_FIRST, 0)


def looks_at(vectors: Vectors, rounds: int | None = None) -> list[int]:
    """Return the steps after which training is evaluated, within the limits of work.

    With ``rounds``, within so many steps a picture as well.
    """
    width = vectors.shape[1]
    if sp.issparse(vectors):
        entries = vectors.nnz / max(1, vectors.shape[0])
        work = max(1.0, 2 * entries * entries)
    else:
        work = float(width * width)
    last = int(min(MAX_STEPS, max(FIRST_LOOK, MAX_WORK / work)))
    if rounds is not None:
        last = min(last, max(FIRST_LOOK, rounds * vectors.shape[0]))
    looks = [FIRST_LOOK]
    while looks[-1] < last:
        looks.append(min(round(looks[-1] * GROWTH), last))
    return looks

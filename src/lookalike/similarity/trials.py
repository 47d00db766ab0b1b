"""Train copies without some pictures, to choose how long to learn and how far to follow it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.core.progress import Progress
from lookalike.core.vectors import Vectors
from lookalike.similarity.blend import Path
from lookalike.similarity.choosing import (
    FIRST_LOOK,
    MAX_ROUNDS,
    ROUNDS,
    Choice,
    Trial,
    choose,
    looks_at,
    worth,
)
from lookalike.similarity.held_out import Form, HeldOutPictures, Verdict
from lookalike.similarity.reach import Placed
from lookalike.similarity.training import Trainer, Triplets, average
from lookalike.similarity.whitening import by_words, turned_back, whitened, whitening
from lookalike.supervision import Relevance

_log = logging.getLogger(__name__)

Start: TypeAlias = Literal["words", "whitening", "identity"]
"""Where learning starts."""

FOLDS = 4
"""How often some kinds of pictures are left out to fit how far each query goes."""


@dataclass(frozen=True)
class Choices:
    """What was chosen on held-out pictures: where learning starts, how long, and how far it goes.

    ``point`` and ``rule`` are those of :func:`~lookalike.similarity.choosing.choose_reach`.
    """

    how: Setup
    steps: int
    point: float
    rule: tuple[float, float, float, float] | None


@dataclass(frozen=True)
class Trials:
    """Learning without some pictures, several times.

    Attributes
    ----------
    each : list of Trial
        Empty if too few pictures are related to hold any out.
    steps : int or None
        The steps of each.
    history : list of (int, float)
        Steps and the figure of each evaluation while they were chosen.
    W : ndarray
        The average of what was learned, for the vectors as they are.
    """

    each: list[Trial]
    steps: int | None
    history: list[tuple[int, float]]
    W: NDArray[Any]


@dataclass(frozen=True)
class Setup:
    """How trials learn and are judged: a share is held out; steps that are None are chosen.

    From words they are few: on ``snapshots`` more than two a picture gained nothing.
    """

    trainer: Trainer
    form: Form
    share: float
    steps: int | None
    start: Start

    def turn(self, vectors: Vectors, relevance: Relevance) -> NDArray[np.float64] | None:
        """Return the map of vectors to those that are compared at the start, or None for none."""
        if self.start == "identity":
            return None
        return (by_words if self.start == "words" else whitening)(vectors, relevance)

    @property
    def fixed_steps(self) -> int | None:
        """The steps of a trial, where they are not to be chosen."""
        return FIRST_LOOK if self.steps is None and self.start == "words" else self.steps


def starts_by_worth(
    how: Setup,
    vectors: Vectors,
    relevance: Relevance,
    placed: Placed,
    rng: np.random.Generator,
) -> list[Start]:
    """Return where learning may start, what ranks held-out pictures best without any step first.

    With one label a picture, words are the classes, and what is not taught loses most by them; so
    it is whitening, and the identity where that gains nothing.
    """
    if relevance.labels_ is None or relevance.is_single:
        return ["whitening", "identity"]
    judges = [
        HeldOutPictures.choose(vectors, relevance, how.share, rng, kinds=placed.kinds)
        for _ in range(FOLDS)
    ]
    some = [judge for judge in judges if judge is not None]
    if not some:
        return ["identity"]
    strange = ~np.concatenate([judge.judged_taught for judge in some])
    unit = np.eye(vectors.shape[1], dtype=np.float32)

    def verdict(start: Start) -> Verdict:
        parts = []
        for judge in some:
            A = replace(how, start=start).turn(vectors[judge.kept], relevance.subset(judge.kept))
            turned = replace(judge, vectors=whitened(judge.vectors, A))
            parts.append(turned.verdict(unit, how.form))
        return Verdict.joined(parts)

    before = verdict("identity")
    worths: dict[Start, float] = {
        "words": worth(verdict("words"), before, strange),
        "whitening": worth(verdict("whitening"), before, strange),
        "identity": 0.0,
    }
    return sorted(worths, key=lambda start: -worths[start])


def run_trials(
    how: Setup,
    vectors: Vectors,
    relevance: Relevance,
    placed: Placed,
    rng: np.random.Generator,
    progress: Progress,
) -> Trials:
    """Learn without a share of the kinds of pictures, and of the others; judge by those."""
    each, mean = list[Trial](), None
    history: list[tuple[int, float]] = []
    trainer, form, taken = how.trainer, how.form, how.fixed_steps
    for _ in range(FOLDS):
        judge = HeldOutPictures.choose(vectors, relevance, how.share, rng, kinds=placed.kinds)
        if judge is None:
            break
        A = how.turn(vectors[judge.kept], relevance.subset(judge.kept))
        turned = whitened(vectors, A)
        judging = replace(judge, vectors=turned[judge.rows])
        kept = turned[judge.kept]
        sources = trainer.samplers(relevance.subset(judge.kept))
        if taken is None:
            verdict = partial(judging.verdict, form=form, taught_only=True)
            chosen = choose_steps(trainer, kept, sources, verdict, rng, progress)
            taken, path, history = chosen.steps, chosen.path, chosen.history
        else:
            path = trainer.path(trainer.learn(kept, sources, taken, rng, progress))
        near = placed.held_out(turned, judge.rows, judge.taught)
        before = judge.verdict(np.eye(vectors.shape[1], dtype=np.float32), form)
        each.append(Trial(path, judging, before, near))
        share = turned_back(path.at(1.0), A) / np.float32(FOLDS)
        mean = share if mean is None else np.add(mean, share, out=mean)
    if mean is None:
        return Trials(each, taken, history, np.eye(vectors.shape[1]))
    if len(each) < FOLDS:
        mean *= FOLDS / len(each)
    return Trials(each, taken, history, mean)


def choose_steps(
    trainer: Trainer,
    vectors: Vectors,
    sources: list[Triplets],
    verdict: Callable[[NDArray[np.float32]], Verdict],
    rng: np.random.Generator,
    progress: Progress,
    *,
    steps: int | None = None,
    points: Sequence[float] | None = None,
) -> Choice:
    """Train a copy and evaluate it on the held-out part; return the steps and the point.

    Without points, for a blend for each query, what was learned is judged whole, and needed
    afterwards.
    """
    rankers = trainer.start(vectors, sources, rng)
    each = points is None

    def path() -> Path:
        W = average(rankers)
        return trainer.path(W.copy() if each else W)

    looks = looks_at(vectors, MAX_ROUNDS if each else None) if steps is None else [steps]
    result = choose(
        start=np.eye(vectors.shape[1], dtype=np.float32),
        looks=looks,
        least=ROUNDS * vectors.shape[0],
        points=points or (1.0,),
        advance=partial(trainer.advance, rankers),
        path=path,
        verdict=verdict,
        progress=progress,
        longest=each,
    )
    if steps is None and result.steps == looks[-1]:
        _log.info(
            "OASIS: training ended at its limit of %d steps, where it was still the best. Set "
            "steps to train longer.",
            looks[-1],
        )
    return result

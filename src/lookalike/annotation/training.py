"""Train a joint embedding on pictures, in memory or on disk."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation._fast.wsabie import (
    Model,
    Pace,
    Room,
    Truth,
    exact_steps,
    merge_copies,
    sampled_steps,
)
from lookalike.annotation.held_out import (
    MAX_HELD_OUT,
    Matrix,
    average_precision,
    hold_out,
    precision,
    standard_error,
)
from lookalike.annotation.layout import lay_out, widened
from lookalike.annotation.lessons import Lessons, blocks
from lookalike.annotation.parts import Parts
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.seeds import loop_state
from lookalike.core.vectors import squared_lengths

_STEPS = 1 << 14
_STEPS_ALONE = 1 << 13
_MERGES = 8
"""Minimum number of times threads synchronise in a pass: with four, short runs learned less."""
_HANDFUL = 512

UNAVERAGED = 10
"""First passes that are not averaged, since a short run has not converged when it ends."""


class Descent:
    """V and W in training, with what the compiled loops need."""

    def __init__(
        self,
        V: Matrix,
        W: Matrix,
        *,
        loss: str,
        max_norm: float,
        max_trials: int | None,
        threads: int,
        scale: float,
        rng: np.random.Generator,
        plain: bool = False,
    ) -> None:
        Y, D = W.shape
        self.V, self.W = V, W
        self._scale = scale
        self._plain = plain
        self._max_norm = max_norm
        self._steps: Callable[..., Any] = sampled_steps
        self._max_trials = np.uint64(max_trials or Y)
        self._penalties = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, Y + 1))])
        if loss == "auc":
            self._max_trials = np.uint64(1)
            self._penalties[:] = 1.0
        elif loss == "owpc":
            self._steps = exact_steps
        self._rooms = [
            Room(np.empty(D, np.float32), np.empty(D, np.float32), np.empty(Y, np.float32))
            for _ in range(threads)
        ]
        # More than a cache line apart, since each thread writes its own at every draw.
        self._states = np.zeros((threads, 64), np.uint64)[:, :4]
        for state in self._states:
            state[:] = loop_state(rng)
        self._rng = rng
        self._passes = 0
        self._mean = V, W
        # Threads that write to the same rows of V, those of frequent features, would wait for
        # each other's caches; so each has a copy, and the changes are added up periodically.
        self._copies = V[None] if threads == 1 else np.repeat(V[None], threads, axis=0)
        self._norms = np.repeat(np.linalg.norm(V, axis=1)[None], threads, axis=0)
        self._models = [
            Model(copy, W, norms) for copy, norms in zip(self._copies, self._norms, strict=True)
        ]

    def visit(
        self, block: Lessons, rate: float, progress: Progress = silent, *, fixed: int = 0
    ) -> None:
        """Take a step for each picture of a block, in random order; plain, for as many drawn.

        With ``fixed`` words, these and V do not change, and the others learn by Algorithm 1
        whatever the loss.
        """
        steps = sampled_steps if fixed else self._steps
        pictures = lay_out(block.vectors)
        truth = Truth(block.has.indices.astype(np.uint32), block.has.indptr.astype(np.uint64))
        pace = Pace(
            np.float32(rate * self._scale**2),
            np.float32(rate),
            np.float32(self._max_norm * self._scale),
            np.float32(self._max_norm),
            np.uint64(fixed),
        )
        penalties = self._penalties.astype(np.float32)
        draws = self._rng.integers(len(block), size=len(block)) if self._plain else None
        order = (self._rng.permutation(len(block)) if draws is None else draws).astype(np.uint32)

        threads = len(self._models)
        free = list(range(threads))

        def run(rows: NDArray[np.uint32]) -> None:
            number = free.pop()
            steps(
                self._models[number],
                pictures,
                truth,
                rows,
                pace,
                penalties,
                self._max_trials,
                self._states[number],
                self._rooms[number],
            )
            free.append(number)

        if threads == 1:
            for some in blocks(len(order), _STEPS):
                run(order[some])
                progress(some.stop, len(order))
            return
        together = threads * min(_STEPS_ALONE, -(-len(order) // (_MERGES * threads)))
        with ThreadPoolExecutor(threads) as pool:
            for some in blocks(len(order), together):
                # In small portions, so that none waits long for a thread whose core was busy.
                turns = max(1, (some.stop - some.start) // (threads * _HANDFUL))
                list(pool.map(run, np.array_split(order[some], threads * turns)))
                self._merge(pool)
                progress(some.stop, len(order))

    def _merge(self, pool: ThreadPoolExecutor) -> None:
        limit = np.float32(self._max_norm * self._scale)
        cuts = np.linspace(0, len(self.V), len(self._models) + 1).astype(int).tolist()

        def merge(begin: int, end: int) -> None:
            merge_copies(self.V, self._copies, self._norms, limit, begin, end)

        list(pool.map(merge, cuts[:-1], cuts[1:]))

    def settle(self) -> None:
        """Restore the bounds after concurrent updates; raise InvalidInput if not finite."""
        bounded(self.W, self._max_norm)
        if not (np.isfinite(self.V).all() and np.isfinite(self.W).all()):
            raise InvalidInput(
                "WSABIE: the vectors would not stay finite. Scale pictures' vectors to unit "
                "length, or lower learning_rate."
            )

    def average(self) -> None:
        """End a pass: unless plain, the result is the mean of V and W over the ends of passes.

        The t-th pass after the first ten has the weight t(t + 1)(t + 2): the mean moves by
        4/(t + 3) of the way, old passes fade, and the number of passes need not be known
        (polynomial-decay averaging with η = 3; Shamir and Zhang, *Stochastic gradient descent
        for non-smooth optimization*, 2013). A mean of rows within Eq. 2-3 is within them too.
        """
        if self._plain:
            return
        self._passes += 1
        t = self._passes - UNAVERAGED
        if t == 1:
            self._mean = self.V.copy(), self.W.copy()
        elif t > 1:
            share = np.float32(4 / (t + 3))
            for mean, matrix in zip(self._mean, (self.V, self.W), strict=True):
                np.multiply(mean, 1 - share, out=mean)
                np.add(mean, share * matrix, out=mean)

    def figures(self, judged: Lessons, choose_by: str) -> tuple[float, float, float]:
        """Return what passes are chosen by, on pictures: a figure, one for ties, and an error.

        The figures are precision at 1 and at 10, or mean average precision and precision at 1;
        the error is the first one's standard error.
        """
        V, W = self._mean
        places = np.asarray(judged.vectors @ V)

        def score(rows: slice) -> Matrix:
            return places[rows] @ W.T

        if choose_by == "MAP":
            return average_precision(score, judged.has)
        at_1, at_10 = precision(score, judged.has)
        return at_1, at_10, standard_error(at_1, len(judged))

    def learned(self) -> tuple[Matrix, Matrix]:
        """Return copies of the result: the mean, or V and W while there is none."""
        V, W = self._mean
        return V.copy(), W.copy()


class InMemory:
    """Training pictures in memory."""

    def __init__(self, lessons: Lessons) -> None:
        self._lessons = lessons
        self.words = lessons.words
        self.width = int(lessons.vectors.shape[1])

    def __len__(self) -> int:
        return len(self._lessons)

    @property
    def mean_length(self) -> float:
        """The mean squared length of the vectors."""
        return float(squared_lengths(self._lessons.vectors).mean())

    def hold_out(self, share: float, rng: np.random.Generator) -> Lessons | None:
        """Hold out random pictures, never a word's last one."""
        split = hold_out(self._lessons, share, rng)
        self._lessons = split.learned
        return split.judged

    def widen(self, constant: float) -> None:
        """Append a constant to each training picture's vector, unless it is 0."""
        vectors = widened(self._lessons.vectors, constant)
        self._lessons = replace(self._lessons, vectors=vectors)
        self.width = int(vectors.shape[1])

    def blocks(self, rng: np.random.Generator) -> Iterator[Lessons]:
        """Yield all pictures that are not held out, in blocks that fit in memory."""
        yield self._lessons


class OnDisk:
    """Training pictures in parts on disk."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._held = np.zeros(0, np.int64)
        self._constant = 0.0
        self.words = parts.words
        self.width = parts.width

    def __len__(self) -> int:
        return len(self._parts) - len(self._held)

    @property
    def mean_length(self) -> float:
        """The mean squared length of the vectors."""
        return self._parts.mean_length

    def hold_out(self, share: float, rng: np.random.Generator) -> Lessons | None:
        """Hold out random pictures, never a word's last one."""
        wanted = min(round(share * len(self._parts)), MAX_HELD_OUT)
        if wanted == 0:
            return None
        drawn = np.sort(rng.choice(len(self._parts), wanted, replace=False))
        vectors, has = self._parts.rows(drawn)
        left = self._parts.uses - np.bincount(has.indices, minlength=len(self.words))
        spared = np.flatnonzero(has @ (left == 0).astype(np.float32) == 0)
        if not len(spared):
            return None
        self._held = drawn[spared]
        return Lessons(vectors[spared], has[spared], self.words)

    def widen(self, constant: float) -> None:
        """Append a constant to each training picture's vector, unless it is 0."""
        self._constant = constant
        self.width = self._parts.width + int(constant != 0)

    def blocks(self, rng: np.random.Generator) -> Iterator[Lessons]:
        """Yield all pictures that are not held out, in blocks that fit in memory."""
        for vectors, has in self._parts.blocks(rng, self._held):
            yield Lessons(widened(vectors, self._constant), has, self.words)


def bounded(matrix: Matrix, limit: float) -> Matrix:
    """Shorten the rows that exceed ``limit`` by more than rounding, in place."""
    lengths = np.linalg.norm(matrix, axis=1)
    long = np.flatnonzero(lengths > limit * (1 + 1e-5))
    matrix[long] *= (limit / lengths[long])[:, None]
    return matrix

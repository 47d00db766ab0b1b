"""Run OASIS steps: blocks of triplets through the compiled loop, on one thread or several."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.checks import is_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress
from lookalike.core.seeds import loop_state
from lookalike.core.vectors import Vectors, squared_lengths
from lookalike.similarity._fast import oasis as loops
from lookalike.similarity.blend import Path, PowerPath, StraightPath, project_positive
from lookalike.supervision import Relevance, TripletSampler

Symmetric: TypeAlias = Literal["no", "after", "during", "dissimilarity"]
Sampling: TypeAlias = Literal["uniform", "relevance"]
Negatives: TypeAlias = Literal["unrelated", "all"]
Divergence: TypeAlias = Literal["frobenius", "logdet"]

BLOCK = 4096
"""Triplets drawn at a time: enough to hide the overhead of a call, few enough for memory."""


MAX_LENGTH = 1e6
"""The longest vector to learn from: a million steps then stay far from float32's limit."""


class Triplets(Protocol):
    """The source of triplets: a sampler or a list."""

    def draw(self, state: NDArray[np.uint64], count: int) -> NDArray[np.uint32]:
        """Draw ``count`` rows of (image, more similar, less similar)."""


@dataclass(frozen=True)
class GivenTriplets:
    """Draw uniformly from a list of triplets."""

    triplets: NDArray[np.uint32]

    def draw(self, state: NDArray[np.uint64], count: int) -> NDArray[np.uint32]:
        """Draw ``count`` rows with replacement."""
        rng = np.random.Generator(np.random.PCG64(state))
        state[:] = rng.integers(1, 2**63, size=4, dtype=np.uint64)
        return self.triplets[rng.integers(0, len(self.triplets), size=count)]


class Span:
    """The space that pictures span; training changes W only there.

    W − I is a sum of outer products of pictures. So with n pictures of d > n columns, W = I +
    Q(V − I)Qᵀ, where Q is a basis of their rows and V is learned from their n coordinates: the
    same W, at the cost of n columns. The same holds for its powers.
    """

    def __init__(self, vectors: Vectors) -> None:
        rows, self.width = vectors.shape
        self._basis: NDArray[np.float32] | None = None
        if not sp.issparse(vectors) and rows < self.width:
            self._basis = np.linalg.qr(vectors.T)[0]

    def inside(self, vectors: Vectors) -> Vectors:
        """Return the pictures' coordinates."""
        if self._basis is None:
            return vectors
        return np.ascontiguousarray(vectors @ self._basis, dtype=np.float32)

    def whole(self, V: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return W for what was learned on the coordinates."""
        if self._basis is None:
            return V
        W = self._basis @ (V - np.eye(len(V), dtype=np.float32)) @ self._basis.T
        W.reshape(-1)[:: self.width + 1] += np.float32(1)
        return np.ascontiguousarray(W, dtype=np.float32)


class Stepper:
    """Take passive-aggressive steps on one W over one set of vectors.

    Not to be shared between threads: it has a buffer in which differences are merged.
    """

    def __init__(
        self,
        vectors: Vectors,
        *,
        aggressiveness: float,
        symmetric: bool,
        dissimilarity: bool,
        logdet: bool = False,
    ) -> None:
        self._width = np.uint64(vectors.shape[1])
        self._aggressiveness = np.float32(aggressiveness)
        self._symmetric = symmetric
        self._dissimilarity = dissimilarity
        self._logdet = logdet
        if sp.issparse(vectors) and not logdet:
            lengths = np.diff(vectors.indptr)
            longest = int(lengths.max()) if len(lengths) else 0
            room = max(1, 2 * longest) * (2 if dissimilarity else 1)
            self._rows: loops.SparseRows | NDArray[np.float32] = loops.SparseRows(
                vectors.data,
                vectors.indices.astype(np.uint32),
                vectors.indptr.astype(np.uint64),
            )
            self._room: tuple[NDArray[Any], ...] = (
                np.empty(room, dtype=np.uint64),
                np.empty(room, dtype=np.float32),
            )
        else:
            rows: Any = vectors.toarray() if sp.issparse(vectors) else vectors
            self._rows = np.asarray(rows, dtype=np.float32).reshape(-1)
            count = 2 if dissimilarity or logdet else 1
            self._room = tuple(np.empty(vectors.shape[1], dtype=np.float32) for _ in range(count))

    def take(self, W: NDArray[np.float32], triplets: NDArray[np.uint32]) -> tuple[int, float]:
        """Take ``triplets`` in order, changing W; return the steps that moved it and the losses."""
        flat = W.reshape(-1)
        common = (flat, self._width, self._rows, triplets, self._aggressiveness)
        sparse = isinstance(self._rows, loops.SparseRows)
        if self._logdet:
            updates, loss = loops.dense_logdet_steps(*common, *self._room)
        elif self._dissimilarity:
            loop = loops.sparse_dissimilarity_steps if sparse else loops.dense_dissimilarity_steps
            updates, loss = loop(*common, *self._room)
        else:
            loop = loops.sparse_steps if sparse else loops.dense_steps
            updates, loss = loop(*common, self._symmetric, *self._room)
        return int(updates), float(loss)


@dataclass
class Ranker:
    """One learner of section 5.4: its W, its source of triplets and its random stream."""

    W: NDArray[np.float32]
    stepper: Stepper
    source: Triplets
    state: NDArray[np.uint64]
    taken: int = 0

    def run(self, steps: int) -> None:
        """Draw and take ``steps`` triplets."""
        for begin in range(0, steps, BLOCK):
            count = min(BLOCK, steps - begin)
            self.stepper.take(self.W, self.source.draw(self.state, count))
        self.taken += steps


def run_together(rankers: list[Ranker], steps: int) -> None:
    """Take ``steps`` with every ranker, each on its own thread."""
    if len(rankers) == 1:
        rankers[0].run(steps)
        return
    with ThreadPoolExecutor(len(rankers)) as pool:
        for done in [pool.submit(ranker.run, steps) for ranker in rankers]:
            done.result()


def average(rankers: list[Ranker]) -> NDArray[np.float32]:
    """Return the average of the rankers' models (section 5.4); with one, its own."""
    if len(rankers) == 1:
        return rankers[0].W
    mean = rankers[0].W.copy()
    for ranker in rankers[1:]:
        mean += ranker.W
    mean /= np.float32(len(rankers))
    return mean


@dataclass(frozen=True)
class Trainer:
    """Train rankers on triplets, as the settings of OASIS say.

    Attributes
    ----------
    aggressiveness, symmetric, averaged, sampling, negatives, divergence
        As those of OASIS.
    positive : bool
        Whether W is projected onto the positive matrices when training ends.
    every : int or None
        The steps after which it is projected while training.
    """

    aggressiveness: float
    symmetric: Symmetric
    positive: bool
    every: int | None
    averaged: int
    sampling: Sampling
    negatives: Negatives
    divergence: Divergence = "frobenius"

    def samplers(self, relevance: Relevance) -> list[Triplets]:
        """Return a source of triplets for each ranker, all of all pictures."""
        sampler = TripletSampler(relevance, sampling=self.sampling, negatives=self.negatives)
        return [sampler] * self.averaged

    def lists(self, triplets: NDArray[np.uint32]) -> list[Triplets]:
        """Return given triplets as a source for each ranker."""
        return [GivenTriplets(triplets)] * self.averaged

    def stepper(self, vectors: Vectors) -> Stepper:
        """Return what takes steps over vectors."""
        return Stepper(
            vectors,
            aggressiveness=self.aggressiveness,
            symmetric=self.symmetric == "during",
            dissimilarity=self.symmetric == "dissimilarity",
            logdet=self.divergence == "logdet",
        )

    def start(
        self,
        vectors: Vectors,
        sources: list[Triplets],
        rng: np.random.Generator,
        start: NDArray[np.float32] | None = None,
    ) -> list[Ranker]:
        """Return a ranker for each source, all at a start, by default the identity."""
        width = vectors.shape[1]
        return [
            Ranker(
                np.eye(width, dtype=np.float32) if start is None else start.copy(),
                self.stepper(vectors),
                source,
                loop_state(rng),
            )
            for source in sources
        ]

    def advance(self, rankers: list[Ranker], steps: int, report: Callable[[int], None]) -> None:
        """Take steps with all rankers; project onto the positive matrices when it is due."""
        often = steps // 20 + 1
        done = 0
        while done < steps:
            taken = rankers[0].taken
            until = self.every - taken % self.every if self.every else often
            count = min(until, steps - done)
            run_together(rankers, count)
            done += count
            if self.every and (taken + count) % self.every == 0:
                for ranker in rankers:
                    ranker.W[:] = project_positive(ranker.W)
            report(done)

    def learn(
        self,
        vectors: Vectors,
        sources: list[Triplets],
        steps: int,
        rng: np.random.Generator,
        progress: Progress,
        start: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """Return the average of what the rankers learned in so many steps."""
        rankers = self.start(vectors, sources, rng, start)
        self.advance(rankers, steps, lambda done: progress(done, steps))
        if not steps:
            progress(1, 1)
        return average(rankers)

    def path(self, W: NDArray[np.float32]) -> Path:
        """Return the path from the start to what was learned."""
        if self.positive:
            return PowerPath(W)
        return StraightPath((W + W.T) / np.float32(2) if self.symmetric == "after" else W)


def check_positive(positive: Any, normalize: bool | None) -> None:
    """Raise InvalidInput unless OASIS can keep W positive so, and normalise by it."""
    if positive not in ("auto", "no", "after") and (not is_whole(positive) or int(positive) < 1):
        raise InvalidInput(
            f"OASIS: positive must be 'auto', 'no', 'after' or a number of steps from 1; "
            f"got {positive!r:.80}."
        )
    if normalize and positive == "no":
        raise InvalidInput(
            "OASIS: normalize needs a positive W; otherwise a picture's score with itself "
            "could be below 0. Set positive='after'."
        )


def usable(vectors: Vectors) -> Vectors:
    """Return vectors if scores and W stay within float32, or raise InvalidInput."""
    longest = float(np.sqrt(squared_lengths(vectors).max(initial=0.0)))
    if longest > MAX_LENGTH:
        raise InvalidInput(
            f"OASIS: vectors must be no longer than {MAX_LENGTH:g} for W to stay finite; got "
            f"{longest:g}. Scale them to unit length."
        )
    return vectors

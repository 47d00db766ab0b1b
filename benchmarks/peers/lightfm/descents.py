"""Our loops step by step: pass for pass to time them, block for block to draw Figure 2."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from environment import Course
from numpy.typing import NDArray
from sides import DIMENSION

from lookalike.annotation import WSABIE
from lookalike.annotation.lessons import Lessons
from lookalike.annotation.start import random_start
from lookalike.annotation.training import Descent
from lookalike.core.progress import silent
from tagged_sets import Part, Task

BLOCK = 2_000
SPACING = 1.15
LOSSES = ("warp", "auc", "owpc")
CURVE_SECONDS = {"synthetic": 60.0, "clipart, visterms": 5.0, "groceries, embedding": 10.0}


def begun(task: Task, seed: int, *, threads: int = 1, **settings: Any) -> tuple[WSABIE, Descent]:
    """Start as ``fit`` does, on unit vectors; return the settings and the descent."""
    rng = np.random.default_rng(seed)
    start = random_start(task.train.vectors.shape[1], len(task.words), DIMENSION, 1.0, rng)
    rate = settings.pop("learning_rate", start.learning_rate)
    model = WSABIE(dimension=DIMENSION, threads=threads, learning_rate=rate, **settings)
    return model, model._descent(start.V, start.W, start.max_norm, 1.0, rng)


def lessons(task: Task, rows: NDArray[np.int64] | slice = slice(None)) -> Lessons:
    """Return training pictures as the loops take them."""
    return Lessons(task.train.vectors[rows], task.train.has[rows], task.words)


def passes(task: Task, epochs: int, seed: int, **settings: Any) -> tuple[list[float], Descent]:
    """Train for some passes on one thread; return the CPU seconds of each."""
    model, descent = begun(task, seed, **settings)
    pictures = lessons(task)
    cpu = []
    for epoch in range(epochs):
        begin = time.process_time()
        a_pass(descent, pictures, model.learning_rate, epoch, epochs)
        cpu.append(time.process_time() - begin)
    return cpu, descent


def a_pass(descent: Descent, pictures: Lessons, rate: float, epoch: int, epochs: int) -> None:
    """Run a pass as ``fit`` does, at a rate that falls to zero over all passes."""
    descent.visit(pictures, rate * (1 - (epoch + 0.5) / epochs), silent)
    descent.settle()


def best_words(descent: Descent, part: Part) -> NDArray[np.int32]:
    """Rank the ten best words of each picture."""
    scores = np.asarray(part.vectors @ descent.V) @ descent.W.T
    top = np.argpartition(-scores, 9, axis=1)[:, :10]
    order = np.argsort(-np.take_along_axis(scores, top, axis=1), axis=1, kind="stable")
    return np.take_along_axis(top, order, axis=1).astype(np.int32)


def curve(task: Task, loss: str, learning_rate: float, seconds: float, seed: int) -> Course:
    """Train at a fixed rate, as in Figure 2; rank the validation part at intervals."""
    model, descent = begun(task, seed, loss=loss, learning_rate=learning_rate)
    spent, mark = 0.0, seconds / 500
    moments, ranked = [], []
    for rows in _blocks(len(lessons(task)), np.random.default_rng(seed)):
        block = lessons(task, rows)
        begin = time.process_time()
        descent.visit(block, model.learning_rate, silent)
        spent += time.process_time() - begin
        if spent >= mark or spent >= seconds:
            mark = SPACING * spent
            moments.append(spent)
            ranked.append(best_words(descent, task.validation))
        if spent >= seconds:
            break
    return Course(np.zeros(0), np.array(moments), {"validation": np.stack(ranked)})


def _blocks(count: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    while True:
        order = rng.permutation(count)
        yield from np.array_split(order, -(-count // BLOCK))

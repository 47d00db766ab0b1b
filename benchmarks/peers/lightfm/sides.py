"""The two sides behind one interface: trained on a task with settings, a seed and CPU seconds."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from environment import Course, Peer
from threadpoolctl import threadpool_limits

from lookalike.annotation import WSABIE
from tagged_sets import Part, Task, clipart, groceries

Chosen: TypeAlias = Mapping[str, Any]
Side: TypeAlias = Callable[[Task, Chosen, int, float, Sequence[str]], Course]

OURS, THEIRS = "WSABIE", "LightFM"
DIMENSION = 100
BUDGET = {"visterms": 5.0, "embedding": 10.0}
SETTINGS = Path(__file__).with_name("settings.json")


class Overtime(RuntimeError):
    """Training took too long."""


def real_tasks(data: Path) -> Iterator[Task]:
    """Return the real sets, described both ways."""
    return (pictures(data, kind) for pictures in (clipart, groceries) for kind in BUDGET)


def budget(task: Task) -> float:
    """Return the CPU seconds that each side may learn for."""
    return BUDGET[task.name.split(", ")[1]]


def lightfm(task: Task, chosen: Chosen, seed: int, seconds: float, parts: Sequence[str]) -> Course:
    """Train LightFM; it ranks the pictures of the given parts at intervals."""
    settings = {"no_components": DIMENSION, **chosen}
    ready = _scaled(task, settings.pop("columns", "as they are"))
    scale = settings.pop("scale", 1.0)
    asked = {name: getattr(ready, name).vectors for name in parts}
    with Peer(ready.train.vectors, ready.train.has, asked) as peer:
        return peer.train(settings=settings, scale=scale, seed=seed, seconds=seconds)


def wsabie(task: Task, chosen: Chosen, seed: int, seconds: float, parts: Sequence[str]) -> Course:
    """Train WSABIE; all of ``fit`` counts, including its evaluation on the validation part."""
    settings = {"dimension": DIMENSION, **chosen}
    ready = _scaled(task, settings.pop("columns", "as they are"))
    model = WSABIE(random_state=seed, **settings)
    words = ready.train.words(ready.words)
    judged = ready.validation.vectors, ready.validation.words(ready.words)
    begin = time.process_time()

    def watch(_done: int, _total: int) -> None:
        if time.process_time() - begin > seconds:
            raise Overtime

    with threadpool_limits(1):
        model.fit(ready.train.vectors, words, validation=judged, progress=watch)
    spent = np.array([time.process_time() - begin])
    place = {word: number for number, word in enumerate(ready.words)}
    numbers = np.array([place[word] for word in model.words_], np.int32)
    ranked = {
        name: numbers[model.rank(getattr(ready, name).vectors, 10).words][None] for name in parts
    }
    return Course(spent, spent, ranked)


def warm_up() -> None:
    """Compile the loops."""
    vectors = sp.vstack([sp.eye_array(20, dtype=np.float32)] * 2, format="csr")
    words = [str(row % 20) for row in range(40)]
    WSABIE(dimension=2, epochs=1, held_out=0.5).fit(vectors, words).rank(vectors, 2)


SIDES: dict[str, Side] = {OURS: wsabie, THEIRS: lightfm}


def _scaled(task: Task, columns: str) -> Task:
    """Divide each feature by its root mean square over the training pictures, if so chosen.

    Features rarer than a tenth of the typical one are not blown up further.
    """
    if columns == "as they are":
        return task
    squares = np.asarray(task.train.vectors.power(2).mean(axis=0)).ravel()
    rms, typical = np.sqrt(squares), np.sqrt(squares.mean())
    factors = sp.diags_array((typical / np.maximum(rms, typical / 10)).astype(np.float32))
    parts = (
        Part(sp.csr_matrix(part.vectors @ factors), part.has)
        for part in (task.train, task.validation, task.test)
    )
    return Task(task.name, task.words, *parts)

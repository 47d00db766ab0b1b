"""Words for real pictures: what a collection chooses, beside other annotators and scikit-learn.

Every method learns from the training part; its settings are chosen by mean average precision on
the validation part; then it learns from both, and is judged on the test part once. ``--quick``
judges on the validation part of clipart, so that only a full run uses the test parts.
"""

import csv
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as PeerRidge
from sklearn.multiclass import OneVsRestClassifier
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from oasis import embedded

from bench import Figure, Options, main
from lookalike.annotation import WSABIE, Annotator, LinearRanker, Ridge
from lookalike.collection.search.space import REDUCED
from lookalike.collection.training.choosing import AUTO, CANDIDATES, best_of, new_annotators
from lookalike.collection.training.examples import Named
from lookalike.collection.training.gate import Lesson
from lookalike.collection.training.growing import HOLD_BACK
from lookalike.collection.training.learning import teach_words, word_figures, words_settings
from lookalike.core.progress import silent
from lookalike.evaluate import evaluate_annotation
from lookalike.features import Reduction
from tagged_sets import LEAST_PICTURES, SPLIT_SEED

Aims = dict[str, float]
Words = list[set[str]]

SEED = 0
SURE = (0.75, 0.85)
"""Words of these confidences are those said to be right with 0.8."""

TARGETS: Aims = {"p@1": 0.635, "p@5": 0.395, "MAP": 0.46, "CPU s": 5.0, "sure": SURE[0]}
"""What is to be reached on snapshots by a collection's choice."""

OURS = f"a collection's choice ({AUTO})"
LEARNED = "Collection.learn, a fifth held out"


@dataclass(frozen=True)
class Part:
    """Vectors of pictures, as the feature gives them and reduced, and their words."""

    whole: NDArray[np.float32]
    reduced: NDArray[np.float32]
    words: Words


@dataclass(frozen=True)
class Task:
    """The pictures of a set, to learn from, to choose settings on, both, and to be judged on."""

    train: Part
    validation: Part
    both: Part
    test: Part


class Commonest:
    """Words by how many pictures have them."""

    def fit(self, X: Any, y: Words) -> "Commonest":
        """Count."""
        uses = Counter(word for words in y for word in words)
        self.words_ = tuple(uses)
        self.uses_ = np.array(list(uses.values()), np.float32)
        return self

    def scores(self, X: Any) -> NDArray[np.float32]:
        """Score every word for each picture."""
        return np.broadcast_to(self.uses_, (len(X), len(self.uses_)))


class Peer:
    """A model of scikit-learn with the interface of an annotator."""

    def __init__(self, model: Any, answer: str) -> None:
        self.model = model
        self.answer = answer

    def fit(self, X: Any, y: Words) -> "Peer":
        """Learn which pictures have each word."""
        self.words_ = tuple(sorted(set().union(*y)))
        has = np.array([[word in words for word in self.words_] for words in y], float)
        self.model.fit(X, has)
        return self

    def scores(self, X: Any) -> NDArray[np.float32]:
        """Score every word for each picture."""
        return np.asarray(getattr(self.model, self.answer)(X), np.float32)


def logistic(C: float) -> Peer:
    model = LogisticRegression(C=C, max_iter=300)
    return Peer(OneVsRestClassifier(model), "decision_function")


def methods(quick: bool) -> dict[str, tuple[str, list[Callable[[], Any]]]]:
    """Return for each method the form of the vectors and the models to choose from."""
    new = CANDIDATES["wsabie"]
    alphas = (0.1, 0.3, 1.0, 3.0, 10.0)
    found: dict[str, tuple[str, list[Callable[[], Any]]]] = {
        "commonest words": ("reduced", [Commonest]),
        "WSABIE as before": ("reduced", [lambda: WSABIE(constant=0.3, random_state=SEED)]),
        "WSABIE": ("reduced", [lambda: WSABIE(**new, random_state=SEED)]),
        "WSABIE, whole vectors": ("whole", [lambda: WSABIE(**new, random_state=SEED)]),
        "Ridge": ("reduced", [lambda: Ridge(random_state=SEED)]),
        "Ridge, whole vectors": ("whole", [lambda: Ridge(random_state=SEED)]),
        "LinearRanker": ("reduced", [lambda: LinearRanker(random_state=SEED)]),
        "scikit-learn Ridge": (
            "reduced",
            [lambda alpha=alpha: Peer(PeerRidge(alpha=alpha), "predict") for alpha in alphas],
        ),
    }
    if not quick:
        found["scikit-learn LogisticRegression, one-vs-rest, whole vectors"] = (
            "whole",
            [lambda C=C: logistic(C) for C in (1.0, 10.0, 100.0)],
        )
    return found


def timed(model: Any, X: Any, y: Words) -> tuple[Any, float]:
    """Train a model, and return it with the CPU seconds that it took."""
    begin = time.process_time()
    model.fit(X, y)
    return model, time.process_time() - begin


def chosen(task: Task, form: str, models: list[Callable[[], Any]]) -> Callable[[], Any]:
    """Return the model with the largest mean average precision on the validation part."""
    if len(models) == 1:
        return models[0]
    train, validation = getattr(task.train, form), getattr(task.validation, form)

    def figure(make: Callable[[], Any]) -> float:
        model = make().fit(train, task.train.words)
        return evaluate_annotation(model, validation, task.validation.words).mean_average_precision

    return max(models, key=figure)


def taught(part: Part) -> tuple[Lesson, float]:
    """Learn words by the code of ``Collection.learn``, which holds out a fifth of the pictures.

    It trains all candidates, and chooses, tunes and calibrates on what it holds out. Return the
    CPU seconds, too.
    """
    ranker: Any = SimpleNamespace(vectors=lambda ids: part.reduced[ids])
    named = Named.of_labels({row: sorted(words) for row, words in enumerate(part.words)})
    begin = time.process_time()
    lesson = teach_words(
        new_annotators(AUTO, SEED),
        named,
        ranker,
        None,
        current=None,
        hold_back=HOLD_BACK,
        settings=words_settings(AUTO, SEED),
        progress=silent,
    )
    if not isinstance(lesson, Lesson):
        raise SystemExit(lesson.reason)
    return lesson, time.process_time() - begin


def taught_before(part: Part) -> tuple[Annotator, float]:
    """Learn words as ``Collection.learn`` did before there was a choice."""
    named = Named.of_labels({row: sorted(words) for row, words in enumerate(part.words)})
    split = named.split(HOLD_BACK, np.random.default_rng(SEED), None)
    begin = time.process_time()
    model = WSABIE(constant=0.3, random_state=SEED)
    model.fit(part.reduced[split.train], named.relevance.subset(split.train))
    model.learn_confidence(part.reduced[split.held], named.relevance.subset(split.held))
    return model, time.process_time() - begin


def automatic(task: Task) -> tuple[Annotator, float, str]:
    """Choose an annotator on the validation part as collections do, and train it on both parts."""
    begin = time.process_time()
    tried = {}
    held = task.validation.reduced, task.validation.words
    for name, model in new_annotators(AUTO, SEED).items():
        model.fit(task.train.reduced, task.train.words, validation=held)
        tried[name] = word_figures(model, *held)
    best = best_of(tried)
    model = new_annotators(best, SEED)[best].fit(task.both.reduced, task.both.words)
    told = ", ".join(f"{name} {one.mean_average_precision:.3f}" for name, one in tried.items())
    return model, time.process_time() - begin, f"{best}; MAP on validation: {told}"


def reliability(model: Annotator, X: Any, y: Words) -> tuple[float, int]:
    """Return the share of right words among those said to be right with 0.8, and their number."""
    right = [
        tag.word in words
        for tags, words in zip(model.annotate(X, 20), y, strict=True)
        for tag in tags
        if SURE[0] <= tag.confidence < SURE[1]
    ]
    return float(np.mean(right)) if right else float("nan"), len(right)


def shown(
    what: str, model: Any, seconds: float, part: Part, form: str, note: str, aims: Aims
) -> list[Figure]:
    """Return the figures of a method."""
    X = getattr(part, form)
    run = evaluate_annotation(model, X, part.words, cutoffs=(1, 5))
    found = [
        Figure(f"{what}, p@1", run.precision[1], ">=", aims.get("p@1"), note),
        Figure(f"{what}, p@5", run.precision[5], ">=", aims.get("p@5")),
        Figure(f"{what}, MAP", run.mean_average_precision, ">=", aims.get("MAP")),
        Figure(f"{what}, CPU s", seconds, "<=", aims.get("CPU s")),
    ]
    if getattr(model, "confidence_", None) is not None:
        share, count = reliability(model, X, part.words)
        most = f"of {count} words with {SURE[0]} to {SURE[1]}; at most {SURE[1]}"
        off = Figure(f"{what}, right of those said with 0.8", share, ">=", aims.get("sure"), most)
        found.append(off)
    return found


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def pictures(data: Path, name: str) -> tuple[list[Path], Words, NDArray[np.str_]]:
    """Return the files of a set, their words, and the part that each belongs to.

    The parts of clipart are those of ``tagged_sets.clipart``.
    """
    table = read_table(data / name / "labels.csv")
    if name == "snapshots":
        words = [set(row["words"].split(";")) for row in table]
        parts = np.array([row["split"] for row in table])
    elif name == "groceries":
        words = [{row["fine"]} for row in table]
        parts = np.array([row["split"].replace("val", "validation") for row in table])
    else:
        named = [set(row["name_words"].split()) for row in table]
        uses = Counter(word for some in named for word in some)
        kept = [{word for word in some if uses[word] >= LEAST_PICTURES} for some in named]
        table = [row for row, some in zip(table, kept, strict=True) if some]
        words = [some for some in kept if some]
        parts = np.empty(len(words), "U10")
        order = np.random.default_rng(SPLIT_SEED).permutation(len(words))
        ends = [round(0.6 * len(words)), round(0.8 * len(words))]
        for part, rows in zip(("train", "validation", "test"), np.split(order, ends), strict=True):
            parts[rows] = part
    return [data / name / row["file"] for row in table], words, parts


def task_of(data: Path, name: str) -> Task:
    """Return the pictures of a set; the reduction knows those that a collection would hold."""
    files, words, parts = pictures(data, name)
    whole = embedded(files)
    held = np.flatnonzero(parts != "test")
    reduction = Reduction(dimension=REDUCED).fit(whole[held], parent="benchmark")
    reduced = reduction.apply(whole)

    def part(rows: NDArray[np.intp]) -> Part:
        return Part(whole[rows], reduced[rows], [words[row] for row in rows])

    train, validation, test = (
        np.flatnonzero(parts == one) for one in ("train", "validation", "test")
    )
    return Task(*map(part, (train, validation, held, test)))


def judged(options: Options, name: str) -> list[Figure]:
    """Train all methods on a set and judge them."""
    task = task_of(options.data, name)
    both, test = task.both, task.test
    if options.quick:
        both, test = task.train, task.validation
    found = []
    for what, (form, models) in methods(options.quick).items():
        make = models[0] if options.quick else chosen(task, form, models)
        model, seconds = timed(make(), getattr(both, form), both.words)
        found += shown(f"{name}: {what}", model, seconds, test, form, "", {})
    before, seconds = taught_before(both)
    found += shown(f"{name}: {LEARNED}, before", before, seconds, test, "reduced", "", {})
    lesson, seconds = taught(both)
    note = lesson.reason
    found += shown(f"{name}: {LEARNED}", lesson.model, seconds, test, "reduced", note, {})
    if not options.quick:
        model, seconds, note = automatic(task)
        aims = TARGETS if name == "snapshots" else {}
        found += shown(f"{name}: {OURS}", model, seconds, test, "reduced", note, aims)
    return found


def measure(options: Options) -> list[Figure]:
    names = ("clipart",) if options.quick else ("snapshots", "groceries", "clipart")
    options.settings["judged on"] = "validation" if options.quick else "test"
    options.settings["threads"] = 1
    with threadpool_limits(1):
        # The loops are compiled before anything is timed.
        for model in new_annotators(AUTO, SEED).values():
            model.fit(np.eye(8), ["a", "b"] * 4)
        return [figure for name in names for figure in judged(options, name)]


if __name__ == "__main__":
    main("papers/words", measure)

"""Words for real pictures: what a collection chooses, beside other annotators and scikit-learn.

Every method learns from the training part; its settings are chosen by mean average precision on
the validation part; then it learns from both, with three seeds, and is judged on the test part.
``Collection.learn`` holds out a fifth of both parts to judge by, then learns once more from all.
``--quick`` judges on the validation part of clipart, so that only a full run uses the test parts.

"By hand" is how people tag: of a collection of all pictures of a set, each of twelve words, drawn
by a seed, is given to 8 to 40 pictures of the parts to learn from that show it, and nothing else is
said of these. Judged is what is then said of all others, and of those of the test part alone.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
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
from lookalike.collection import Gate
from lookalike.collection.log.examples import Named
from lookalike.collection.store.models import NewModel
from lookalike.collection.training.choosing import AUTO, CANDIDATES, best_of, new_annotators
from lookalike.collection.training.growing import HOLD_BACK
from lookalike.collection.training.judging import judge_words, word_figures
from lookalike.collection.training.teaching import teach_words
from lookalike.collection.vectors.space import REDUCED
from lookalike.core.progress import silent
from lookalike.evaluate import evaluate_annotation
from lookalike.features import Embedding, Reduction
from tagged_sets import Part as LabelledPart
from tagged_sets import Task as LabelledTask
from tagged_sets import clipart, groceries, snapshots

Aims = dict[str, float]
Words = list[set[str]]
Seeds = Iterable[int]

SEEDS = (0, 1, 2)
SEEDS_BY_HAND = range(10)
WORDS_BY_HAND, BY_HAND = 12, (8, 40)
"""Words that are tagged by hand, and the least and most pictures of each."""
SAID, MIN_SAYINGS, MIN_RIGHT = 0.8, 20, 0.65
SURE = (0.75, 0.85)
"""Words of these confidences are those said to be right with 0.8."""

OURS = f"a collection's choice ({AUTO})"
LEARNED = "Collection.learn, a fifth held out"
BEFORE = "WSABIE as before"
OFF = "words said with 0.8, off by"
TARGETS: Aims = {"p@1": 0.635, "p@5": 0.395, "MAP": 0.46, "CPU s": 5.0, OFF: 0.05}
"""What is to be reached on snapshots by a collection's choice."""


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


@dataclass(frozen=True)
class Method:
    """The form of the vectors, the models to choose from by a seed, and the seeds to run."""

    form: str
    models: list[Callable[[int], Any]]
    seeds: tuple[int, ...] = SEEDS


def methods(quick: bool) -> dict[str, Method]:
    """Return the methods that learn from all pictures of a part."""

    def wsabie(seed: int) -> WSABIE:
        return WSABIE(**CANDIDATES["wsabie"], random_state=seed)

    def ridge(seed: int) -> Ridge:
        return Ridge(random_state=seed)

    alphas, Cs = (0.1, 0.3, 1.0, 3.0, 10.0), (1.0, 10.0, 100.0)
    peers = [lambda _, alpha=alpha: Peer(PeerRidge(alpha=alpha), "predict") for alpha in alphas]
    found = {
        "commonest words": Method("reduced", [lambda _: Commonest()], (0,)),
        BEFORE: Method("reduced", [lambda seed: WSABIE(constant=0.3, random_state=seed)]),
        "WSABIE": Method("reduced", [wsabie]),
        "WSABIE, whole vectors": Method("whole", [wsabie]),
        "Ridge": Method("reduced", [ridge]),
        "Ridge, whole vectors": Method("whole", [ridge]),
        "LinearRanker": Method("reduced", [lambda seed: LinearRanker(random_state=seed)]),
        "scikit-learn Ridge": Method("reduced", peers, (0,)),
    }
    if not quick:
        models = [lambda _, C=C: logistic(C) for C in Cs]
        found["scikit-learn LogisticRegression, whole vectors"] = Method("whole", models, (0,))
    return found


@dataclass(frozen=True)
class Run:
    """A trained model, the CPU seconds that it took, and what is to be said of it."""

    model: Any
    seconds: float
    note: str = ""


def runs(task: Task, method: Method, part: Part) -> list[Run]:
    """Train the model of largest mean average precision on the validation part, for each seed."""
    train, validation = getattr(task.train, method.form), getattr(task.validation, method.form)

    def figure(make: Callable[[int], Any]) -> float:
        model = make(0).fit(train, task.train.words)
        return evaluate_annotation(model, validation, task.validation.words).mean_average_precision

    make = max(method.models, key=figure) if len(method.models) > 1 else method.models[0]
    found = []
    for seed in method.seeds:
        begin = time.process_time()
        model = make(seed).fit(getattr(part, method.form), part.words)
        found.append(Run(model, time.process_time() - begin))
    return found


def taught(part: Part, seed: int) -> Run:
    """Learn words by the code of ``Collection.learn``, which holds out a fifth of the pictures.

    It trains all candidates, chooses, tunes and calibrates on what it holds out, and trains the
    chosen one once more from all.
    """
    ranker = ranker_of(part.reduced, np.arange(len(part.words)))
    begin = time.process_time()
    new = learned(named(part), ranker, seed)
    if not isinstance(new.model, Annotator):
        raise SystemExit(new.trial.reason)
    return Run(new.model, time.process_time() - begin, new.trial.reason)


def ranker_of(vectors: NDArray[np.float32], ids: NDArray[np.int64]) -> Any:
    """Return what ``teach_words`` asks of a ranker that has described some pictures."""
    return SimpleNamespace(vectors=lambda some: vectors[some], plain=SimpleNamespace(ids=ids))


def learned(words: Named, ranker: Any, seed: int) -> NewModel:
    """Learn words by the code of ``Collection.learn``."""
    return teach_words(
        new_annotators(AUTO, seed),
        words,
        ranker,
        None,
        current=None,
        hold_back=HOLD_BACK,
        settings={"random_state": seed, "words": AUTO},
        gate=Gate(),
        progress=silent,
    )


def tagged_by_hand(words: Words, able: NDArray[np.bool_], seed: int) -> dict[int, list[str]]:
    """Return the words that a person gives: twelve, each to 8 to 40 pictures that show it."""
    rng = np.random.default_rng(seed)
    uses: dict[str, list[int]] = {}
    for row in np.flatnonzero(able).tolist():
        for word in words[row]:
            uses.setdefault(word, []).append(row)
    common = sorted(word for word, rows in uses.items() if len(rows) >= 2 * BY_HAND[0])
    result: dict[int, list[str]] = {}
    for place in rng.permutation(len(common))[:WORDS_BY_HAND]:
        rows = rng.permutation(uses[common[place]])
        most = min(int(rng.integers(BY_HAND[0], BY_HAND[1] + 1)), len(rows) // 2)
        for row in rows[:most].tolist():
            result.setdefault(row, []).append(common[place])
    return result


def by_hand(
    name: str, vectors: NDArray[np.float32], words: Words, test: NDArray[np.bool_], seeds: Seeds
) -> list[Figure]:
    """Judge what is said of the pictures of a collection of which a few were tagged."""
    X = Reduction(dimension=REDUCED).fit(vectors, parent="benchmark").apply(vectors)
    said: list[tuple[float, bool, bool]] = []
    by_word: list[list[bool]] = []
    for seed in seeds:
        labels = tagged_by_hand(words, ~test, seed)
        new = learned(Named.of_labels(labels), ranker_of(X, np.arange(len(X))), seed)
        if not new.trial.published or not isinstance(new.model, Annotator):
            continue
        others = np.setdiff1d(np.arange(len(X)), [*labels])
        sure: dict[str, list[bool]] = {}
        for row, tags in zip(others, new.model.annotate(X[others], WORDS_BY_HAND), strict=True):
            for tag in tags:
                right = tag.word in words[row]
                said.append((tag.confidence, right, bool(test[row])))
                if tag.confidence >= SAID:
                    sure.setdefault(tag.word, []).append(right)
        by_word += [some for some in sure.values() if len(some) >= MIN_SAYINGS]
    confidence, true, is_test = (np.array(column) for column in zip(*said, strict=True))
    what, result = f"{name}, by hand: words said with {SAID} or more", []
    for whom, rows in (("all others", is_test >= 0), ("test part", is_test)):
        some = rows & (confidence >= SAID)
        near = rows & (confidence >= SURE[0]) & (confidence < SURE[1])
        note = f"of {some.sum():,}; said with {SURE[0]} to {SURE[1]}: "
        note += f"{true[near].mean():.3f} of {near.sum():,}"
        result.append(Figure(f"{what}, right, {whom}", float(true[some].mean()), ">=", 0.75, note))
    good = [float(np.mean(some)) >= MIN_RIGHT for some in by_word]
    note = f"{sum(good)} of {len(good)}; lowest " + ", ".join(
        f"{sum(some)}/{len(some)}" for some in sorted(by_word, key=np.mean)[:4]
    )
    figure = f"{what}, {MIN_SAYINGS} times or more: share of words right at {MIN_RIGHT} or more"
    result.append(Figure(figure, float(np.mean(good)) if good else 1.0, ">=", 1.0, note))
    return result


def sets_by_hand(options: Options) -> list[Figure]:
    """Tag pictures of each set by hand."""
    found = []
    for one in (snapshots, groceries, clipart):
        task = one(options.data, "embedding")
        parts = (task.train, task.validation, task.test)
        words = [some for part in parts for some in part.words(task.words)]
        test = np.repeat([False, False, True], [part.vectors.shape[0] for part in parts])
        vectors = np.concatenate([part.vectors.toarray() for part in parts])
        name = task.name.partition(",")[0]
        found += by_hand(name, vectors, words, test, SEEDS_BY_HAND)
    files = sorted((options.data / "objects" / "images").glob("*/*"))
    test = np.random.default_rng(0).random(len(files)) < 0.3
    vectors = np.asarray(embedded(files, Embedding()), np.float32)
    return found + by_hand(
        "objects", vectors, [{f.parent.name} for f in files], test, SEEDS_BY_HAND
    )


def taught_before(part: Part, seed: int) -> Run:
    """Learn words as ``Collection.learn`` did before there was a choice."""
    known = named(part)
    split = known.split(HOLD_BACK, np.random.default_rng(seed), None)
    begin = time.process_time()
    model = WSABIE(constant=0.3, random_state=seed)
    model.fit(part.reduced[split.train], known.relevance.subset(split.train))
    model.learn_confidence(part.reduced[split.held], known.relevance.subset(split.held))
    return Run(model, time.process_time() - begin)


def automatic(task: Task, seed: int) -> Run:
    """Choose an annotator on the validation part as collections do, and train it on both parts."""
    begin = time.process_time()
    tried = {}
    held = task.validation.reduced, task.validation.words
    for name, model in new_annotators(AUTO, seed).items():
        model.fit(task.train.reduced, task.train.words, validation=held)
        tried[name] = word_figures(judge_words(model, *held))
    best = best_of(tried)
    model = new_annotators(best, seed)[best].fit(task.both.reduced, task.both.words)
    told = ", ".join(f"{name} {one.mean_average_precision:.3f}" for name, one in tried.items())
    return Run(model, time.process_time() - begin, f"{best}; MAP on validation: {told}")


def named(part: Part) -> Named:
    return Named.of_labels({row: sorted(words) for row, words in enumerate(part.words)})


def reliability(model: Annotator, X: Any, y: Words) -> list[bool]:
    """Return which of the words said to be right with 0.8 are right."""
    return [
        tag.word in words
        for tags, words in zip(model.annotate(X, 20), y, strict=True)
        for tag in tags
        if SURE[0] <= tag.confidence < SURE[1]
    ]


def figures(what: str, found: list[Run], part: Part, form: str, aims: Aims) -> list[Figure]:
    """Return the figures of a method: means over its seeds, and their spread."""
    X = getattr(part, form)
    judged = [evaluate_annotation(run.model, X, part.words, cutoffs=(1, 5)) for run in found]
    values = {
        "p@1": [one.precision[1] for one in judged],
        "p@5": [one.precision[5] for one in judged],
        "MAP": [one.mean_average_precision for one in judged],
        "CPU s": [run.seconds for run in found],
    }
    shown = [
        Figure(
            f"{what}, {name}",
            float(np.mean(some)),
            "<=" if name == "CPU s" else ">=",
            aims.get(name),
            found[0].note if name == "p@1" else "",
            float(np.std(some, ddof=1)) if len(some) > 1 else None,
        )
        for name, some in values.items()
    ]
    if getattr(found[0].model, "confidence_", None) is not None:
        right = [one for run in found for one in reliability(run.model, X, part.words)]
        share = float(np.mean(right))
        note = f"{share:.3f} of {len(right)} words with confidence {SURE[0]} to {SURE[1]} are right"
        off = Figure(f"{what}, {OFF}", abs(share - 0.8), "<=", aims.get(OFF), note)
        shown.append(off)
    return shown


def task_of(labelled: LabelledTask) -> Task:
    """Return the pictures of a set; the reduction knows those that a collection would hold."""
    train, validation, test = labelled.train, labelled.validation, labelled.test
    whole = [part.vectors.toarray() for part in (train, validation, test)]
    held = np.concatenate(whole[:2])
    reduction = Reduction(dimension=REDUCED).fit(held, parent="benchmark")

    def part(vectors: NDArray[np.float32], *some: LabelledPart) -> Part:
        words = [words for one in some for words in one.words(labelled.words)]
        return Part(vectors, reduction.apply(vectors), words)

    return Task(
        part(whole[0], train),
        part(whole[1], validation),
        part(held, train, validation),
        part(whole[2], test),
    )


def judged(options: Options, labelled: LabelledTask) -> list[Figure]:
    """Train all methods on a set and judge them."""
    task, name = task_of(labelled), labelled.name.partition(",")[0]
    both, test = task.both, task.test
    seeds = SEEDS
    if options.quick:
        both, test, seeds = task.train, task.validation, SEEDS[:1]
    found = []
    for what, method in methods(options.quick).items():
        one = replace(method, models=method.models[:1], seeds=seeds) if options.quick else method
        found += figures(f"{name}: {what}", runs(task, one, both), test, one.form, {})
    aims = TARGETS if name == "snapshots" and not options.quick else {}
    by_collection = {key: value for key, value in aims.items() if key in ("CPU s", OFF)}
    for what, work, some in (
        (f"{LEARNED}, before", taught_before, {}),
        (LEARNED, taught, by_collection),
    ):
        done = [work(both, seed) for seed in seeds]
        found += figures(f"{name}: {what}", done, test, "reduced", some)
    if not options.quick:
        done = [automatic(task, seed) for seed in seeds]
        aims = {key: value for key, value in aims.items() if key != OFF}
        found += figures(f"{name}: {OURS}", done, test, "reduced", aims)
    return found


def measure(options: Options) -> list[Figure]:
    sets = (clipart,) if options.quick else (snapshots, groceries, clipart)
    options.settings["judged on"] = "validation" if options.quick else "test"
    options.settings["threads"] = 1
    with threadpool_limits(1):
        # The loops are compiled before anything is timed.
        for model in new_annotators(AUTO, 0).values():
            model.fit(np.eye(8), ["a", "b"] * 4)
        tasks = (one(options.data, "embedding") for one in sets)
        found = [figure for task in tasks for figure in judged(options, task)]
        return found if options.quick else found + sets_by_hand(options)


if __name__ == "__main__":
    main("papers/words", measure)

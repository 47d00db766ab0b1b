"""Tables 2, 5 and 7 of paper 2 on real pictures, with WSABIE compared with scikit-learn.

The settings of every method are chosen on the validation part, once by mean average precision and
once by sibling precision, and then evaluated on the test part once, with three seeds. ``--quick``
evaluates on clipart's validation part, so that only a full run uses the test parts.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench import Figure, Options, main
from lookalike.annotation import (
    WSABIE,
    Ensemble,
    LinearRanker,
    NearestNeighbours,
    OneVsRest,
)
from lookalike.evaluate import AnnotationFigures, evaluate_annotation
from lookalike.features import Reduction
from lookalike.supervision import TagTree, read_tag_tree
from tagged_sets import Task, clipart, groceries

SEEDS = (0, 1, 2)
BLOCKS = 16
Pick = Callable[[AnnotationFigures], float]
Vectors = Any


def at_1(run: AnnotationFigures) -> float:
    return run.precision[1]


def siblings(run: AnnotationFigures) -> float:
    return run.sibling_precision[1][10]


def average(run: AnnotationFigures) -> float:
    return run.mean_average_precision


@dataclass(frozen=True)
class Run:
    """How a model did on all pictures, and on every sixteenth of them."""

    whole: AnnotationFigures
    blocks: list[AnnotationFigures]


AIMS: dict[str, Pick] = {"MAP": average, "siblings": siblings}


class Logistic:
    """LogisticRegression with the interface of an annotator; one word per picture, or several."""

    def __init__(self, C: float) -> None:
        self.C = C

    def fit(self, X: Vectors, y: list[set[str]]) -> "Logistic":
        """Learn, from several words a picture one model for each word."""
        self.words_ = tuple(sorted(set().union(*y)))
        # Rows of length 10 are what C is usually thought of: columns of about unit spread.
        model = LogisticRegression(C=self.C, max_iter=300)
        if all(len(words) == 1 for words in y):
            self.model_ = model.fit(10 * X, [next(iter(words)) for words in y])
        else:
            has = np.array([[word in words for word in self.words_] for words in y])
            self.model_ = OneVsRestClassifier(model).fit(10 * X, has)
        return self

    def scores(self, X: Vectors) -> NDArray[np.float32]:
        """Score every word for each picture."""
        return np.asarray(self.model_.decision_function(10 * X), np.float32)


def forms(task: Task, features: str) -> dict[str, tuple[Vectors, Vectors, Vectors]]:
    """Return the vectors of train, validation and test, in the forms that methods choose from."""
    parts = (task.train.vectors, task.validation.vectors, task.test.vectors)
    if features != "embedding":
        return {"as they are": parts}
    whole = tuple(part.toarray() for part in parts)
    reduction = Reduction(dimension=512).fit(whole[0], parent="0" * 32)
    return {
        "as they are": whole,
        "reduced to 512": tuple(reduction.apply(part) for part in whole),
    }


@dataclass(frozen=True)
class Choices:
    """What the embeddings choose from; WARP also whether ten words are drawn at most."""

    warp_rates: tuple[float, ...]
    auc_rates: tuple[float, ...]
    norms: tuple[float, ...]
    sizes: tuple[int, ...] = (100, 300)
    trials: tuple[int | None, ...] = (None, 10)


CHOICES = {
    "visterms": Choices((0.03, 0.1), (0.03, 0.1, 0.3), (0.6, 0.7, 1.0)),
    "embedding": Choices((0.01, 0.03), (0.03, 0.1, 0.3), (1.0, 1.2, 1.4), (300,)),
}
QUICK = Choices((0.05,), (0.05,), (0.7, 1.4), (50,), (None,))


def grids(quick: bool, features: str) -> dict[str, list[tuple[str, Callable[..., Any]]]]:
    """Return the settings of every method, each with a function from a seed to a model."""
    choices = QUICK if quick else CHOICES[features]

    def wsabie(loss: str, epochs: int) -> list[tuple[str, Callable[..., Any]]]:
        rates, trials = choices.warp_rates, choices.trials
        if loss == "auc":
            rates, trials = choices.auc_rates, (None,)
        return [
            (
                f"rate {rate}, norm {norm}, D {size}, draws {draws or 'any'}",
                lambda seed, rate=rate, norm=norm, size=size, draws=draws: WSABIE(
                    dimension=size,
                    loss=loss,
                    learning_rate=rate,
                    max_norm=norm,
                    max_trials=draws,
                    epochs=epochs,
                    random_state=seed,
                ),
            )
            for rate, norm, size, draws in product(rates, choices.norms, choices.sizes, trials)
        ]

    def linear(loss: str) -> list[tuple[str, Callable[..., Any]]]:
        if loss == "warp":
            return [
                (
                    f"rate {rate}, norm {norm or 'any'}",
                    lambda seed, rate=rate, norm=norm: LinearRanker(
                        loss="warp", learning_rate=rate, max_norm=norm, random_state=seed
                    ),
                )
                for rate, norm in product(
                    (0.1,) if quick else (0.01, 0.03, 0.1, 0.3, 1.0),
                    (None,) if quick else (None, 3.0, 1.5),
                )
            ]
        return [
            (
                f"C {C}",
                lambda seed, C=C: LinearRanker(loss="auc", aggressiveness=C, random_state=seed),
            )
            for C in ((0.1,) if quick else (0.01, 0.03, 0.1, 0.3, 1.0, 3.0))
        ]

    found = {
        "WSABIE": wsabie("warp", 20 if quick else 80),
        "WSABIE, AUC": wsabie("auc", 40 if quick else 120),
        "linear, WARP": linear("warp"),
        "linear, AUC (PAMIR)": linear("auc"),
        "One-vs-Rest": [
            (f"C {C}", lambda seed, C=C: OneVsRest(aggressiveness=C, random_state=seed))
            for C in ((0.1,) if quick else (0.01, 0.03, 0.1, 0.3, 1.0, 3.0))
        ],
        "k-NN": [("", lambda seed: NearestNeighbours(random_state=seed))],
        "approximate k-NN": [
            ("", lambda seed: NearestNeighbours(trees=1, leaf=200, random_state=seed))
        ],
    }
    if features == "embedding":
        found["LogisticRegression"] = [
            (f"C {C}", lambda seed, C=C: Logistic(C))
            for C in ((1.0,) if quick else (0.1, 0.3, 1.0, 3.0, 10.0))
        ]
    return found


def fitted(model: Any, X: Vectors, y: Any, validation: tuple[Vectors, Any]) -> Any:
    if isinstance(model, Logistic):
        return model.fit(X, y)
    return model.fit(X, y, validation=validation)


def judged(model: Any, X: Vectors, y: Any, tree: TagTree) -> AnnotationFigures:
    return evaluate_annotation(model, X, y, tree=tree, cutoffs=(1, 10))


def table(
    options: Options, task: Task, features: str, tree: TagTree
) -> dict[str, dict[str, list[Run]]]:
    """Choose each method's settings on validation; evaluate it on test with every seed.

    They are chosen twice: by mean average precision, and by sibling precision at 10 for what is
    said of siblings.
    """
    named = [part.words(task.words) for part in (task.train, task.validation, task.test)]
    shapes = forms(task, features)
    if options.quick:
        shapes = dict([shapes.popitem()])
    results: dict[str, dict[str, list[Run]]] = {aim: {} for aim in AIMS}
    for method, settings in grids(options.quick, features).items():
        best: dict[str, tuple[float, Any]] = dict.fromkeys(AIMS, (-1.0, None))
        for (form, X), (told, make) in product(shapes.items(), settings):
            model = fitted(make(SEEDS[0]), X[0], named[0], (X[1], named[1]))
            value = judged(model, X[1], named[1], tree)
            for aim, pick in AIMS.items():
                if pick(value) > best[aim][0]:
                    best[aim] = pick(value), (form, told, make)
        seeds = SEEDS[:1] if options.quick or method == "LogisticRegression" else SEEDS
        for aim in AIMS:
            form, told, make = best[aim][1]
            X = shapes[form]
            options.settings[f"{task.name}: {method}, by {aim}"] = f"{form}, {told}".strip(", ")
            models = [fitted(make(seed), X[0], named[0], (X[1], named[1])) for seed in seeds]
            results[aim][method] = [judge_last(options, model, X, named, tree) for model in models]
            if method == "WSABIE" and aim == "MAP":
                results[aim]["ensemble"] = [
                    ensemble(options, make, seed, X, named, tree) for seed in seeds
                ]
        print(f"{task.name}: {method} done", file=sys.stderr, flush=True)
    return results


def ensemble(
    options: Options,
    make: Callable[..., Any],
    seed: int,
    X: tuple[Vectors, ...],
    named: list[Any],
    tree: TagTree,
) -> Run:
    """Combine models of three sizes, as in Table 7, with weights from the validation part."""
    models = [
        make(10 * seed + at)
        .set_params(dimension=D)
        .fit(X[0], named[0], validation=(X[1], named[1]))
        for at, D in enumerate((20, 30) if options.quick else (100, 200, 300))
    ]
    return judge_last(options, Ensemble(models).fit_weights(X[1], named[1]), X, named, tree)


def judge_last(
    options: Options, model: Any, X: tuple[Vectors, ...], named: list[Any], tree: TagTree
) -> Run:
    at = 1 if options.quick else 2
    blocks = [np.arange(start, len(named[at]), BLOCKS) for start in range(BLOCKS)]
    return Run(
        judged(model, X[at], named[at], tree),
        [judged(model, X[at][rows], [named[at][row] for row in rows], tree) for rows in blocks],
    )


def mean(runs: list[Run], pick: Pick) -> float:
    return float(np.mean([pick(run.whole) for run in runs]))


def deviation(runs: list[Run], pick: Pick) -> float | None:
    return float(np.std([pick(run.whole) for run in runs], ddof=1)) if len(runs) > 1 else None


def error(ones: list[Run], others: list[Run], pick: Pick) -> float:
    """Return the standard error over pictures of a difference of two methods."""
    one, other = (
        np.mean([[pick(block) for block in run.blocks] for run in runs], axis=0)
        for runs in (ones, others)
    )
    return float(np.std(one - other, ddof=1) / np.sqrt(BLOCKS))


def orders(name: str, results: dict[str, dict[str, list[Run]]]) -> list[Figure]:
    """Return the differences that the paper's tables promise to be above zero."""
    pairs = [
        ("p@1, WARP − AUC, WSABIE", "MAP", "WSABIE", "WSABIE, AUC", at_1),
        ("p@1, WARP − AUC, linear", "MAP", "linear, WARP", "linear, AUC (PAMIR)", at_1),
        ("p@1, ensemble − WSABIE", "MAP", "ensemble", "WSABIE", at_1),
        *(
            (f"sibling p@10, WSABIE − {other}", "siblings", "WSABIE", other, siblings)
            for other in ("linear, AUC (PAMIR)", "One-vs-Rest", "linear, WARP")
        ),
    ]
    if "LogisticRegression" in results["MAP"]:
        other = "LogisticRegression"
        pairs.append((f"p@1, WSABIE − {other}", "MAP", "WSABIE", other, at_1))
    figures = []
    for what, aim, one, other, pick in pairs:
        a, b = mean(results[aim][one], pick), mean(results[aim][other], pick)
        told = f"{a:.4f} against {b:.4f}, settings chosen by {aim}; ± over pictures"
        spread = error(results[aim][one], results[aim][other], pick)
        figures.append(Figure(f"{name}: {what}", a - b, ">=", 0.0, told, spread))
    return figures


def rows(name: str, results: dict[str, list[Run]]) -> list[Figure]:
    """Return p@1 of every method, with the other figures."""
    return [
        Figure(
            f"{name}: {method}, p@1",
            mean(runs, at_1),
            against=f"p@10 {mean(runs, lambda run: run.precision[10]):.4f}, sibling p@10 "
            f"{mean(runs, siblings):.4f} (grandparent "
            f"{mean(runs, lambda run: run.sibling_precision[2][10]):.4f}), MAP "
            f"{mean(runs, average):.4f}",
            spread=deviation(runs, at_1),
        )
        for method, runs in results.items()
    ]


def measure(options: Options) -> list[Figure]:
    levels = options.data / "groceries" / "labels.csv"
    trees = {
        groceries: read_tag_tree(levels, levels=("fine", "coarse", "super")),
        clipart: read_tag_tree(options.data / "isa" / "wordnet_noun_isa.tsv"),
    }
    figures = []
    if options.quick:
        del trees[groceries]
    for features in ("visterms", "embedding"):
        for load, tree in trees.items():
            task = load(options.data, features)
            results = table(options, task, features, tree)
            figures += [*orders(task.name, results), *rows(task.name, results["MAP"])]
    options.settings["judged on"] = "validation" if options.quick else "test"
    return figures


if __name__ == "__main__":
    main("papers/wsabie", measure)

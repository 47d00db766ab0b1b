"""The methods of paper 2, section 6: their candidates, choosing, training, evaluating."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.base import Annotator
from lookalike.annotation.linear import LinearRanker
from lookalike.annotation.neighbours import NearestNeighbours, StoredPictures
from lookalike.annotation.one_vs_rest import OneVsRest
from lookalike.annotation.words import read_words
from lookalike.annotation.wsabie import WSABIE
from lookalike.core.progress import Progress, silent
from lookalike.core.vectors import unit_rows
from lookalike.evaluate.annotation import AnnotationFigures, evaluate_annotation
from lookalike.features import Vectors
from lookalike.supervision import TagTree

CURVE = tuple(range(1, 21))
"""The k of Figure 1; the tables have 1 and 10 of them."""

Words = Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Plan:
    """How much is tried; every method has the same number of settings to choose from.

    Attributes
    ----------
    dimensions : tuple of int
        D of WSABIE, the first for Table 6 and Figure 2 (Table 4).
    ensembles : tuple of tuple of int
        The D of the models of each ensemble (Table 7).
    rates, norms : tuple of float
        γ and C of WARP, AUC and OWPC; the linear model has no bound instead of the first C.
    steps : tuple of float
        C of the passive-aggressive methods.
    neighbours : tuple of int
        k of k-NN.
    leaves : tuple of float
        Shares of the training pictures in a leaf of approximate k-NN.
    epochs, passive_epochs : int
        The maximum number of passes, of WARP, AUC and OWPC and of the passive-aggressive methods.
    visterms : int
        d.
    too_close : float
        The cosine to a training or validation picture from which a test picture is a copy of it.
    """

    dimensions: tuple[int, ...]
    ensembles: tuple[tuple[int, ...], ...]
    rates: tuple[float, ...]
    norms: tuple[float, ...]
    steps: tuple[float, ...]
    neighbours: tuple[int, ...]
    leaves: tuple[float, ...]
    epochs: int
    passive_epochs: int
    visterms: int
    too_close: float = 0.99


FULL = Plan(
    dimensions=(100, 200, 300, 500),
    ensembles=((300,), (100, 200), (100, 300), (100, 200, 300)),
    rates=(0.01, 0.03, 0.1, 0.3),
    norms=(0.7, 1.4),
    steps=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    neighbours=(1, 2, 3, 5, 10, 20, 50, 100),
    leaves=(1 / 64, 1 / 16, 1 / 4),
    epochs=30,
    passive_epochs=100,
    visterms=10_000,
)
QUICK = Plan(
    dimensions=(20, 50),
    ensembles=((50,), (20, 50)),
    rates=(0.05, 0.1),
    norms=(1.4,),
    steps=(0.01, 0.1),
    neighbours=(3, 10),
    leaves=(1 / 16, 1 / 4),
    epochs=10,
    passive_epochs=10,
    visterms=1000,
)


@dataclass(frozen=True, eq=False)
class Part:
    """Vectors of pictures and their words."""

    X: Vectors
    y: Words

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class Study:
    """What all methods are trained, chosen and evaluated on."""

    train: Part
    check: Part
    test: Part
    tree: TagTree | None
    plan: Plan
    seed: int
    advance: Callable[[], None]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Chosen:
    """The candidate of largest mean average precision on the validation part.

    Attributes
    ----------
    model : Annotator
        The candidate, trained on the training part.
    check : float
        Its mean average precision on the validation part.
    seconds : float
        Its training time.
    """

    model: Annotator
    check: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Judged:
    """A chosen model, and its results on the test part."""

    model: Annotator
    figures: AnnotationFigures
    seconds: float

    def percent(self) -> list[float | None]:
        """Return p@1, p@10, p_sib@10 and MAP."""
        siblings = self.figures.sibling_precision
        outcome = (
            self.figures.precision[1],
            self.figures.precision[10],
            siblings[1][10] if siblings else None,
            self.figures.mean_average_precision,
        )
        return [None if value is None else 100 * value for value in outcome]


def embeddings(
    plan: Plan, seed: int, dimension: int, loss: Literal["warp", "auc", "owpc"] = "warp"
) -> Iterator[Annotator]:
    """Return the candidates of f_i(x) = W_iᵀVx."""
    for rate in plan.rates:
        for norm in plan.norms:
            yield WSABIE(
                dimension=dimension,
                loss=loss,
                learning_rate=rate,
                max_norm=norm,
                epochs=plan.epochs,
                random_state=seed,
            )


def rankers(plan: Plan, seed: int, loss: Literal["warp", "auc"]) -> Iterator[Annotator]:
    """Return the candidates of f_i(x) = w_iᵀx; with ``"auc"``, of PAMIR^IA."""
    if loss == "auc":
        for step in plan.steps:
            yield LinearRanker(
                loss="auc", aggressiveness=step, epochs=plan.passive_epochs, random_state=seed
            )
        return
    for rate in plan.rates:
        for norm in (None, *plan.norms[1:]):
            yield LinearRanker(
                learning_rate=rate, max_norm=norm, epochs=plan.epochs, random_state=seed
            )


def classifiers(plan: Plan, seed: int) -> Iterator[Annotator]:
    """Return the candidates of One-vs-Rest."""
    for step in plan.steps:
        yield OneVsRest(aggressiveness=step, epochs=plan.passive_epochs, random_state=seed)


def nearest(plan: Plan, seed: int, leaf: int | None) -> Iterator[Annotator]:
    """Return the candidates of k-NN with so many pictures in a leaf, or exact."""
    for k in plan.neighbours:
        trees = 0 if leaf is None else 1
        yield NearestNeighbours(neighbours=k, trees=trees, leaf=leaf or 1, random_state=seed)


def not_copies(test: Vectors, others: Vectors, too_close: float) -> NDArray[np.intp]:
    """Return the test pictures that are no copies of others, by their cosine (section 6.1)."""
    _, cosines = StoredPictures(unit_rows(others), None).nearest(test, 1)
    return np.flatnonzero(cosines[:, 0] < too_close)


def leaf_sizes(plan: Plan, pictures: int) -> list[int]:
    """Return the numbers of pictures in a leaf of approximate k-NN, the smallest first."""
    return [max(1, round(share * pictures)) for share in plan.leaves]


def fits(plan: Plan) -> int:
    """Return the number of models to train, for progress."""
    embedded = len(plan.rates) * len(plan.norms)
    return (
        embedded * (len(plan.dimensions) + 1 + 2)
        + len(plan.steps) * 2
        + embedded
        + len(plan.neighbours) * (1 + len(plan.leaves))
    )


def train(model: Annotator, study: Study, progress: Progress = silent) -> Annotator:
    """Train on the training part; passes are evaluated on the validation part."""
    learner: Any = model
    trained: Annotator = learner.fit(
        study.train.X,
        study.train.y,
        validation=(study.check.X, study.check.y),
        progress=progress,
    )
    return trained


def choose(candidates: Iterator[Annotator], study: Study) -> Chosen:
    """Train all and return the best on the validation part, the first of ties."""
    best = _tried(next(candidates), study)
    for candidate in candidates:
        other = _tried(candidate, study)
        if other.check > best.check:
            best = other
    return best


def _tried(candidate: Annotator, study: Study) -> Chosen:
    started = time.perf_counter()
    model = train(candidate, study)
    seconds = time.perf_counter() - started
    outcome = evaluate_annotation(model, study.check.X, study.check.y, cutoffs=(1,))
    study.advance()
    return Chosen(model, outcome.mean_average_precision, seconds)


def judge(chosen: Chosen, study: Study) -> Judged:
    """Evaluate a chosen model on the test part."""
    figures = evaluate_annotation(
        chosen.model, study.test.X, study.test.y, cutoffs=CURVE, tree=study.tree, levels=(1,)
    )
    return Judged(chosen.model, figures, chosen.seconds)


def seconds_to_rank(model: Annotator, X: Vectors) -> float:
    """Return how long ranking the ten best words of all pictures takes."""
    model.rank(X[:2], k=10)
    started = time.perf_counter()
    model.rank(X, k=10)
    return time.perf_counter() - started


def settings_of(model: Annotator) -> str:
    """Return what was chosen, such as ``D 100, γ 0.05, C 2``."""
    names: dict[str, str] = {}
    match model:
        case WSABIE():
            names = {"D": "dimension", "γ": "learning_rate", "C": "max_norm"}
        case LinearRanker(loss="warp"):
            names = {"γ": "learning_rate", "C": "max_norm"}
        case LinearRanker() | OneVsRest():
            names = {"C": "aggressiveness"}
        case NearestNeighbours(trees=0):
            names = {"k": "neighbours"}
        case NearestNeighbours():
            names = {"k": "neighbours", "leaf": "leaf"}
    chosen = {sign: getattr(model, name) for sign, name in names.items()}
    return ", ".join(f"{sign} {value:g}" for sign, value in chosen.items() if value is not None)


def words_by_use(part: Part) -> list[str]:
    """Return the words of a part, the most frequent first."""
    has, words = read_words("words_by_use", part.y, len(part))
    uses = np.bincount(has.indices, minlength=len(words))
    return [words[at] for at in np.argsort(-uses, kind="stable")]

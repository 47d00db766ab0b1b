"""Figures 3 to 9 of paper 1: how OASIS and its variants learn, as plots and CSV."""

import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.arrays import write_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.seeds import loop_state
from lookalike.core.vectors import Vectors
from lookalike.evaluate.metrics import evaluate_similarity
from lookalike.evaluate.plots import Level, Series, curve_plot
from lookalike.evaluate.protocols import Result
from lookalike.evaluate.raters import RankingPrecision
from lookalike.evaluate.reproduce.oasis_tables import CURVE, plain_oasis
from lookalike.evaluate.reproduce.picture_sets import PictureSet
from lookalike.evaluate.reproduce.vectors import FoldVectors
from lookalike.evaluate.spread import Spread
from lookalike.evaluate.tables import Table
from lookalike.similarity.blend import project_positive
from lookalike.similarity.euclidean import Euclidean
from lookalike.similarity.lmnn import LMNN
from lookalike.similarity.oasis import OASIS
from lookalike.supervision import Relevance, TripletSampler, image_relevance

STEPS_LABEL = "training steps"
MAP_LABEL = "mean average precision, %"
RANKERS = 10
EVERY = (1000, 16_000)
"""The t of Figure 9: W is made positive every t steps."""


@dataclass(frozen=True)
class Study:
    """The data of the figures of one set of pictures, and where they are written.

    ``advance`` is called after each fold of a figure.
    """

    pictures: PictureSet
    folds: Sequence[FoldVectors]
    out: Path
    seed: int
    advance: Callable[[], None]

    def randoms(self, figure: int) -> Iterator[tuple[FoldVectors, np.random.Generator]]:
        """Return each fold with its own random stream."""
        for number, fold in enumerate(self.folds):
            yield fold, np.random.default_rng([self.seed, figure, number])
            self.advance()

    def path(self, figure: int) -> Path:
        """Return the file of a figure's panel."""
        return self.out / f"figure-{figure}-{self.pictures.name}.png"


@dataclass(frozen=True)
class Drawn:
    """A panel of a figure: its file, and its curves as rows of numbers."""

    path: Path
    caption: str
    rows: list[list[str | float]]


def geometric(most: int) -> list[int]:
    """Return the steps to evaluate at: 500, 1,000, 2,000 and so on up to ``most``."""
    return [500 * 2**power for power in range(20) if 500 * 2**power <= most]


def learning(
    model: OASIS,
    fold: FoldVectors,
    looks: Sequence[int],
    rng: np.random.Generator,
    *,
    anchors: NDArray[np.intp] | None = None,
) -> Iterator[OASIS]:
    """Train one model and yield it at each look."""
    sampler = TripletSampler(Relevance.of(fold.train_labels), anchors=anchors)
    state = loop_state(rng)
    for start, stop in pairwise([0, *looks]):
        model.partial_fit(fold.train, sampler.draw(state, stop - start))
        yield model


def test_precision(model: OASIS | Euclidean, fold: FoldVectors) -> float:
    """Return the mean average precision on the test part."""
    judged = evaluate_similarity(model, fold.test, fold.test_labels, cutoffs=())
    return judged.mean_average_precision


def train_precision(model: OASIS, fold: FoldVectors) -> float:
    """Return the mean average precision on the training part."""
    judged = evaluate_similarity(model, fold.train, fold.train_labels, cutoffs=())
    return judged.mean_average_precision


def with_matrix(model: OASIS, W: NDArray[np.float32]) -> OASIS:
    """Return a copy of the model that scores with another W."""
    other = copy.copy(model)
    other.W_ = W
    return other


def figure_3a(
    X: Vectors, R_QI: sp.spmatrix, out: Path, *, seed: int, held_out: float = 0.3
) -> Drawn:
    """Plot precision at top k against what people clicked (section 5.2.2, with θ = 0).

    OASIS learns from the relevance that clicks give to a part of the pictures (Eq. 18 to 20), and
    ranks the others; a picture is right if anybody who searched chose both.
    """
    rng = np.random.default_rng([seed, 3])
    order = rng.permutation(X.shape[0])
    held, learn = np.split(order, [round(held_out * len(order))])
    clicks = sp.csc_matrix(R_QI)
    relevance = {
        name: Relevance.of(image_relevance(clicks[:, rows].tocsr(), threshold=0), len(rows))
        for name, rows in (("learn", learn), ("held", held))
    }
    why = relevance["learn"].trainable() or relevance["held"].trainable()
    if why:
        raise InvalidInput(f"figure_3a: too few clicks to learn from and to judge by: {why}")
    model = plain_oasis(steps=None, random_state=seed).fit(X[learn], relevance["learn"])
    curves = {}
    for name, one in (("OASIS", model), ("Euclidean", Euclidean().fit(X[learn]))):
        judged = evaluate_similarity(one, X[held], relevance["held"], cutoffs=CURVE)
        curves[name] = [list(judged.mean_precision)]
    return draw(
        out / "figure-3a.png",
        "Figure 3A: precision at top k against clicks",
        CURVE,
        curves,
        levels=[],
        x_label="k",
        y_label="precision at top k, %",
    )


def figure_4(study: Study, sizes: Sequence[int]) -> Drawn:
    """Plot CPU seconds of training against the size of the training set (section 5.2.4).

    OASIS stops early on a part held out; LMNN has its active set, as fast-LMNN.
    """
    fold = study.folds[0]
    methods: dict[str, Callable[[], OASIS | LMNN]] = {
        "OASIS": lambda: plain_oasis(steps=None, random_state=study.seed),
        "fast-LMNN": LMNN,
    }
    order = np.random.default_rng([study.seed, 4]).permutation(len(fold.train_labels))
    counts = [size for size in sizes if size <= len(order)] or [len(order)]
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for count in counts:
        rows = order[:count]
        for name, made in methods.items():
            begin = time.process_time()
            made().fit(fold.train[rows], fold.train_labels[rows])
            seconds[name].append(time.process_time() - begin)
    study.advance()
    path = study.path(4)
    title = f"Figure 4: training time, {study.pictures.title}"
    named = {name: f"{name}{_growth(counts, values)}" for name, values in seconds.items()}
    curve_plot(
        [Series(named[name], counts, values) for name, values in seconds.items()],
        path=path,
        title=title,
        x_label="training pictures",
        y_label="CPU seconds",
        logarithmic=True,
    )
    rows_of_all: list[list[str | float]] = [
        [named[name], count, value, 0.0]
        for name, values in seconds.items()
        for count, value in zip(counts, values, strict=True)
    ]
    return Drawn(path, title, rows_of_all)


def _growth(counts: Sequence[int], seconds: Sequence[float]) -> str:
    """Return by which power of the size the time grows, in words."""
    if len(counts) < 3:
        return ""
    logs = np.log(np.maximum(seconds, 1e-3))
    return f", n^{np.polyfit(np.log(np.asarray(counts)), logs, 1)[0]:.1f}"


def figure_3b(rankings: Mapping[str, RankingPrecision], out: Path) -> Drawn:
    """Plot precision at top k of rankings as raters judged them (section 5.2.3, appendix A)."""
    k = range(1, len(next(iter(rankings.values())).mean) + 1)
    percent = {
        name: (100 * np.array(one.mean), 100 * np.array(one.error))
        for name, one in rankings.items()
    }
    path, title = out / "figure-3b.png", "Figure 3B: precision at top k, by raters"
    series = [Series(name, list(k), *values) for name, values in percent.items()]
    curve_plot(series, path=path, title=title, x_label="k", y_label="precision at top k, %")
    rows: list[list[str | float]] = [
        [name, at, float(mean), float(error)]
        for name, values in percent.items()
        for at, mean, error in zip(k, *values, strict=True)
    ]
    return Drawn(path, title, rows)


def figure_5(study: Study, most: int) -> Drawn:
    """Plot the mean average precision on the training and the test part during training."""
    looks = geometric(most)
    curves: dict[str, list[list[float]]] = {"training part": [], "test part": []}
    for fold, rng in study.randoms(5):
        models = learning(plain_oasis(), fold, looks, rng)
        both = [(train_precision(one, fold), test_precision(one, fold)) for one in models]
        for name, values in zip(curves, zip(*both, strict=True), strict=True):
            curves[name].append(list(values))
    return _draw_learning(study, 5, "OASIS while it learns", looks, curves)


def figure_6(pictures: PictureSet, results: dict[str, Result | None], out: Path) -> Drawn:
    """Plot precision at top k of all methods."""
    values = {name: result for name, result in results.items() if result is not None}
    curves = {
        name: [list(judgement.mean_precision) for judgement in result.judgements]
        for name, result in values.items()
    }
    chance = next(iter(values.values())).chance.scaled(100)
    return draw(
        out / f"figure-6-{pictures.name}.png",
        f"Figure 6: precision at top k, {pictures.title}",
        CURVE,
        curves,
        levels=[Level("chance", chance.mean)],
        x_label="k",
        y_label="precision at top k, %",
    )


def figure_7(study: Study, most: int) -> Drawn:
    """Compare single rankers, each with a tenth of the pictures, with averages of 5 and 10."""
    looks = geometric(most)
    curves: dict[str, list[list[float]]] = {"10 rankers": [], "5 rankers": [], "one ranker": []}
    for fold, rng in study.randoms(7):
        shards = np.array_split(rng.permutation(len(fold.train_labels)), RANKERS)
        rankers = [
            learning(plain_oasis(), fold, looks, rng_of_shard, anchors=shard)
            for shard, rng_of_shard in zip(shards, rng.spawn(RANKERS), strict=True)
        ]
        points: list[tuple[float, float, float]] = []
        for models in zip(*rankers, strict=True):
            alone = [test_precision(model, fold) for model in models]
            five, ten = (
                test_precision(
                    with_matrix(models[0], np.mean([one.W_ for one in models[:count]], axis=0)),
                    fold,
                )
                for count in (5, RANKERS)
            )
            points.append((ten, five, float(np.mean(alone))))
        for name, values in zip(curves, zip(*points, strict=True), strict=True):
            curves[name].append(list(values))
    x_label = "training steps of each ranker"
    return _draw_learning(study, 7, "averages of rankers", looks, curves, x_label=x_label)


def figure_8(study: Study, most: int) -> Drawn:
    """Compare the symmetric variants of section 6.1."""
    looks = geometric(most)
    curves: dict[str, list[list[float]]] = {
        "OASIS": [],
        "Proj-OASIS": [],
        "Online-Proj-OASIS": [],
        "Dissim-OASIS": [],
    }
    for fold, rng in study.randoms(8):
        first, *streams = (np.random.default_rng(seed) for seed in 3 * [rng.integers(2**63)])
        both = [
            (test_precision(one, fold), test_precision(with_matrix(one, _symmetric(one.W_)), fold))
            for one in learning(plain_oasis(), fold, looks, first)
        ]
        curves["OASIS"].append([plain for plain, _ in both])
        curves["Proj-OASIS"].append([projected for _, projected in both])
        for name, symmetric, stream in zip(
            ("Online-Proj-OASIS", "Dissim-OASIS"), ("during", "dissimilarity"), streams, strict=True
        ):
            models = learning(plain_oasis(symmetric=symmetric), fold, looks, stream)
            curves[name].append([test_precision(one, fold) for one in models])
    return _draw_learning(study, 8, "symmetric variants", looks, curves)


def figure_9(study: Study, most: int) -> Drawn:
    """Plot the test part for projections onto positive W: never, after, and every t steps."""
    looks = list(range(most // 8, most + 1, most // 8))
    curves: dict[str, list[list[float]]] = {"never": [], "after": []}
    periods = [t for t in EVERY if t < most]
    curves |= {f"every {t:,} steps": [] for t in periods}
    for fold, rng in study.randoms(9):
        first, *streams = (
            np.random.default_rng(seed) for seed in (1 + len(periods)) * [rng.integers(2**63)]
        )
        both = [
            (
                test_precision(one, fold),
                test_precision(with_matrix(one, project_positive(one.W_)), fold),
            )
            for one in learning(plain_oasis(), fold, looks, first)
        ]
        curves["never"].append([plain for plain, _ in both])
        curves["after"].append([projected for _, projected in both])
        for t, stream in zip(periods, streams, strict=True):
            values = [test_precision(one, fold) for one in projecting(fold, looks, stream, t)]
            curves[f"every {t:,} steps"].append(values)
    return draw(
        study.path(9),
        f"Figure 9: making W positive, {study.pictures.title}",
        looks,
        curves,
        levels=[],
    )


def projecting(
    fold: FoldVectors, looks: Sequence[int], rng: np.random.Generator, every: int
) -> Iterator[OASIS]:
    """Train, project W onto the positive matrices periodically, and yield it at each look."""
    stops = sorted({*looks, *range(every, looks[-1] + 1, every)})
    for stop, model in zip(stops, learning(plain_oasis(), fold, stops, rng), strict=True):
        if stop % every == 0:
            model.W_ = project_positive(model.W_)
        if stop in looks:
            yield model


def _symmetric(W: NDArray[np.float32]) -> NDArray[np.float32]:
    return (W + W.T) / np.float32(2)


def _euclidean(folds: Sequence[FoldVectors]) -> Level:
    outcome = Spread.of(test_precision(Euclidean().fit(fold.train), fold) for fold in folds)
    return Level("Euclidean", 100 * outcome.mean, 100 * outcome.error)


def _draw_learning(
    study: Study,
    figure: int,
    title: str,
    looks: Sequence[int],
    curves: dict[str, list[list[float]]],
    x_label: str = STEPS_LABEL,
) -> Drawn:
    """Plot curves over the steps on a logarithmic axis, with that of Euclidean as a level."""
    return draw(
        study.path(figure),
        f"Figure {figure}: {title}, {study.pictures.title}",
        looks,
        curves,
        levels=[_euclidean(study.folds)],
        x_label=x_label,
        logarithmic=True,
    )


def draw(
    path: Path,
    title: str,
    x: Sequence[int],
    curves: dict[str, list[list[float]]],
    *,
    levels: Sequence[Level],
    x_label: str = STEPS_LABEL,
    y_label: str = MAP_LABEL,
    logarithmic: bool = False,
) -> Drawn:
    """Plot curves given per fold: their mean, with the standard error over the folds."""
    series, rows = [], list[list[str | float]]()
    for name, by_fold in curves.items():
        points = [Spread.of(column).scaled(100) for column in zip(*by_fold, strict=True)]
        means, errors = [point.mean for point in points], [point.error for point in points]
        series.append(Series(name, x, means, errors))
        rows += [[name, at, *pair] for at, *pair in zip(x, means, errors, strict=True)]
    rows += [[level.name, "", level.value, level.spread] for level in levels]
    curve_plot(
        series,
        path=path,
        title=title,
        x_label=x_label,
        y_label=y_label,
        levels=levels,
        logarithmic=logarithmic,
    )
    return Drawn(path, title, rows)


def write_report(
    out: Path,
    heading: str,
    tables: Sequence[Table],
    panels: Mapping[int, Sequence[Drawn]],
    *,
    values: Sequence[str] = ("mean", "standard error"),
    errors: str = "",
) -> None:
    """Write tables and figures to one page, and the curves of each figure to a CSV file.

    ``values`` are the columns of a curve besides x; ``errors`` says what error bars stand for.
    """
    lines = [heading]
    for table in tables:
        lines += ["", table.markdown()]
    if errors:
        lines += ["", errors]
    for number, drawn in panels.items():
        lines += ["", f"## Figure {number}"]
        for panel in drawn:
            lines += ["", f"![{panel.caption}]({panel.path.name})"]
        rows = [[panel.path.stem, *row] for panel in drawn for row in panel.rows]
        curves = Table(["panel", "curve", "x", *values], rows)
        write_whole(out / f"figure-{number}.csv", curves.csv().encode())
    write_whole(out / "report.md", ("\n".join(lines) + "\n").encode())

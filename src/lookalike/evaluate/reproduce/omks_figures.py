"""Figures 2 to 4 of paper 5: precision at top n, what more triplets bring, and examples."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from lookalike.evaluate.plots import Tile, picture_plot
from lookalike.evaluate.reproduce.oasis_figures import Drawn, draw
from lookalike.evaluate.reproduce.omks_methods import CUTOFFS, METHODS, Experiment, Split
from lookalike.evaluate.reproduce.omks_tables import Outcomes, run_methods
from lookalike.evaluate.reproduce.omks_views import ViewSet
from lookalike.evaluate.reproduce.picture_sets import PictureSet

TOP = 5
"""Figure 2 has the precision at top 1 to 5."""

RATIOS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""RatioTrain of Figure 3."""

COMPARED = ("OMKS", "OMKS-U", "OKS-Best", "OKS-Avg", "OASIS-Best", "KITML-Best", "Eucl.-Best")
EXAMPLES, SHOWN = 2, 10
EXAMPLE_METHODS = ("OMKS", "OKS-Best", "OASIS-Best", "Eucl.-Best")
LEARNED = ("OMKS", "OMKS-U", "OKS-Best", "OKS-Avg", "OASIS-Best")


def figure_2(pictures: PictureSet, results: Mapping[str, Outcomes | None], out: Path) -> Drawn:
    """Plot precision at top 1 to 5 of the methods compared."""
    curves = {
        name: [list(one.mean_precision[:TOP]) for one in result.judgements]
        for name in COMPARED
        if (result := results.get(name)) is not None
    }
    return draw(
        out / f"figure-2-{pictures.name}.png",
        f"Figure 2: precision at top n, {pictures.title}",
        CUTOFFS[:TOP],
        curves,
        levels=[],
        x_label="n",
        y_label="precision at top n, %",
    )


def figure_3(
    data: ViewSet,
    splits: Sequence[Split],
    out: Path,
    *,
    ratios: Sequence[float],
    random_state: int,
    advance: Callable[[], None],
) -> Drawn:
    """Plot the mean average precision against the share of positive pairs learned from."""
    curves: dict[str, list[list[float]]] = {name: [[] for _ in splits] for name in LEARNED}
    for ratio in ratios:
        results = run_methods(
            data, splits, methods=LEARNED, ratio=ratio, random_state=random_state, advance=advance
        )
        for name, result in results.items():
            if result is not None:
                for curve, one in zip(curves[name], result.judgements, strict=True):
                    curve.append(one.mean_average_precision)
    return draw(
        out / f"figure-3-{data.pictures.name}.png",
        f"Figure 3: more triplets, {data.pictures.title}",
        [round(100 * ratio) for ratio in ratios],
        curves,
        levels=[],
        x_label="RatioTrain: share of positive pairs with a triplet, %",
    )


def figure_4(data: ViewSet, split: Split, out: Path, *, ratio: float, random_state: int) -> Drawn:
    """Show the first pictures that several methods rank for two queries (section 6.8)."""
    pictures = data.pictures
    experiment = Experiment(data.views, pictures.labels, split, ratio, random_state)
    rng = np.random.default_rng([random_state, 4])
    sample = np.sort(rng.permutation(len(split.query))[:EXAMPLES])
    rows: list[tuple[str, list[Tile]]] = []
    points: list[list[str | float]] = []
    for name in EXAMPLE_METHODS:
        METHODS[name].run(experiment)
        for number, query in enumerate(sample, start=1):
            own = split.query[query]
            order = np.argsort(-np.asarray(experiment.ranked)[query], kind="stable")
            first = [row for row in split.test[order] if row != own][:SHOWN]
            tiles = [Tile(pictures.files[own], "query")]
            for at, row in enumerate(first, start=1):
                is_right = bool(pictures.labels[row] == pictures.labels[own])
                tiles.append(Tile(pictures.files[row], str(pictures.labels[row]), is_right))
                points.append([f"{name}, query {number}", at, float(is_right), ""])
            rows.append((f"{name}, query {number}", tiles))
    rows.sort(key=lambda row: row[0].rpartition(" ")[2])
    path = out / f"figure-4-{pictures.name}.png"
    title = f"Figure 4: the first {SHOWN} pictures, {pictures.title}"
    picture_plot(rows, path=path, title=title)
    return Drawn(path, title, points)

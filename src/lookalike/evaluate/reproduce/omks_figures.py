"""Figures 2 and 3 of paper 5: precision at top n, and what more triplets bring."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lookalike.evaluate.reproduce.oasis_figures import Drawn, draw
from lookalike.evaluate.reproduce.omks_methods import CUTOFFS, Split
from lookalike.evaluate.reproduce.omks_tables import Outcomes, run_methods
from lookalike.evaluate.reproduce.omks_views import ViewSet
from lookalike.evaluate.reproduce.picture_sets import PictureSet

TOP = 5
"""Figure 2 has the precision at top 1 to 5."""

RATIOS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""RatioTrain of Figure 3."""

COMPARED = ("OMKS", "OMKS-U", "OKS-Best", "OKS-Avg", "OASIS-Best", "KITML-Best", "Eucl.-Best")
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

"""Figures 1 and 2 of paper 2: precision by k, and precision during training."""

import time
from collections.abc import Mapping
from pathlib import Path

from sklearn.base import clone

from lookalike.annotation.base import Annotator
from lookalike.evaluate.plots import Series, curve_plot
from lookalike.evaluate.reproduce.oasis_figures import Drawn
from lookalike.evaluate.reproduce.wsabie_methods import CURVE, Judged, Study, train


def figure_1(outcome: Mapping[str, Judged], out: Path) -> list[Drawn]:
    """Plot precision and sibling precision at k of all methods."""
    panels = [
        _draw(
            out / "figure-1-precision.png",
            "Figure 1: precision at k",
            {
                name: (CURVE, [judged.figures.precision[k] for k in CURVE])
                for name, judged in outcome.items()
            },
            x_label="k",
            y_label="precision at k, %",
        )
    ]
    if all(judged.figures.sibling_precision for judged in outcome.values()):
        panels.append(
            _draw(
                out / "figure-1-siblings.png",
                "Figure 1: sibling precision at k",
                {
                    name: (CURVE, [judged.figures.sibling_precision[1][k] for k in CURVE])
                    for name, judged in outcome.items()
                },
                x_label="k",
                y_label="sibling precision at k, %",
            )
        )
    return panels


def figure_2(models: Mapping[str, Annotator], study: Study, out: Path) -> Drawn:
    """Train each model again and plot precision at 1 on the validation part against time."""
    curves = {name: trace(model, study) for name, model in models.items()}
    return _draw(
        out / "figure-2.png",
        f"Figure 2: training time, D = {study.plan.dimensions[0]}",
        curves,
        x_label="seconds of training",
        y_label="validation precision at 1, %",
        logarithmic=True,
    )


def trace(model: Annotator, study: Study) -> tuple[list[float], list[float]]:
    """Return the seconds at the end of each pass, and its precision at 1 on the validation part.

    The seconds include evaluating the passes before, which is the same for all losses.
    """
    again = clone(model)
    ends: dict[int, float] = {}
    started = time.perf_counter()

    def note(done: int, total: int) -> None:
        passes, rest = divmod(done * again.epochs, total)
        if not rest:
            ends.setdefault(passes, time.perf_counter() - started)

    train(again, study, progress=note)
    study.advance()
    seconds = [ends[passes] for passes, _ in again.history_]
    return seconds, [precision for _, precision in again.history_]


def _draw(
    path: Path,
    title: str,
    curves: Mapping[str, tuple[list[float] | tuple[int, ...], list[float]]],
    *,
    x_label: str,
    y_label: str,
    logarithmic: bool = False,
) -> Drawn:
    series, rows = [], list[list[str | float]]()
    for name, (x, shares) in curves.items():
        percent = [100 * share for share in shares]
        series.append(Series(name, x, percent))
        rows += [[name, at, value] for at, value in zip(x, percent, strict=True)]
    curve_plot(
        series, path=path, title=title, x_label=x_label, y_label=y_label, logarithmic=logarithmic
    )
    return Drawn(path, title, rows)

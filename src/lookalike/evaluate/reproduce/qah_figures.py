"""Figures 1 and 3 to 6 of paper 3: pictures at each distance, gains, classes and examples."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lookalike.evaluate.delta import class_gains
from lookalike.evaluate.plots import Series, Tile, bar_plot, picture_plot
from lookalike.evaluate.reproduce.oasis_figures import Drawn
from lookalike.evaluate.reproduce.qah_data import CodedSet
from lookalike.evaluate.tables import Cell, Table

if TYPE_CHECKING:
    from lookalike.evaluate.reproduce.qah import Outcome

GAINS = {"S3PLH": {32: 5.0, 48: 5.0}, "deep": {32: 6.2, 48: 10.1}}
"""Per cent that ΔMAP gains over the entire list (paper 3, section 6, Figure 4)."""

AT_DISTANCE_0 = 2.4
"""Pictures at distance 0 of a query, 48 bits of the deep belief net (section 6, Figure 3)."""

EXAMPLES = 3
"""Queries shown: one in Figure 1, two in Figure 6."""

PAPER_RULE = "entire, the paper's rule"
LISTS = {
    PAPER_RULE: ("entire", "paper"),
    "entire, chosen rule": ("entire", "chosen"),
    "entire, class weights alone": ("entire", "by_class"),
    "upper half, the paper's rule": ("upper", "paper"),
    "upper half, chosen rule": ("upper", "chosen"),
}
"""What Figure 4 compares with plain Hamming distance."""


def distances(at: NDArray[np.float64]) -> Table:
    """Return how many pictures are at each distance."""
    rows: list[list[Cell]] = [
        [place, None if place else AT_DISTANCE_0, float(count)] for place, count in enumerate(at)
    ]
    return Table(
        ["distance", "paper", "ours"],
        rows[:17],
        title="Figure 3: mean number of pictures at each Hamming distance of a query",
        notes=["48 bits of the deep belief net. The paper has 107,859 test pictures of NUS-WIDE."],
        digits=2,
    )


def gains(outcomes: Mapping[tuple[str, int], Sequence["Outcome"]], notes: Sequence[str]) -> Table:
    """Return ΔMAP of the distances, and the gains with their errors."""
    rows: list[list[Cell]] = []
    for (name, bits), draws in outcomes.items():
        for part, (where, how) in LISTS.items():
            before, after, error = gain_of(draws, where, how)
            paper = GAINS[name].get(bits) if part == PAPER_RULE else None
            gain = 100 * (after - before) / before
            rows.append([name, bits, part, before, after, paper, gain, 100 * error / before])
    return Table(
        ["codes", "bits", "list", "Hamming", "adaptive", "paper's gain", "gain", "± error"],
        rows,
        title="Figure 4: ΔMAP by plain and by query-adaptive Hamming distance, and the gain in %",
        notes=[
            *notes,
            "The paper prints no ΔMAP itself, and gives the gain of S3PLH as about 5 %.",
            "The paper's rule goes by codes alone (section 5.2); where the chosen rule agrees, it "
            "counts margins as well.",
            *(
                f"Chosen for {name}, {bits} bits: {'; '.join(dict.fromkeys(rules))}."
                for (name, bits), rules in (
                    (key, [one.rule for one in draws]) for key, draws in outcomes.items()
                )
            ),
        ],
        digits=3,
    )


def gain_of(draws: Sequence["Outcome"], where: str, how: str) -> tuple[float, float, float]:
    """Return ΔMAP by plain and by another distance, and the standard error of the difference.

    The error has two parts: that over the queries, and that over the draws of the codes.
    """
    plain = [getattr(one, where)["plain"] for one in draws]
    other = [getattr(one, where)[how] for one in draws]
    before, after = (float(np.mean([np.nanmean(row) for row in some])) for some in (plain, other))
    changes = np.array([second - first for first, second in zip(plain, other, strict=True)])
    each = np.nanmean(changes, axis=1)
    over_draws = float(each.var(ddof=1)) / len(each) if len(each) > 1 else 0.0
    per_query = changes.mean(axis=0)
    per_query = per_query[~np.isnan(per_query)]
    over_queries = float(per_query.var(ddof=1)) / len(per_query) if len(per_query) > 1 else 0.0
    return before, after, float(np.sqrt(over_draws + over_queries))


def classes(
    plain: NDArray[np.float64], adaptive: NDArray[np.float64], labels: Sequence[set[str]]
) -> Table:
    """Return the gain of each class."""
    result = class_gains(plain, adaptive, list(labels[: len(plain)]))
    result.sort(key=lambda one: -one.gain)
    worse = sum(one.worse() for one in result)
    rows: list[list[Cell]] = [
        [
            *(one.name, one.queries, one.before, one.after, one.gain),
            None if np.isnan(one.error) else one.error,
        ]
        for one in result
    ]
    return Table(
        ["class", "queries", "Hamming", "adaptive", "gain", "± error"],
        rows,
        title="Figure 5: ΔMAP of each class, 48 bits of the deep belief net",
        notes=[
            f"{worse} of {len(result)} classes lose more than two standard errors; by chance, one "
            f"in forty would. In the paper none of 81 loses."
        ],
        digits=3,
    )


def draw_all(
    outcomes: Mapping[tuple[str, int], Sequence["Outcome"]], by_class: Table, out: Path
) -> dict[int, list[Drawn]]:
    """Draw Figures 3 to 5 as bars, as the paper does; Figure 4 in both halves."""
    at = outcomes["deep", 48][0].at
    some = np.flatnonzero(at > 0)
    third = [Series("deep, 48 bits", some, at[some])]
    panels = {
        3: [
            _bars(3, "", "pictures at each distance", list(map(str, some)), third, out, log=True),
        ],
        4: [_halves(outcomes, where, out) for where in ("entire", "upper")],
    }
    names = [str(row[0]) for row in by_class.rows]
    figures = np.array([row[2:4] for row in by_class.rows], np.float64).reshape(-1, 2)
    errors = [0.0 if row[5] is None else float(str(row[5])) for row in by_class.rows]
    fifth = [
        Series("Hamming", names, figures[:, 0]),
        Series("adaptive", names, figures[:, 1], errors),
    ]
    panels[5] = [_bars(5, "", "ΔMAP of each class", names, fifth, out)]
    return panels


def _halves(
    outcomes: Mapping[tuple[str, int], Sequence["Outcome"]], where: str, out: Path
) -> Drawn:
    names = [f"{name}, {bits}" for name, bits in outcomes]
    figures = {
        how: [gain_of(draws, where, how) for draws in outcomes.values()]
        for how in ("paper", "chosen")
    }
    series = [Series("Hamming", names, [before for before, _, _ in figures["paper"]])]
    for how, values in figures.items():
        label = {"paper": "the paper's rule", "chosen": "chosen rule"}[how]
        ends, errors = [value[1] for value in values], [value[2] for value in values]
        series.append(Series(label, names, ends, errors))
    title = {"entire": "ΔMAP over entire lists", "upper": "ΔMAP over upper halves"}[where]
    return _bars(4, f"-{where}", title, names, series, out)


def _bars(
    number: int,
    suffix: str,
    title: str,
    names: Sequence[str],
    series: Sequence[Series],
    out: Path,
    *,
    log: bool = False,
) -> Drawn:
    path = out / f"figure-{number}{suffix}.png"
    whole = f"Figure {number}: {title}"
    y_label = "pictures" if log else "ΔMAP"
    bar_plot(names, series, path=path, title=whole, y_label=y_label, logarithmic=log)
    points: list[list[str | float]] = [
        [one.name, name, float(value)]
        for one in series
        for name, value in zip(names, np.asarray(one.y), strict=True)
    ]
    return Drawn(path, whole, points)


def examples(
    number: int,
    scores: Mapping[str, NDArray[Any]],
    coded: CodedSet,
    sample: NDArray[np.intp],
    shown: int,
    out: Path,
) -> Drawn:
    """Show the first pictures by each distance for some queries, which were drawn at random."""
    rows: list[tuple[str, list[Tile]]] = []
    points: list[list[str | float]] = []
    for query in sample:
        for name, table in scores.items():
            tiles = [Tile(coded.files[query], "query")]
            order = np.argsort(-table[query], kind="stable")
            for at, row in enumerate(order[order != query][:shown], start=1):
                shared = coded.test_labels[row] & coded.test_labels[query]
                tiles.append(Tile(coded.files[row], ", ".join(sorted(shared)), bool(shared)))
                points.append([f"{name}, query {query}", at, float(bool(shared))])
            rows.append((name, tiles))
    path = out / f"figure-{number}.png"
    title = f"Figure {number}: the first {shown} pictures, 48 bits of the deep belief net"
    picture_plot(rows, path=path, title=title)
    return Drawn(path, title, points)

"""Tables 1 to 3 of paper 5, and the splits that they are measured on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from lookalike.core.errors import InvalidInput
from lookalike.core.ranking import Judgement
from lookalike.evaluate.protocols import Fold, Result
from lookalike.evaluate.reproduce import omks_paper as paper
from lookalike.evaluate.reproduce.omks_methods import (
    FULL_RANK,
    METHODS,
    Experiment,
    Outcome,
    Split,
)
from lookalike.evaluate.reproduce.omks_views import ViewSet
from lookalike.evaluate.reproduce.order import order_notes
from lookalike.evaluate.reproduce.picture_sets import PictureSet
from lookalike.evaluate.spread import Spread
from lookalike.evaluate.tables import Cell, Table

RATIO, WHOLE = 0.2, 1.0
"""The share of positive pairs that triplets are drawn for: section 6.2, and that of paper 1."""

LEVEL = 0.05
"""The significance level of the t-tests."""

ORDER = ("OMKS", "OKS-Best", "OASIS-Best", "Eucl.-Best")
"""The methods of Table 3, best first, and Euclidean."""

ORIGINAL = "OASIS-Ori"
"""OASIS on the visterms of paper 1."""

MIN_SPLITS = 5
"""Splits below which a t-test says nothing."""

PARTS = 4
"""Parts of cross-validation."""

SPLITS = 5
MIN_IN_CLASS = 10
"""Pictures of a class for which each of the four parts has one."""


@dataclass(frozen=True)
class Outcomes:
    """What a method reached, one outcome per split."""

    each: tuple[Outcome, ...]

    @property
    def judgements(self) -> list[Judgement]:
        """The judgements of the splits."""
        return [one.judgement for one in self.each]

    @property
    def mean_average_precision(self) -> Spread:
        """The mean average precision over the splits."""
        return Spread.of(one.mean_average_precision for one in self.judgements)

    def precision_at(self, k: int) -> Spread:
        """Return the precision at top ``k`` over the splits."""
        return Spread.of(one.precision_at(k) for one in self.judgements)


def four_parts(labels: NDArray[np.str_], *, splits: int, random_state: int) -> list[Split]:
    """Draw half of each class to learn from, and 10, 10 and 30 % to choose, ask and rank.

    Every class counts with as many pictures as the smallest has (section 6.2).
    """
    classes, sizes = np.unique(labels, return_counts=True)
    size = int(sizes.min())
    if size < MIN_IN_CLASS:
        raise InvalidInput(
            f"reproduce omks: each class must have at least {MIN_IN_CLASS} pictures; "
            f"{str(classes[sizes.argmin()])!r} has {size}. Add pictures, or leave it out."
        )
    tenth = size // 10
    ends = np.cumsum([size - 5 * tenth, tenth, tenth])
    result = []
    for number in range(splits):
        rng = np.random.default_rng([random_state, number])
        orders = [rng.permutation(np.flatnonzero(labels == one))[:size] for one in classes]
        parts = [np.split(order, ends) for order in orders]
        train, validation, query, test = (
            np.sort(np.concatenate([part[at] for part in parts])) for at in range(4)
        )
        result.append(Split(((train, validation),), train, query, test))
    return result


def as_in_paper_1(
    labels: NDArray[np.str_], folds: Sequence[Fold], *, random_state: int
) -> list[Split]:
    """Rank the test part of each fold by itself; choose by cross-validation in its training part.

    Every part has two pictures of each class, so there are fewer parts for small classes.
    """
    result = []
    for number, fold in enumerate(folds):
        rng = np.random.default_rng([random_state, number])
        train = fold.train_rows
        classes, sizes = np.unique(labels[train], return_counts=True)
        parts = max(2, min(PARTS, int(sizes.min()) // 2))
        part = np.empty(len(train), dtype=np.intp)
        for one in classes:
            own = rng.permutation(np.flatnonzero(labels[train] == one))
            part[own] = np.arange(len(own)) % parts
        choices = tuple((train[part != at], train[part == at]) for at in range(parts))
        result.append(Split(choices, train, fold.test_rows, fold.test_rows))
    return result


def run_methods(
    data: ViewSet,
    splits: Sequence[Split],
    *,
    methods: Iterable[str],
    ratio: float,
    random_state: int,
    advance: Callable[[], None] = lambda: None,
) -> dict[str, Outcomes | None]:
    """Run methods on each split; None for those too slow for so many training pictures."""
    outcome: dict[str, list[Outcome]] = {name: [] for name in methods}
    for number, split in enumerate(splits):
        experiment = Experiment(
            data.views, data.pictures.labels, split, ratio, random_state + number
        )
        for name, outcomes in outcome.items():
            if len(split.train) <= METHODS[name].most:
                outcomes.append(METHODS[name].run(experiment))
            advance()
    return {name: Outcomes(tuple(some)) if some else None for name, some in outcome.items()}


def best_of(results: Mapping[str, Outcomes | None]) -> set[str]:
    """Return the best method and those that a paired t-test cannot tell from it.

    There are none with fewer than five splits.
    """
    values = {
        name: np.array([one.mean_average_precision for one in result.judgements])
        for name, result in results.items()
        if result is not None
    }
    if min(map(len, values.values()), default=0) < MIN_SPLITS:
        return set()
    best = max(values, key=lambda name: float(values[name].mean()))
    equal = {best}
    for name, some in values.items():
        # Two methods that differ by the same on every split have no test.
        is_clear = len(some) > 1 and (values[best] - some).std() > 1e-12
        if is_clear and float(stats.ttest_rel(values[best], some).pvalue) >= LEVEL:
            equal.add(name)
    return equal


def table_1(
    results: Mapping[str, tuple[PictureSet, Mapping[str, Outcomes | None]]],
    notes: Sequence[str],
) -> Table:
    """Return the mean average precision of all methods beside the paper's."""
    columns = ["method"]
    for pictures, _ in results.values():
        columns += [pictures.title, "best", "paper"]
    rows: list[list[Cell]] = []
    best = {name: best_of(result) for name, (_, result) in results.items()}
    for name in dict.fromkeys(one for _, result in results.values() for one in result):
        row: list[Cell] = [name]
        for key, (pictures, result) in results.items():
            outcomes = result.get(name)
            ours: Cell = f"not run: over {METHODS[name].most:,} pictures"
            if outcomes is not None:
                ours = outcomes.mean_average_precision.scaled(100)
            theirs: Cell = paper.TABLE_1.get(pictures.classes, {}).get(name)
            if name == FULL_RANK:
                theirs = paper.FULL_RANK.get(pictures.classes)
            row += [ours, "+" if name in best[key] else "", theirs]
        rows.append(row)
    is_tested = all(best.values())
    return Table(
        columns,
        rows,
        title="Table 1: mean average precision in %",
        notes=(
            *notes,
            f"“+”: the best, and what a paired t-test at {LEVEL} cannot tell from it."
            if is_tested
            else f"No t-test, which needs {MIN_SPLITS} splits.",
            *(
                note
                for pictures, result in results.values()
                for note in order_notes(
                    _in_order(result, paper.TABLE_1.get(pictures.classes, paper.TABLE_1[10])),
                    pictures.title,
                )
            ),
            "KITML projects on each of its pairs in turn: minutes on larger training parts.",
        ),
    )


def table_2(results: Mapping[str, tuple[PictureSet, Mapping[str, Outcomes | None]]]) -> Table:
    """Return the training time of KITML and OKS beside the paper's."""
    columns = ["method"]
    for pictures, _ in results.values():
        columns += [f"{pictures.title}, s", "paper, s"]
    rows: list[list[Cell]] = []
    for name in (FULL_RANK, "KITML-Best", "OKS-Best", "OMKS"):
        row: list[Cell] = [name]
        for pictures, result in results.values():
            outcomes = result.get(name)
            ours = None if outcomes is None else Spread.of(one.seconds for one in outcomes.each)
            row += [ours, paper.TABLE_2.get(pictures.classes, {}).get(name)]
        rows.append(row)
    return Table(
        columns,
        rows,
        title="Table 2: CPU seconds of training",
        notes=(
            "Ours for the kernel chosen, OMKS for all 36; the paper's are for the classes it drew, "
            "in MATLAB on 3 GHz.",
        ),
        digits=3,
    )


def table_3(
    pictures: PictureSet, results: Mapping[str, Outcomes | Result | None], notes: Sequence[str]
) -> Table:
    """Return the figures with the settings of paper 1 beside the paper's."""
    columns = ["method"]
    for measure in paper.MEASURES:
        columns += [measure, f"{measure} paper"]
    rows: list[list[Cell]] = []
    for name, outcomes in results.items():
        if outcomes is None:
            continue
        spreads = [outcomes.mean_average_precision, *map(outcomes.precision_at, (1, 10, 50))]
        theirs = paper.TABLE_3.get(pictures.classes, {}).get(name, {})
        row: list[Cell] = [name]
        for measure, spread in zip(paper.MEASURES, spreads, strict=True):
            row += [spread.scaled(100), theirs.get(measure)]
        rows.append(row)
    title = f"Table 3: precision in %, {pictures.title}"
    of_paper = {
        name: each["mAP"]
        for name, each in paper.TABLE_3.get(pictures.classes, paper.TABLE_3[10]).items()
    }
    order = order_notes(_in_order(results, of_paper))
    return Table(columns, rows, title=title, notes=(*notes, *order))


def _in_order(
    results: Mapping[str, Outcomes | Result | None], of_paper: Mapping[str, Spread]
) -> dict[str, list[float]]:
    """Return the mean average precisions of each split, the method best in the paper first."""
    return {
        name: [one.mean_average_precision for one in result.judgements]
        for name in sorted(of_paper, key=lambda name: -of_paper[name].mean)
        if (result := results.get(name)) is not None
    }

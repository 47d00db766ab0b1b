"""Paper 1, OASIS: Tables 4 and 5 and Figures 3 to 9, on Caltech-256 or pictures like it."""

from pathlib import Path

from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Count, Progress, silent
from lookalike.evaluate.protocols import Result
from lookalike.evaluate.reproduce import oasis_figures as figures
from lookalike.evaluate.reproduce.caltech256 import class_sets
from lookalike.evaluate.reproduce.oasis_figures import Drawn, Study, write_report
from lookalike.evaluate.reproduce.oasis_tables import (
    METHODS,
    run_method,
    table_4,
    table_5,
    table_of_text,
)
from lookalike.evaluate.reproduce.picture_sets import PictureSet, picture_sets
from lookalike.evaluate.reproduce.vectors import (
    DIMENSION,
    FoldVectors,
    fold_vectors,
    stored_vectors,
)
from lookalike.evaluate.tables import Table
from lookalike.supervision import read_clicks

QUICK_SETS, QUICK_FOLDS = 1, 2
MAX_STEPS, QUICK_STEPS = 256_000, 32_000
SIZES, QUICK_SIZES = (60, 120, 240, 480, 960, 1920), (60, 120)
"""Training pictures of Figure 4."""

POSITIVE_STEPS, QUICK_POSITIVE_STEPS = 64_000, 8_000
"""Steps in Figure 9, where a projection takes as long as 100,000 steps."""


def reproduce(
    data: Path,
    out: Path,
    *,
    clicks: Path | None = None,
    quick: bool = False,
    random_state: int = 0,
    progress: Progress = silent,
) -> list[Table]:
    """Reproduce the experiments of paper 1, sections 5.2.4, 5.3, 5.4 and 6; with clicks 5.2.2.

    Write ``report.md`` with all tables and plots, a PNG for each panel and a CSV for each figure
    to ``out``. The pictures' vectors are cached in ``out/vectors``, so a second run is faster.

    Parameters
    ----------
    data : Path
        The folder of Caltech-256 (``001.ak47`` and so on), whose classes are those of Appendix B;
        any other folder with one folder per class; or one with
        ``splits/<set>_fold<number>.csv`` with the columns file, class and split.
    out : Path
        The folder to write to.
    clicks : Path, optional
        What people chose for which query among pictures of ``data``, as
        :func:`~lookalike.supervision.read_clicks` reads it, for Figure 3A.
    quick : bool
        The smallest set, two folds, fewer methods and steps.
    random_state : int
        Makes all but the times repeatable.
    progress : callable
        Called with the number of parts done and the total.

    Returns
    -------
    list of Table
        Table 4 for each set, Table 5, and the figures in the paper's text.

    Notes
    -----
    *Departures.* The codebook of visterms and its weights come from the training part of each
    fold, where the paper used pictures from the web. Small pictures are scaled up, not left out.
    LDA and OASIS with our default settings are added to the paper's methods. Each ranker of Figure
    7 draws its images from a tenth of the training part; the paper does not specify this.
    """
    sets = picture_sets(data, class_sets, random_state=random_state)
    if quick:
        sets = sets[:QUICK_SETS]
    methods = [method for method in METHODS if method.quick or not quick]
    splits = {one.name: one.folds[: QUICK_FOLDS if quick else None] for one in sets}
    early, late = sets[:2], sets[-1]
    per_fold = {
        one.name: 1 + len(methods) + 2 * (one in early) + (one is early[-1]) + (one is late)
        for one in sets
    }
    total = sum(len(splits[name]) * parts for name, parts in per_fold.items()) + 1
    answer = Count(progress, total).one

    def described(pictures: PictureSet) -> list[FoldVectors]:
        vectors = []
        for fold in splits[pictures.name]:
            vectors.append(fold_vectors(pictures, fold, out / "vectors", random_state=random_state))
            answer()
        return vectors

    most = QUICK_STEPS if quick else MAX_STEPS
    results: dict[str, tuple[PictureSet, dict[str, Result | None]]] = {}
    tables: list[Table] = []
    panels: dict[int, list[Drawn]] = {number: [] for number in range(3, 10)}
    for one in sets:
        folds = described(one)
        result = {
            method.name: run_method(method, folds, random_state, answer) for method in methods
        }
        results[one.name] = one, result
        tables.append(table_4(one, result, _notes(one, len(folds), data)))
        panels[6].append(figures.figure_6(one, result, out))
        study = Study(one, folds, out, random_state, answer)
        if one in early:
            panels[5].append(figures.figure_5(study, most))
            panels[8].append(figures.figure_8(study, most))
        if one is early[-1]:
            panels[9].append(
                figures.figure_9(study, QUICK_POSITIVE_STEPS if quick else POSITIVE_STEPS)
            )
        if one is late:
            panels[4].append(figures.figure_4(study, QUICK_SIZES if quick else SIZES))
            panels[7].append(figures.figure_7(study, most))
    tables += [table_5(results), table_of_text(results)]
    if clicks is not None:
        panels[3].append(_figure_3a(data, clicks, out, random_state))
    panels = {number: drawn for number, drawn in panels.items() if drawn}
    heading = (
        "# OASIS: Tables 4 and 5 and Figures 3 to 9\n\n"
        "Chechik, Sharma, Shalit and Bengio, *Large Scale Online Learning of Image Similarity "
        f"through Ranking* (2010), reproduced on the pictures in `{data.name}`."
    )
    errors = "Error bars and the band of Euclidean are standard errors over the folds."
    write_report(out, heading, tables, panels, errors=errors)
    return tables


def _figure_3a(data: Path, clicks: Path, out: Path, random_state: int) -> Drawn:
    _, names, R_QI = read_clicks(clicks)
    files = [data / name for name in names]
    missing = [file for file in files if not file.is_file()]
    if missing:
        raise InvalidInput(
            f"{missing[0]} does not exist; {len(missing)} of the {len(files)} pictures in {clicks} "
            f"are missing. Their paths are relative to {data}."
        )
    vectors = stored_vectors(
        files, len(files), out / "vectors", dimension=DIMENSION, random_state=random_state
    )
    return figures.figure_3a(vectors, R_QI, out, seed=random_state)


def _notes(pictures: PictureSet, folds: int, data: Path) -> list[str]:
    return [
        f"Ours on {data.name} ({pictures.source}): {pictures.shape} pictures per class to train on "
        f"and to test on; the paper's on Caltech-256, 40 + 25. Mean ± standard deviation over "
        f"{folds} folds; visterms, d = 1,000, their codebook from the training part of each "
        f"fold (the paper's from the web).",
    ]

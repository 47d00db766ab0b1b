"""Reproduce the tables of a paper: show them, and write each as CSV next to the report."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lookalike.collection import RatedRankings
from lookalike.core.arrays import write_whole
from lookalike.core.errors import InvalidInput, LookalikeError
from lookalike.core.text import duration
from lookalike.evaluate import Spread, Table
from lookalike.evaluate.reproduce import sparse
from lookalike.evaluate.reproduce.report import (
    PAPERS,
    Paper,
    Run,
    file_stems,
    find_data,
    over_seeds,
    write_page,
)
from lookalike.service.screen import Screen, kept

TAKEN = {
    "oasis": {"clicks"},
    "qah": {"labels", "words", "feature"},
    "sparse": {"vocabulary", "pictures"},
    "wsabie": {"labels", "words", "isa", "levels", "feature", "dimension"},
}
"""The options beside data and folder that a paper takes, if any."""

FEATURES = {"wsabie": ("visterms", "embedding"), "qah": ("embedding", "bags")}
"""What may describe the pictures, the default first."""


def list_papers(screen: Screen) -> None:
    """Show the papers, what is made of each, and what it needs."""
    columns = ["paper", "citation", "makes", "needs"]
    rows = [[one.name, one.citation, one.makes, one.needs] for one in PAPERS.values()]
    screen.table(columns, rows)
    screen.result({"papers": [dict(zip(columns, row, strict=True)) for row in rows]})


def run_reproduction(
    paper: str,
    data: Path,
    out: Path,
    screen: Screen,
    *,
    quick: bool,
    seed: int,
    seeds: int = 1,
    given: dict[str, Any] | None = None,
) -> None:
    """Print the tables; write the page, the plots and one CSV file per table to ``out``.

    ``given`` holds further arguments of the paper's own ``reproduce``; those that are None are
    left out.
    """
    answer = _checked(paper, given or {})
    one = PAPERS[paper]
    if paper == "sparse":
        screen.say(f"This takes about {duration(sparse.estimate(data, quick=quick, **answer))}.")
    tables = _run(one, data, out, screen, quick, range(seed, seed + seeds), answer)
    files = sorted(path for path in out.iterdir() if path.is_file())
    screen.result({"out": out, "files": files, "tables": [_as_json(table) for table in tables]})


def run_all(data: Path, out: Path, screen: Screen, *, quick: bool, seed: int, seeds: int) -> None:
    """Reproduce every paper for whose pictures ``data`` has a folder; go on after one that fails.

    Raises
    ------
    InvalidInput
        If none could be reproduced.
    """
    made, missing = dict[str, Path](), dict[str, str]()
    for name, paper in PAPERS.items():
        try:
            folder, options = find_data(paper, data)
            screen.say(f"{name}: {folder}", style="bold")
            span = range(seed, seed + seeds)
            _run(paper, folder, out / name, screen, quick, span, options)
            made[name] = out / name / "report.html"
        except LookalikeError as error:
            missing[name] = str(error)
            screen.say(f"{name}: not reproduced. {error}", "")
    if not made:
        raise InvalidInput(f"{data}: no paper could be reproduced. {' '.join(missing.values())}")
    screen.result({"out": out, "pages": made, "missing": missing})


def write_ratings(figures: RatedRankings, against: str, out: Path) -> list[Path]:
    """Write Figure 3B of paper 1, precision at top k as raters judged it, and its numbers."""
    from lookalike.evaluate.reproduce.oasis_figures import figure_3b

    out.mkdir(parents=True, exist_ok=True)
    drawn = figure_3b({"learned": figures.learned, against: figures.other}, out)
    table = Table(["ranking", "k", "precision", "standard error"], drawn.rows)
    path = drawn.path.with_suffix(".csv")
    write_whole(path, table.csv().encode())
    return [drawn.path, path]


def _checked(paper: str, given: dict[str, Any]) -> dict[str, Any]:
    answer = {name: value for name, value in given.items() if value is not None}
    for name in answer:
        papers = [one for one, taken in TAKEN.items() if name in taken]
        if paper not in papers:
            raise InvalidInput(f"--{name}: only for {', '.join(papers)}. Leave it out for {paper}.")
    if answer.get("feature", FEATURES.get(paper, ("",))[0]) not in FEATURES.get(paper, ("",)):
        raise InvalidInput(
            f"--feature: for {paper} must be one of {', '.join(FEATURES[paper])}; "
            f"got {answer['feature']}."
        )
    return answer


def _run(
    paper: Paper,
    data: Path,
    out: Path,
    screen: Screen,
    quick: bool,
    seeds: range,
    options: dict[str, Any],
) -> list[Table]:
    start, cpu = time.perf_counter(), time.process_time()
    runs = []
    with kept(
        f"What was computed so far is kept in {out}; run the same command again to continue."
    ):
        for seed in seeds:
            folder = out if len(seeds) == 1 else out / f"seed-{seed}"
            with screen.bar("Training and evaluating") as progress:
                runs.append(
                    paper.reproduce(
                        data, folder, quick=quick, random_state=seed, progress=progress, **options
                    )
                )
        tables = runs[0] if len(runs) == 1 else over_seeds(runs)
        for stem, table in zip(file_stems(tables), tables, strict=True):
            write_whole(out / f"{stem}.csv", table.csv().encode())
        seconds = time.perf_counter() - start, time.process_time() - cpu
        write_page(out, Run(paper, data, seeds, quick, *seconds), tables)
    for table in tables:
        screen.say(*table.text().splitlines(), "")
    screen.say(f"Tables and plots are in {out}; start with report.html.")
    return tables


def _as_json(table: Table) -> dict[str, Any]:
    rows = [
        [asdict(cell) if isinstance(cell, Spread) else cell for cell in row] for row in table.rows
    ]
    return {
        "title": table.title,
        "columns": list(table.columns),
        "rows": rows,
        "notes": list(table.notes),
    }

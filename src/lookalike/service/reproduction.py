"""Reproduce the tables of a paper: show them, and write each as CSV next to the report."""

import re
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from lookalike.core.arrays import write_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.text import duration
from lookalike.evaluate import Spread, Table
from lookalike.evaluate.reproduce import omks, qah, sparse, wsabie
from lookalike.evaluate.reproduce.oasis import reproduce
from lookalike.service.screen import Screen, kept

TAKEN = {
    "qah": {"labels", "words", "feature"},
    "sparse": {"vocabulary", "pictures"},
    "wsabie": {"labels", "words", "isa", "levels", "feature", "dimension"},
}
"""The options beside data and folder that a paper takes, if any."""

FEATURES = {"wsabie": ("visterms", "embedding"), "qah": ("embedding", "bags")}
"""What may describe the pictures, the default first."""


def run_reproduction(
    data: Path,
    out: Path,
    screen: Screen,
    *,
    quick: bool,
    seed: int,
    paper: str = "oasis",
    given: dict[str, Any] | None = None,
) -> None:
    """Print the tables; write the report, its plots and one CSV file per table to ``out``.

    ``given`` holds further arguments of the paper's own ``reproduce``; those that are None are
    left out.
    """
    answer = {name: value for name, value in (given or {}).items() if value is not None}
    for name in answer:
        papers = [one for one, taken in TAKEN.items() if name in taken]
        if paper not in papers:
            raise InvalidInput(f"--{name}: only for {', '.join(papers)}. Leave it out for {paper}.")
    if answer.get("feature", FEATURES.get(paper, ("",))[0]) not in FEATURES.get(paper, ("",)):
        raise InvalidInput(
            f"--feature: for {paper} must be one of {', '.join(FEATURES[paper])}; "
            f"got {answer['feature']}."
        )
    runs: dict[str, Callable[..., list[Table]]] = {
        "oasis": reproduce,
        "omks": omks.reproduce,
        "qah": qah.reproduce,
        "sparse": sparse.reproduce,
        "wsabie": wsabie.reproduce,
    }
    run = partial(runs[paper], **answer)
    if paper == "sparse":
        screen.say(f"This takes about {duration(sparse.estimate(data, quick=quick, **answer))}.")
    with kept(
        f"What was computed so far is kept in {out}; run the same command again to continue."
    ):
        with screen.bar("Training and evaluating") as progress:
            tables = run(data, out, quick=quick, random_state=seed, progress=progress)
        files = _write(tables, out)
    for table in tables:
        screen.say(*table.text().splitlines(), "")
    screen.say(f"Tables and plots are in {out}; start with report.md.")
    screen.result({"out": out, "files": files, "tables": [_as_json(table) for table in tables]})


def _write(tables: list[Table], out: Path) -> list[Path]:
    for number, table in enumerate(tables, start=1):
        name = re.sub(r"[^a-z0-9]+", "-", table.title.lower()).strip("-")[:60]
        write_whole(out / f"table-{number}-{name or 'untitled'}.csv", table.csv().encode())
    return sorted(path for path in out.iterdir() if path.is_file())


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

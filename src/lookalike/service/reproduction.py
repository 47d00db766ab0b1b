"""Reproduce the tables of a paper: show them, and write each as CSV next to the report."""

import re
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from lookalike.core.arrays import write_whole
from lookalike.core.errors import InvalidInput
from lookalike.evaluate import Spread, Table
from lookalike.evaluate.reproduce import omks, qah, wsabie
from lookalike.evaluate.reproduce.oasis import reproduce
from lookalike.service.screen import Screen, kept

TAKEN = {"qah": {"labels", "words"}}
"""The options beside data and folder that a paper takes, if neither none nor all."""


def run_reproduction(
    data: Path,
    out: Path,
    screen: Screen,
    *,
    quick: bool,
    seed: int,
    paper: str = "oasis",
    words: dict[str, Any] | None = None,
) -> None:
    """Print the tables; write the report, its plots and one CSV file per table to ``out``.

    ``words`` holds arguments of :func:`lookalike.evaluate.reproduce.wsabie.reproduce`, some of them
    of :func:`lookalike.evaluate.reproduce.qah.reproduce`; those that are None are left out.
    """
    answer = {name: value for name, value in (words or {}).items() if value is not None}
    unused = answer.keys() - TAKEN.get(paper, answer.keys() if paper == "wsabie" else set())
    if unused:
        options = ", ".join(f"--{name}" for name in answer if name in unused)
        raise InvalidInput(f"{options}: only for wsabie. Leave it out for {paper}.")
    run: Callable[..., list[Table]] = reproduce
    if paper == "omks":
        run = omks.reproduce
    elif paper == "wsabie":
        run = partial(wsabie.reproduce, **answer)
    elif paper == "qah":
        run = partial(qah.reproduce, **answer)
    with kept(
        f"Vectors computed so far are kept in {out}; run the same command again to continue."
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

"""Make the tables of a paper again and show them; keep each as CSV beside the report."""

import re
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from lookalike.core.arrays import write_whole
from lookalike.core.errors import InvalidInput
from lookalike.evaluate import Spread, Table
from lookalike.evaluate.reproduce import wsabie
from lookalike.evaluate.reproduce.oasis import reproduce
from lookalike.service.screen import Screen, kept


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
    """Print the tables, and write the report with its plots and a CSV file a table to ``out``.

    ``words`` says where the words of paper 2 are, as
    :func:`lookalike.evaluate.reproduce.wsabie.reproduce` takes it; None in it is nothing said.
    """
    said = {name: value for name, value in (words or {}).items() if value is not None}
    if said and paper != "wsabie":
        options = ", ".join(f"--{name}" for name in said)
        raise InvalidInput(f"{options}: for wsabie only. Leave it out for {paper}.")
    run: Callable[..., list[Table]] = reproduce
    if paper == "wsabie":
        run = partial(wsabie.reproduce, **said)
    with kept(f"Vectors made so far are kept in {out}; run the same command again to go on."):
        with screen.bar("Learning and judging") as progress:
            tables = run(data, out, quick=quick, random_state=seed, progress=progress)
        files = _write(tables, out)
    for table in tables:
        screen.say(*table.text().splitlines(), "")
    screen.say(f"Tables and plots are in {out}; begin with report.md.")
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

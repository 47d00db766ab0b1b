"""Make the tables of a paper again and keep them: as Markdown, CSV and plots."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lookalike.core.arrays import write_whole
from lookalike.evaluate import Spread, Table
from lookalike.evaluate.reproduce import oasis
from lookalike.service.screen import Screen, kept


def run_reproduction(data: Path, out: Path, screen: Screen, *, quick: bool, seed: int) -> None:
    """Print the tables and write ``tables.md``, a CSV file a table, and the plots to ``out``."""
    with kept(f"Plots made so far are in {out}; run the same command again for the tables."):
        with screen.bar("Learning and judging") as progress:
            tables = oasis.reproduce(data, out, quick=quick, random_state=seed, progress=progress)
        files = _write(tables, out)
    for table in tables:
        screen.say(*table.text().splitlines(), "")
    screen.say(f"Tables and plots are in {out}.")
    screen.result({"out": out, "files": files, "tables": [_as_json(table) for table in tables]})


def _write(tables: list[Table], out: Path) -> list[Path]:
    whole = out / "tables.md"
    write_whole(whole, ("\n\n".join(table.markdown() for table in tables) + "\n").encode())
    for number, table in enumerate(tables, start=1):
        name = re.sub(r"[^a-z0-9]+", "-", table.title.lower()).strip("-")[:60]
        write_whole(out / f"{number:02}-{name or 'table'}.csv", table.csv().encode())
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

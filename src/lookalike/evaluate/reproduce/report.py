"""One HTML page a paper: tables and figures, the paper's numbers beside ours, and what was run."""

import html
import inspect
import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lookalike.core.arrays import write_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.text import duration
from lookalike.evaluate.spread import Spread
from lookalike.evaluate.tables import Cell, Table

PACKAGES = ("lookalike", "numpy", "scipy", "scikit-learn", "numba", "onnxruntime")

NOT_RUN = ("*", "not run")
"""How a cell begins that says why nothing was run."""

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }
h1 { line-height: 1.2 } .scroll { overflow-x: auto } figure { margin: 2rem 0 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0 }
caption { text-align: left; font-weight: bold; padding: .5rem 0 }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #ddd; text-align: left }
td { white-space: nowrap }
td.number { text-align: right } .note { color: #555; font-size: .9rem; margin: .2rem 0 }
.warning { border-left: 4px solid #d55e00; padding: .5rem 1rem; background: #fff4ec }
img { max-width: 100%; height: auto }
"""


@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced.

    Attributes
    ----------
    name : str
        That of the command.
    citation : str
    makes : str
        The tables and figures.
    needs : str
        The data and their layout.
    module : str
        Where its ``reproduce`` is.
    marker : str
        A glob that finds something in the folder of the paper's own pictures; empty if there is
        none.
    folders : tuple of (str, dict)
        Folders to look for below the data of ``reproduce all``, with the options for each.
    """

    name: str
    citation: str
    makes: str
    needs: str
    module: str
    marker: str
    folders: tuple[tuple[str, dict[str, Any]], ...]

    @property
    def reproduce(self) -> Callable[..., list[Table]]:
        """What makes its tables."""
        made: Callable[..., list[Table]] = import_module(self.module).reproduce
        return made

    def is_own(self, data: Path) -> bool:
        """Return whether a folder has the pictures of the paper."""
        return bool(self.marker) and any(data.glob(self.marker))


_HERE = "lookalike.evaluate.reproduce"
_CALTECH = (
    "Caltech-256 as it is published (001.ak47 …), a folder with a folder of at least 65 pictures "
    "for each class, or splits/<set>_fold<n>.csv with the columns file, class and split"
)
_GROCERIES = {"words": "fine", "levels": ("fine", "coarse", "super")}

PAPERS = {
    one.name: one
    for one in (
        Paper(
            "oasis",
            "Chechik, Sharma, Shalit, Bengio: Large Scale Online Learning of Image Similarity "
            "through Ranking (2010)",
            "Tables 4 and 5, Figures 3 to 9",
            _CALTECH,
            f"{_HERE}.oasis",
            "001.ak47",
            (("256_ObjectCategories", {}), ("objects", {})),
        ),
        Paper(
            "wsabie",
            "Weston, Bengio, Usunier: Large Scale Image Annotation: Learning to Rank with Joint "
            "Word-Image Embeddings (2010)",
            "Tables 1 to 8, Figures 1 and 2",
            "a folder of pictures with labels.csv (columns file, words, and split if there is "
            "one), or with a folder for each word",
            f"{_HERE}.wsabie",
            "",
            (("groceries", _GROCERIES), ("snapshots", {"words": "words"})),
        ),
        Paper(
            "qah",
            "Jiang, Wang, Chang: Lost in Binarization: Query-Adaptive Ranking for Similar Image "
            "Search with Compact Codes (2011)",
            "Figures 1 and 3 to 6",
            "NUS-WIDE as it is published (Groundtruth/TrainTestLabels, Low_Level_Features), or as "
            "for wsabie",
            f"{_HERE}.qah",
            "Groundtruth/TrainTestLabels",
            (("NUS-WIDE", {}), ("snapshots", {"words": "words"}), ("groceries", {"words": "fine"})),
        ),
        Paper(
            "sparse",
            "Yan, Yu: Sparse Similarity Matrix Learning for Visual Object Retrieval (2013)",
            "Tables II to IV, Figures 1 to 6",
            "Oxford5K or Paris6K as they are published: pictures, and <query>_query.txt with "
            "_good, _ok and _junk",
            f"{_HERE}.sparse",
            "**/all_souls_1_query.txt",
            (("oxford", {}), ("paris", {}), ("landmarks", {})),
        ),
        Paper(
            "omks",
            "Xia, Hoi, Jin, Zhao: Online Multiple Kernel Similarity Learning for Visual Search "
            "(2014)",
            "Tables 1 to 3, Figures 2 to 4",
            _CALTECH,
            f"{_HERE}.omks",
            "001.ak47",
            (("256_ObjectCategories", {}), ("objects", {})),
        ),
    )
}
"""The papers by the name of the command."""


@dataclass(frozen=True)
class Run:
    """What was run, for the page."""

    paper: Paper
    data: Path
    seeds: Sequence[int]
    quick: bool
    seconds: float
    cpu_seconds: float


def write_page(out: Path, run: Run, tables: Sequence[Table]) -> Path:
    """Write ``report.html``: what was run, the tables, and the figures that lie in ``out``."""
    paper, name = run.paper, html.escape(run.data.name)
    parts = [
        f"<h1>{html.escape(paper.makes)}</h1>",
        f"<p>{html.escape(paper.citation)}, reproduced on the pictures in <code>{name}</code>.</p>",
    ]
    if not paper.is_own(run.data):
        parts.append(
            '<p class="warning">These are not the pictures of the paper: the order of methods and '
            "their gains can be compared with the paper's, absolute figures cannot.</p>"
        )
    parts += [_table(table) for table in tables]
    figures = sorted(out.rglob("figure-*.png"), key=lambda path: _order(path, out))
    parts += [_figure(path.relative_to(out)) for path in figures]
    parts += ["<h2>How it was run</h2>", _list(_facts(run, tables))]
    departures = departures_of(paper)
    if departures:
        parts += ["<h2>Departures from the paper</h2>", f"<p>{html.escape(departures)}</p>"]
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(paper.makes)}: {html.escape(paper.name)}</title>"
        f"<style>{STYLE}</style></head><body>" + "\n".join(parts) + "</body></html>\n"
    )
    path = out / "report.html"
    write_whole(path, page.encode())
    return path


def departures_of(paper: Paper) -> str:
    """Return where a reproduction departs from its paper, as its docstring says."""
    _, _, text = (inspect.getdoc(paper.reproduce) or "").partition("*Departures.*")
    return " ".join(text.replace("``", "").split())


def over_seeds(runs: Sequence[Sequence[Table]]) -> list[Table]:
    """Return the tables of several seeds as one: numbers become means with their deviation.

    Means and deviations over folds become means of the folds over seeds. A cell that is text in
    some run is that of the first run if all agree, and lists them otherwise.
    """
    merged = []
    for several in zip(*runs, strict=True):
        first = several[0]
        if any(len(one.rows) != len(first.rows) for one in several):
            # Such as the classes that were judged: rows of other pictures have no mean.
            merged.append(first)
            continue
        rows = [
            [_merged(cells) for cells in zip(*lines, strict=True)]
            for lines in zip(*(one.rows for one in several), strict=True)
        ]
        notes = (*first.notes, f"Mean ± standard deviation over {len(several)} seeds.")
        merged.append(Table(first.columns, rows, first.title, notes, first.digits))
    return merged


def _merged(cells: Sequence[Cell]) -> Cell:
    if all(cell == cells[0] for cell in cells):
        return cells[0]
    if all(isinstance(cell, Spread | float | int) for cell in cells):
        return Spread.of(
            cell.mean if isinstance(cell, Spread) else float(str(cell)) for cell in cells
        )
    return "; ".join(dict.fromkeys("–" if cell is None else str(cell) for cell in cells))


def file_stems(tables: Sequence[Table]) -> list[str]:
    """Return the names of the files of tables, such as ``table-4``; those of a set go behind it.

    Examples
    --------
    >>> some = [Table(["a"], [], title=f"Table 4: all, {n} classes") for n in (10, 20)]
    >>> file_stems([*some, Table(["a"], [], title="Table 5: time")])
    ['table-4-10-classes', 'table-4-20-classes', 'table-5']
    """
    heads = [_slug(table.title.partition(":")[0]) or "table" for table in tables]
    stems = []
    for number, (table, head) in enumerate(zip(tables, heads, strict=True), start=1):
        stem = head if head.startswith("table") else f"table-{head}"
        if heads.count(head) > 1:
            stem += f"-{_slug(table.title.rpartition(', ')[2]) or number}"
        stems.append(stem if stem not in stems else f"{stem}-{number}")
    return stems


def find_data(paper: Paper, data: Path) -> tuple[Path, dict[str, Any]]:
    """Return the folder for a paper below ``data``, and its options, or raise InvalidInput."""
    for name, options in ((paper.name, {}), *paper.folders):
        if (data / name).is_dir():
            return data / name, options
    raise InvalidInput(
        f"{data} has no folder for {paper.name}: {', '.join(name for name, _ in paper.folders)}. "
        f"It needs {paper.needs}."
    )


def _facts(run: Run, tables: Sequence[Table]) -> list[str]:
    seeds = ", ".join(map(str, run.seeds))
    installed = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts = [
        f"Seed{'s' if len(run.seeds) > 1 else ''}: {seeds}.",
        f"Python {platform.python_version()}, {installed}.",
        f"{platform.machine()}, {cores} cores; {duration(run.seconds)} "
        f"({duration(run.cpu_seconds)} of CPU).",
    ]
    if run.quick:
        facts.append("With --quick: fewer sets, folds, methods and steps than the paper has.")
    missing = [
        f"{row[0]!s} ({table.title.partition(':')[0]}: {cell})"
        for table in tables
        for row in table.rows
        for cell in row[1:]
        if isinstance(cell, str) and cell.startswith(NOT_RUN)
    ]
    if missing:
        facts.append(f"Not run: {'; '.join(dict.fromkeys(missing))}.")
    return facts


def _table(table: Table) -> str:
    cells, to_right = table.cells()
    head = "".join(f"<th>{html.escape(name)}</th>" for name in cells[0])
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td class="number">{html.escape(cell)}</td>'
            if right
            else f"<td>{html.escape(cell)}</td>"
            for cell, right in zip(row, to_right, strict=True)
        )
        + "</tr>"
        for row in cells[1:]
    )
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in table.notes)
    return (
        f'<div class="scroll"><table><caption>{html.escape(table.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{notes}"
    )


def _figure(path: Path) -> str:
    words = html.escape(path.stem.replace("-", " ").capitalize())
    source = html.escape(path.as_posix())
    return f'<figure><img src="{source}" alt="{words}"><figcaption>{words}</figcaption></figure>'


def _list(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in lines)}</ul>"


def _order(path: Path, out: Path) -> tuple[int, tuple[str, ...]]:
    number = re.search(r"figure-(\d+)", path.name)
    return int(number[1]) if number else 0, path.relative_to(out).parts


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40]

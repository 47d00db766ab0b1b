"""The command ``lookalike reproduce``: the tables and figures of a paper."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lookalike.service.commands.index import Kind
from lookalike.service.options import AsJson, Seed
from lookalike.service.screen import Screen


class Paper(StrEnum):
    """The papers whose tables can be made again."""

    oasis = "oasis"
    wsabie = "wsabie"


def reproduce(
    paper: Annotated[Paper, typer.Argument(metavar="PAPER", help="The paper: oasis or wsabie.")],
    *,
    data: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="A folder of pictures, a folder a class; or with labels.csv, for wsabie.",
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="wsabie: a table of words; labels.csv in the folder."),
    ] = None,
    words: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="wsabie: the table's column that holds the words."),
    ] = None,
    isa: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="wsabie: which word is a kind of which."),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="wsabie: columns of the tree, or of the table, as fine,coarse,super.",
        ),
    ] = None,
    feature: Annotated[
        Kind | None, typer.Option(help="wsabie: what describes pictures; visterms.")
    ] = None,
    dimension: Annotated[
        int | None, typer.Option(min=1, help="wsabie: how many visterms there are; 10,000.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where tables and plots go; reproduce-PAPER here."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller and sooner.")] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Make the tables and figures of a paper again, its figures beside ours."""
    from lookalike.service.reproduction import run_reproduction

    folder = Path(f"reproduce-{paper.value}") if out is None else out
    said = {
        "labels": labels,
        "words": words,
        "isa": isa,
        "levels": None if levels is None else tuple(levels.split(",")),
        "feature": None if feature is None else feature.value,
        "dimension": dimension,
    }
    run_reproduction(
        data, folder, Screen(as_json), quick=quick, seed=seed, paper=paper.value, words=said
    )

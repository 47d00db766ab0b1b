"""The command ``lookalike reproduce``: the tables and figures of a paper."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lookalike.service.options import AsJson, Seed
from lookalike.service.screen import Screen


class Paper(StrEnum):
    """The papers whose tables can be reproduced."""

    oasis = "oasis"
    omks = "omks"
    qah = "qah"
    sparse = "sparse"
    wsabie = "wsabie"


class Kind(StrEnum):
    """The features that a paper's tables are made with."""

    embedding = "embedding"
    visterms = "visterms"
    bags = "bags"


def reproduce(
    paper: Annotated[
        Paper,
        typer.Argument(metavar="PAPER", help="The paper: oasis, omks, qah, sparse or wsabie."),
    ],
    *,
    data: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Folder of pictures with a subfolder per class; for wsabie and qah, or with "
            "labels.csv; for sparse, pictures and ground truth as Oxford5K and Paris6K are "
            "published.",
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="wsabie, qah: table of labels.", show_default="labels.csv in DIR"
        ),
    ] = None,
    words: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="wsabie, qah: column of the table with the labels."),
    ] = None,
    isa: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="wsabie: hierarchy of the labels."),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help="wsabie: columns of the hierarchy or of the table, such as fine,coarse,super.",
        ),
    ] = None,
    feature: Annotated[
        Kind | None,
        typer.Option(
            help="wsabie, qah: how to describe pictures; bags are of SIFT words, for qah.",
            show_default="visterms for wsabie, embedding for qah",
        ),
    ] = None,
    dimension: Annotated[
        int | None,
        typer.Option(min=1, help="wsabie: codebook size of visterms.", show_default="10,000"),
    ] = None,
    vocabulary: Annotated[
        int | None,
        typer.Option(min=2, help="sparse: words of the vocabulary.", show_default="200,000"),
    ] = None,
    pictures: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="sparse: use so many pictures, those in the ground truth first.",
            show_default="all",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where to write tables and plots.",
            show_default="reproduce-PAPER",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Run a smaller, faster version.")] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Reproduce the tables and figures of a paper, its numbers beside ours."""
    from lookalike.service.reproduction import run_reproduction

    folder = Path(f"reproduce-{paper.value}") if out is None else out
    given = {
        "labels": labels,
        "words": words,
        "isa": isa,
        "levels": None if levels is None else tuple(levels.split(",")),
        "feature": None if feature is None else feature.value,
        "dimension": dimension,
        "vocabulary": vocabulary,
        "pictures": pictures,
    }
    run_reproduction(
        data, folder, Screen(as_json), quick=quick, seed=seed, paper=paper.value, given=given
    )

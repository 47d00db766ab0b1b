"""The command ``lookalike reproduce``: the tables and figures of a paper."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lookalike.core.errors import InvalidInput
from lookalike.service.options import AsJson, Seed
from lookalike.service.screen import Screen


class Paper(StrEnum):
    """The papers whose tables can be reproduced."""

    oasis = "oasis"
    omks = "omks"
    qah = "qah"
    sparse = "sparse"
    wsabie = "wsabie"
    all = "all"


class Kind(StrEnum):
    """The features that a paper's tables are made with."""

    embedding = "embedding"
    visterms = "visterms"
    bags = "bags"


def reproduce(
    paper: Annotated[
        Paper | None,
        typer.Argument(
            metavar="PAPER",
            help="The paper: oasis, omks, qah, sparse or wsabie; or all, for every paper whose "
            "pictures lie in a folder below DIR.",
            show_default=False,
        ),
    ] = None,
    *,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            show_default=False,
            help="Folder of pictures with a subfolder per class; for wsabie and qah, or with "
            "labels.csv; for sparse, pictures and ground truth as Oxford5K and Paris6K are "
            "published.",
        ),
    ] = None,
    list_them: Annotated[
        bool, typer.Option("--list", help="List the papers, and what each needs, and stop.")
    ] = False,
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
    clicks: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="oasis: table of clicks, for Figure 3A."),
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
    seeds: Annotated[
        int, typer.Option(min=1, help="Run so many seeds, and give means with their deviation.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Reproduce the tables and figures of a paper, its numbers beside ours."""
    from lookalike.service.reproduction import list_papers, run_all, run_reproduction

    screen = Screen(as_json)
    if list_them:
        list_papers(screen)
        return
    if paper is None or data is None:
        raise InvalidInput("reproduce: give a PAPER and --data DIR, or --list to see the papers.")
    folder = Path(f"reproduce-{paper.value}") if out is None else out
    given = {
        "clicks": clicks,
        "labels": labels,
        "words": words,
        "isa": isa,
        "levels": None if levels is None else tuple(levels.split(",")),
        "feature": None if feature is None else feature.value,
        "dimension": dimension,
        "vocabulary": vocabulary,
        "pictures": pictures,
    }
    if paper is Paper.all:
        useless = sorted(name for name, value in given.items() if value is not None)
        if useless:
            raise InvalidInput(f"--{useless[0]}: not for all. Leave it out, or name the paper.")
        run_all(data, folder, screen, quick=quick, seed=seed, seeds=seeds)
        return
    run_reproduction(
        paper.value, data, folder, screen, quick=quick, seed=seed, seeds=seeds, given=given
    )

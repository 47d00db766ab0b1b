"""The command ``lookalike demo``."""

from pathlib import Path
from typing import Annotated

import typer

from lookalike.service.options import AsJson
from lookalike.service.screen import Screen


def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the demo keeps its files.")
    ] = Path("demo"),
    as_json: AsJson = False,
) -> None:
    """Show it at work on 4,009 emoji: index, learn from their categories, rank better.

    Prints precision before and after, and writes a contact sheet. A second run reuses what is
    there.
    """
    from lookalike.service.emoji_demo import run_demo

    run_demo(folder, Screen(as_json))

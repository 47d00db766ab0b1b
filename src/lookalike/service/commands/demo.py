"""The command ``lookalike demo``."""

from pathlib import Path
from typing import Annotated

import typer

from lookalike.service.options import AsJson
from lookalike.service.screen import Screen


def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder for the demo's files.")
    ] = Path("demo"),
    as_json: AsJson = False,
) -> None:
    """Show it at work on 4,009 emoji: index them, learn their categories, rank better.

    Prints precision before and after learning, and writes a contact sheet. A second run reuses
    the results of the first.
    """
    from lookalike.service.emoji_demo import run_demo

    run_demo(folder, Screen(as_json))

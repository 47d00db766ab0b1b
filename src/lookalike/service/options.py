"""Options that commands share, and the exit code for refused files."""

from pathlib import Path
from typing import Annotated

import typer

REFUSED = 3
HERE = Path("lookalike.collection")


def from_home(path: Path) -> Path:
    """Return a path with ``~`` replaced by the home folder."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise typer.BadParameter(f"{path}: {error}") from error


Where = Annotated[
    Path,
    typer.Option(
        "--collection",
        "-c",
        callback=from_home,
        envvar="LOOKALIKE_COLLECTION",
        metavar="DIR",
        help="Folder of the collection.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON object instead of text.")]
Seed = Annotated[
    int, typer.Option("--seed", min=0, help="Random seed; the same seed repeats a run.")
]

"""Options that commands share, and the exit code for refused files."""

import importlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from lookalike.core.errors import MissingPart

if TYPE_CHECKING:
    from lookalike.collection import Collection

REFUSED = 3
HERE = Path("lookalike.collection")

REGISTRIES = {
    "{features}": "lookalike.features:FEATURES",
    "{similarities}": "lookalike.similarity:SIMILARITIES",
    "{annotators}": "lookalike.annotation:ANNOTATORS",
    "{indexes}": "lookalike.index:INDEXES",
    "{encoders}": "lookalike.codes:ENCODERS",
}
"""What stands in a help text for the names of installed parts."""


_LINE_END = re.compile(r"(?<!\n)\n(?!\n)")
"""The end of a line within a paragraph."""


class ListingCommand(TyperCommand):
    """A command whose help lists installed parts, which are looked for only when it is shown.

    Paragraphs are wrapped to the screen alone, and flags stand without a type.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        self.help = _LINE_END.sub(" ", cleandoc(self.help or ""))
        untyped_flags(self.get_params(ctx))
        for option in self.params:
            for mark, place in REGISTRIES.items():
                if mark in (getattr(option, "help", None) or ""):
                    module, _, name = place.partition(":")
                    registry = getattr(importlib.import_module(module), name)
                    option.help = option.help.replace(  # type: ignore[attr-defined]
                        mark, registry.listing
                    )
        super().format_help(ctx, formatter)


def untyped_flags(options: Iterable[Any]) -> None:
    """Let the help show no type beside flags, which take no value."""
    for option in options:
        if getattr(option, "is_flag", False):
            option.metavar = ""


def from_home(path: Path) -> Path:
    """Return a path with ``~`` replaced by the home folder."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise typer.BadParameter(f"{path}: {error}") from error


CollectionPath = Annotated[
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
By = Annotated[
    str | None,
    typer.Option("--by", metavar="RANKER", help="The ranker to use.", show_default="the first"),
]


def read_settings(given: Sequence[str] | None) -> dict[str, Any]:
    """Return settings given as KEY=VALUE: numbers, lists, true, false and null as JSON, else text.

    Examples
    --------
    >>> read_settings(["colours=8", "mean=[0.5, 0.5, 0.5]", "layout=NCHW"])
    {'colours': 8, 'mean': [0.5, 0.5, 0.5], 'layout': 'NCHW'}
    """
    result = {}
    for text in given or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise typer.BadParameter(f"--set {text!r:.80} must be KEY=VALUE, such as colours=8.")
        try:
            result[name.strip()] = json.loads(value, parse_constant=_refuse)
        except ValueError:
            result[name.strip()] = value
    return result


def _refuse(name: str) -> None:
    raise ValueError(name)


@contextmanager
def or_another(store: "Collection", option: str = "--by") -> Iterator[None]:
    """Name the rankers that can be used, where one cannot since a part is not installed."""
    try:
        yield
    except MissingPart as error:
        ready = [info.name for info in store.models.rankers() if info.ready]
        if not ready:
            raise
        raise MissingPart(f"{error} Or use another ranker: {option} {', '.join(ready)}.") from error

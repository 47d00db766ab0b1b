"""The command ``lookalike``: its subcommands and exit codes.

Exit codes: 0 success; 1 an error, described in one line; 2 wrong usage; 3 success, but some files
were refused and are listed; 130 interrupted, with a line about what was kept.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from lookalike import __version__
from lookalike.core.errors import LookalikeError
from lookalike.core.text import without_method
from lookalike.service.options import ListingCommand, untyped_flags
from lookalike.service.screen import complain, write_json

FAILED, NOT_UNDERSTOOD, INTERRUPTED = 1, 2, 130

CODES = (
    "Exit codes: 0 success; 1 error; 2 wrong usage; 3 success, but some files were refused and "
    "are listed; 130 interrupted, with all finished work kept."
)


class Commands(TyperGroup):
    """The commands; every expected failure is reported in one line, or as JSON.

    The one that is run is imported, and for the list of all of them each.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options | {"commands": dict.fromkeys(COMMANDS)})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name, or None."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"lookalike.service.commands.{TOGETHER.get(cmd_name, cmd_name)}")
        alone = typer.Typer(add_completion=False)
        make = alone.command(cls=ListingCommand, epilog=examples(*COMMANDS[cmd_name]))
        make(getattr(module, cmd_name))
        return get_command(alone)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note whether JSON is asked for, so that even usage errors are reported as JSON."""
        ctx.meta[__name__] = "--json" in args
        with _clear_errors(ctx):
            return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        untyped_flags(self.get_params(ctx))
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _clear_errors(ctx):
            return super().invoke(ctx)


@contextmanager
def _clear_errors(ctx: Any) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as error:
        _end(ctx, f"Interrupted. {str(error) or 'Nothing was changed.'}", INTERRUPTED)
    except LookalikeError as error:
        _end(ctx, without_method(str(error)), FAILED)
    except BrokenPipeError:
        raise
    except Exception as error:
        if _is_lack_of_memory(error):
            _end(
                ctx,
                "Not enough memory. Finished work is kept; close other programs, or raise the "
                "limit, and try again.",
                FAILED,
            )
        if isinstance(error, OSError):
            file = f"{error.filename}: " if error.filename else ""
            _end(ctx, f"{file}{error.strerror or error}", FAILED)
        # The base class of usage errors moved between versions of Typer; its method did not.
        if not ctx.meta[__name__] or not hasattr(error, "format_message"):
            raise
        _end(ctx, error.format_message(), NOT_UNDERSTOOD)


def _is_lack_of_memory(error: Exception) -> bool:
    """Return whether an error says so, as Python and the loader of libraries each do."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(
        words in text
        for words in (
            "can't start new thread",
            "failed to map segment",
            "cannot allocate memory",
            "bad allocation",
            "bad_alloc",
            "load shared object",
            "without setting an exception",  # C code that lost the MemoryError
        )
    )


def _end(ctx: Any, message: str, code: int) -> None:
    if ctx.meta[__name__]:
        write_json({"error": message, "exit_code": code})
    elif code == INTERRUPTED:
        complain(message, style="yellow")
    else:
        complain(f"Error: {message}")
    raise typer.Exit(code)


def examples(*lines: str, after: str = "") -> str:
    """Return the end of a help text, with its line breaks kept."""
    text = "\b\n" + "\n".join(["Examples:", *(f"  $ {line}" for line in lines)])
    return f"{text}\n\n{after}" if after else text


app = typer.Typer(
    name="lookalike",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "lookalike demo",
        "lookalike index ~/Pictures",
        "lookalike learn --folders",
        "lookalike search holiday.jpg",
        "lookalike tag new.jpg",
        after=CODES,
    ),
)


def _show_version(queries: bool) -> None:
    if queries:
        typer.echo(f"lookalike {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version),
    ] = False,
) -> None:
    """Image search and tagging that learn what you mean by similar, and your words."""


COMMANDS: dict[str, Sequence[str]] = {
    "index": (
        "lookalike index ~/Pictures",
        "lookalike index 'scans/**/*.tif' cat.jpg -c family",
        "lookalike index photos --model clip.onnx --mean .5,.5,.5 --std .5,.5,.5",
        "lookalike index photos --feature visterms --dimension 10000 -c words",
        "lookalike index photos --model clip.onnx --name clip",
        "lookalike index photos --feature regions",
    ),
    "vocabulary": (
        "lookalike vocabulary ~/Pictures --words 100000 --out words",
        "lookalike index ~/Pictures --feature regions --vocabulary words",
    ),
    "learn": (
        "lookalike learn --folders",
        "lookalike learn --tags tags.csv --hold-back 0.3",
        "lookalike learn --clicks clicks.csv --threshold 0.1 --json",
        "lookalike learn --codes s3plh --bits 48",
        "lookalike learn --folders --feature visterms --method oasis --set aggressiveness=0.05",
    ),
    "search": (
        "lookalike search holiday.jpg",
        "lookalike search holiday.jpg -k 30 --sheet found.html",
        "lookalike search holiday.jpg --no-learning",
        "lookalike search --word dog",
        "lookalike search --word sunset --sheet sunsets.html",
        "lookalike search holiday.jpg --by visterms",
        "lookalike search holiday.jpg --album Beaches",
        "lookalike search street.jpg --by regions --box 120,80,300,200 --explain",
    ),
    "tag": (
        "lookalike tag new/*.jpg",
        "lookalike tag ~/Pictures --min-confidence 0.9 --write xmp",
        "lookalike tag scans --write csv --out tags.csv",
    ),
    "duplicates": (
        "lookalike duplicates",
        "lookalike duplicates --sheet duplicates.html",
        "lookalike duplicates --files delete.sh",
        "lookalike duplicates --like 0.9 --radius 48 -c family --json",
    ),
    "judge": (
        "lookalike judge family --against cosine",
        "lookalike judge family --results --out judged",
    ),
    "evaluate": ("lookalike evaluate", "lookalike evaluate --by visterms -c family --json"),
    "albums": (
        "lookalike albums",
        "lookalike albums Holiday",
        "lookalike albums Holiday --out holiday.csv",
    ),
    "labels": ("lookalike labels --out labels.csv", "lookalike labels --out labels.json -c family"),
    "remove": ("lookalike remove old.jpg scans/blank.tif", "lookalike remove scans/drafts"),
    "restore": (
        "lookalike restore scans/blank.tif",
        "lookalike restore",
        "lookalike restore /backups/monday -c family",
    ),
    "check": ("lookalike check", "lookalike check -c family --json"),
    "backup": ("lookalike backup /backups/monday", "lookalike backup /backups/monday -c family"),
    "bin": ("lookalike bin", "lookalike bin --empty"),
    "missing": ("lookalike missing", "lookalike missing --remove -c family"),
    "history": ("lookalike history", "lookalike history -n 100 -c family"),
    "undo": ("lookalike undo 12", "lookalike undo 12 -c family"),
    "people": (
        "lookalike people",
        "lookalike people trust Ada",
        "lookalike people key Ada --role vote",
        "lookalike people undo Ada --kind votes --preview",
    ),
    "rankers": (
        "lookalike rankers",
        "lookalike rankers --default views",
        "lookalike rankers --remove views",
    ),
    "read": ("lookalike read", "lookalike read --remove -c family"),
    "rollback": ("lookalike rollback", "lookalike rollback --votes -c family"),
    "export": ("lookalike export", "lookalike export --out learned.safetensors -c family"),
    "serve": (
        "lookalike serve",
        "lookalike serve family --port 8080 --watch",
        "lookalike serve --host 0.0.0.0 --key-file key.txt --name photos.example",
    ),
    "demo": ("lookalike demo", "lookalike demo /tmp/emoji --json"),
    "reproduce": (
        "lookalike reproduce oasis --data 256_ObjectCategories",
        "lookalike reproduce oasis --data objects --out results --quick",
        "lookalike reproduce wsabie --data photos --words tags --isa tree.csv",
        "lookalike reproduce wsabie --data shop --words fine --levels fine,coarse",
        "lookalike reproduce qah --data photos --words tags",
        "lookalike reproduce sparse --data oxford5k --vocabulary 50000",
    ),
}
"""Every command, with examples."""

TOGETHER = {
    "undo": "history",
    "restore": "remove",
    "bin": "remove",
    "missing": "remove",
    "check": "upkeep",
    "backup": "upkeep",
}
"""Commands that stand in the module of another."""


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()

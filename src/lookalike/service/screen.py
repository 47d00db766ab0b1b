"""Show what a command did: tables and bars for people, one JSON object for programs."""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lookalike.core.progress import Progress, silent

UNLIMITED = 10_000
"""Columns of what is not a terminal, so that paths stay whole for grep."""

_JOINER = "\u200d"


def plain(value: object) -> str:
    r"""Return text that stays on one line and cannot control a terminal.

    Control characters, undecodable bytes in file names and invisible characters, such as those
    that change the direction of text, are replaced by escapes.

    Examples
    --------
    >>> plain("two\nlines, one byte: \udcff, [bold]")
    'two\\nlines, one byte: \\xff, [bold]'
    """
    return "".join(map(_sign, str(value)))


def _sign(sign: str) -> str:
    if sign.isprintable() or sign == _JOINER:
        return sign
    if "\udc80" <= sign <= "\udcff":
        return f"\\x{ord(sign) - 0xDC00:02x}"
    return sign.encode("unicode_escape").decode("ascii")


@contextmanager
def kept(message: str) -> Iterator[None]:
    """Add a message to an interruption of the work inside: what is kept, how to continue."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(message) from error


class Screen:
    """Where a command writes.

    For people, lines and tables go to standard output, bars to standard error and only where
    that is a terminal. For programs (``as_json``), :meth:`result` writes one JSON object and
    nothing else is written.

    Parameters
    ----------
    as_json : bool
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def say(self, *lines: str, style: str = "") -> None:
        """Write lines."""
        if not self.as_json:
            console = _console(sys.stdout)
            for line in lines:
                console.print(Text(plain(line), style=style))

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[object]],
        *,
        title: str = "",
        numbers: Sequence[str] = (),
    ) -> None:
        """Write a table; the columns named in ``numbers`` are aligned to the right."""
        if self.as_json:
            return
        table = Table(
            box=box.SIMPLE_HEAD,
            title=Text(plain(title), style="bold") if title else None,
            title_justify="left",
            show_edge=False,
            pad_edge=False,
        )
        for column in columns:
            to_right = column in numbers
            table.add_column(
                Text(column),
                justify="right" if to_right else "left",
                no_wrap=to_right,
                overflow="fold",
            )
        for row in rows:
            table.add_row(*(Text(plain(cell)) for cell in row))
        _console(sys.stdout).print(table)

    def result(self, content: Mapping[str, Any]) -> None:
        """Write the one JSON object of a command."""
        if self.as_json:
            write_json(content)

    @contextmanager
    def bar(self, what: str) -> Iterator[Progress]:
        """Show a progress bar; yields the callable that moves it."""
        console = _console(sys.stderr)
        if self.as_json or not console.is_terminal:
            yield silent
            return
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            SpinnerColumn,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bars

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Bars(*columns, console=console, transient=True) as bars:
            task = bars.add_task(what, total=None)

            def progress(done: int, total: int) -> None:
                # After the last step something is still to be saved: the bar goes on moving.
                over = total > 0 and done >= total
                text = f"{what}: finishing" if over else what
                bars.update(task, completed=done, total=None if over else total, description=text)

            yield progress


def write_json(content: Mapping[str, Any]) -> None:
    """Write one JSON object to standard output, in ASCII so that any file name fits."""
    sys.stdout.write(json.dumps(_jsonable(content), allow_nan=False, indent=2) + "\n")
    sys.stdout.flush()


def complain(message: str, *, style: str = "bold red") -> None:
    """Write one line to standard error."""
    _console(sys.stderr).print(Text(plain(message), style=style))


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(entry) for entry in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _console(stream: TextIO) -> Console:
    # Created on each call, since a test or caller may have replaced the stream.
    options = {"markup": False, "emoji": False, "highlight": False, "soft_wrap": False}
    width = None if stream.isatty() else UNLIMITED
    return Console(file=stream, width=width, **options)  # type: ignore[arg-type]

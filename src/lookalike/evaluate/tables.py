"""Tables of figures as text, CSV and Markdown."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from lookalike.core.errors import InvalidInput
from lookalike.evaluate.spread import Spread

Cell: TypeAlias = str | int | float | Spread | None


@dataclass(frozen=True)
class Table:
    """Rows of cells under named columns.

    Parameters
    ----------
    columns : sequence of str
        The column headings.
    rows : sequence of sequences
        A cell is text, a number, a :class:`Spread`, or None for no value.
    title : str
        Above the table.
    notes : sequence of str
        Below it.
    digits : int
        Decimal places of numbers that are not whole.

    Examples
    --------
    >>> table = Table(["method", "mAP"], [["OASIS", Spread(33.12, 1.6, 5)], ["MCML", None]])
    >>> print(table.text())
    method         mAP
    ------  ----------
    OASIS   33.1 ± 1.6
    MCML             –
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    notes: Sequence[str] = field(default=())
    digits: int = 1

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise InvalidInput(
                    f"Table: each row must have {len(self.columns)} cells; "
                    f"row {number} has {len(row)}."
                )

    def cells(self) -> tuple[list[list[str]], list[bool]]:
        """Return the headings and all rows as text, and which columns are numbers."""
        return [list(map(_on_one_line, self.columns)), *self._shown()], self._to_the_right()

    def text(self) -> str:
        """Return the table as text with aligned columns, numbers to the right."""
        cells, right = self.cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(_aligned(row, widths, right)).rstrip() for row in cells]
        lines.insert(1, "  ".join("-" * width for width in widths))
        head = [self.title, ""] if self.title else []
        notes = ["", *self.notes] if self.notes else []
        return "\n".join([*head, *lines, *notes])

    def markdown(self) -> str:
        """Return the table as Markdown."""
        shown, right = self.cells()
        cells = [[cell.replace("\\", "\\\\").replace("|", "\\|") for cell in row] for row in shown]
        widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
        lines = [f"| {' | '.join(_aligned(row, widths, right))} |" for row in cells]
        rules = [
            "-" * (width - 1) + (":" if to_right else "-")
            for width, to_right in zip(widths, right, strict=True)
        ]
        lines.insert(1, f"| {' | '.join(rules)} |")
        head = [f"**{self.title}**", ""] if self.title else []
        notes = [line for note in self.notes for line in ("", note)]
        return "\n".join([*head, *lines, *notes])

    def csv(self) -> str:
        """Return the table as CSV with all digits; a spread takes two columns, None is empty."""
        spreads = [
            any(isinstance(row[column], Spread) for row in self.rows)
            for column in range(len(self.columns))
        ]
        lines: list[list[Cell]] = [
            [
                head
                for name, is_spread in zip(self.columns, spreads, strict=True)
                for head in ([name, f"{name} ±"] if is_spread else [name])
            ]
        ]
        for row in self.rows:
            line: list[Cell] = []
            for cell, is_spread in zip(row, spreads, strict=True):
                if isinstance(cell, Spread):
                    line += [cell.mean, cell.deviation]
                else:
                    line += [cell, None] if is_spread else [cell]
            lines.append(line)
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(lines)
        return file.getvalue()

    def _shown(self) -> list[list[str]]:
        return [[self._show(cell) for cell in row] for row in self.rows]

    def _show(self, cell: Cell) -> str:
        if cell is None:
            return "–"
        if isinstance(cell, Spread):
            return cell.text(self.digits)
        if isinstance(cell, float):
            return f"{cell:.{self.digits}f}"
        return _on_one_line(str(cell))

    def _to_the_right(self) -> list[bool]:
        return [
            bool(self.rows) and not any(isinstance(row[column], str) for row in self.rows)
            for column in range(len(self.columns))
        ]


def _aligned(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    return [
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(row, widths, right, strict=True)
    ]


def _on_one_line(text: str) -> str:
    return " ".join(text.split())

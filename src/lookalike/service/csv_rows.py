"""Write rows of CSV whose cells stay whole in spreadsheets that separate by other signs."""

import csv
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

_SIGNS = frozenset(";\t")
"""Signs that the csv module does not quote; it does quotes and line breaks."""


def write_rows(file: TextIO, rows: Iterable[Sequence[Any]]) -> None:
    r"""Write rows; quote all cells of one where a cell has a sign that could separate cells.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO()
    >>> write_rows(file, [["a.jpg", "tea"], ["a.jpg", "x;=1+1"]])
    >>> file.getvalue().splitlines()
    ['a.jpg,tea', '"a.jpg","x;=1+1"']
    """
    plain, quoted = csv.writer(file), csv.writer(file, quoting=csv.QUOTE_ALL)
    for row in rows:
        whole = any(isinstance(cell, str) and not _SIGNS.isdisjoint(cell) for cell in row)
        (quoted if whole else plain).writerow(row)

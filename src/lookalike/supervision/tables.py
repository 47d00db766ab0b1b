"""Read small tables that people wrote: UTF-8 text, a header, and rows of the same length."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lookalike.core.errors import InvalidInput
from lookalike.core.text import first_control, label_name, read_cell

MAX_BYTES = 2**28
MAX_NAME = 1000
"""A longer label or query is a mistake, such as a quote that is never closed."""

FILE_COLUMNS = ("file", "path", "filename", "picture", "image")


def read_text(path: Path) -> str:
    """Return the content of a UTF-8 text file, with or without a byte order mark."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InvalidInput(f"{path}: the limit is {MAX_BYTES} bytes; it has {size}. Split it.")
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInput(
            f"{path}, line {line}: not UTF-8 text (byte {content[error.start]:#04x}). "
            f"Save the file as UTF-8."
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InvalidInput(
            f"{path}, line {line}: contains a zero byte, so it is not a text file. "
            f"Save it as UTF-8 text."
        )
    if not text.strip():
        raise InvalidInput(f"{path} is empty. It needs a header and a row for each picture.")
    return text


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Return each row's line number and its cells by column, with column names in lower case.

    The separator (comma, semicolon or tab) is the most frequent one in the header. Blank lines
    are skipped. A quote before what a spreadsheet would take for a formula is left out, as our
    own tables have it.
    """
    text = read_text(path)
    header_line = text.lstrip().split("\n", 1)[0]
    separator = max(",;\t", key=header_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    header: list[str] | None = None
    try:
        for row in reader:
            line = reader.line_num
            if not any(cell.strip() for cell in row):
                continue
            if header is None:
                header = [label_name(cell).lower() for cell in row]
                times = Counter(header)
                doubled = next((name for name in header if times[name] > 1), None)
                if doubled is not None:
                    raise InvalidInput(
                        f"{path}, line {line}: the header has the column {doubled!r} twice. "
                        f"Rename or remove one."
                    )
                continue
            if len(row) != len(header):
                raise InvalidInput(
                    f"{path}, line {line}: {len(row)} cells, but the header has {len(header)} "
                    f"columns. Put cells that contain a {separator!r} in double quotes."
                )
            cells = (read_cell(cell.strip()) for cell in row)
            yield line, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise InvalidInput(
            f"{path}, line {reader.line_num}: invalid CSV: {error}. Check the quotes."
        ) from error


def column(path: Path, row: dict[str, str], names: tuple[str, ...]) -> str:
    """Return the first of the columns ``names`` that the table has, or raise InvalidInput."""
    result = next((name for name in names if name in row), None)
    if result is None:
        raise InvalidInput(
            f"{path}, line 1: the header needs a column named {' or '.join(map(repr, names))}; "
            f"it has {', '.join(map(repr, row))}. Rename or add a column."
        )
    return result


def checked_name(where: str, text: str | int) -> str:
    """Return the name of a label or query; raise InvalidInput if it is not plausible."""
    name = label_name(text)
    if len(name) > MAX_NAME:
        raise InvalidInput(
            f"{where}: a name has {len(name)} characters; the limit is {MAX_NAME}. "
            f"Check for a quote that is never closed."
        )
    bad = first_control(name)
    if bad is not None:
        raise InvalidInput(f"{where}: {name!r} contains the control character {bad!r}. Remove it.")
    return name


def given_name(where: str, value: Any, what: str) -> str:
    """Return text or a whole number as a name; empty for None.

    Raise InvalidInput for anything else; ``what`` is what it should be.
    """
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidInput(f"{where}: a {what} must be text or a whole number; got {value!r:.80}.")
    return checked_name(where, value)

"""Write words as a table that ``lookalike learn`` can read again.

Only pictures with words are listed, since learning from the table would remove the labels of a
picture listed without any.
"""

import io
import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lookalike.core.text import safe_cell
from lookalike.service.csv_rows import write_rows

if TYPE_CHECKING:
    from lookalike.collection import TaggedPicture


def tags_csv(pictures: "Iterable[TaggedPicture]") -> bytes:
    """Return CSV in UTF-8: ``file,tag,score,confidence,source``, one row per word.

    A quote stands before a word or path that a spreadsheet would take for a formula, which our own
    readers leave out again (:func:`~lookalike.core.text.safe_cell`). Readers of the
    column ``tag`` split a cell at ``;`` and ``|``; use :func:`tags_json` to keep such words
    whole. An unknown confidence is an empty cell.
    """
    file = io.StringIO()
    write_rows(file, [["file", "tag", "score", "confidence", "source"]])
    rows = (
        [
            safe_cell(str(picture.path)),
            safe_cell(tag.word),
            _short(tag.score, 6),
            _short(tag.confidence, 4),
            tag.source,
        ]
        for picture in pictures
        for tag in picture.tags
    )
    write_rows(file, rows)
    return file.getvalue().encode()


def tags_json(pictures: "Iterable[TaggedPicture]") -> bytes:
    """Return JSON in UTF-8: a list of objects, each with a file, its words and facts of these."""
    rows = [
        {
            "file": str(picture.path),
            "tags": [tag.word for tag in picture.tags],
            "scores": [_short(tag.score, 6) for tag in picture.tags],
            "confidences": [_short(tag.confidence, 4) for tag in picture.tags],
            "sources": [tag.source for tag in picture.tags],
        }
        for picture in pictures
        if picture.tags
    ]
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows]
    # Undecodable bytes of a file name are written as \udcxx, which JSON reads back unchanged.
    return "[\n{}\n]\n".format(",\n".join(lines)).encode(errors="backslashreplace")


def _short(number: float, digits: int) -> float | None:
    """Return a number without meaningless digits; None if it is not known."""
    return float(f"{number:.{digits}g}") if math.isfinite(number) else None

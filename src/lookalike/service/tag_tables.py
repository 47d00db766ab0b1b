"""Write tags as a table that ``lookalike learn`` can read again.

Only pictures with tags are in it, since one listed without would lose the labels it has when the
table is learned from.
"""

import csv
import io
import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lookalike.collection import TaggedPicture


def tags_csv(pictures: "Iterable[TaggedPicture]") -> bytes:
    """Write CSV in UTF-8: ``file,tag,score,confidence``, a row for each tag.

    Cells are written as they are. A spreadsheet may take one that begins with ``=``, ``+``, ``-``
    or ``@`` for a formula, but a sign put before it would be another word, or another file, when
    the table is read again; open tables of strangers' words with the column's type set to text.
    Readers of the column ``tag`` divide a cell at ``;`` and ``|``; words with these come back
    whole from :func:`tags_json`. A confidence that is not known is an empty cell.
    """
    file = io.StringIO()
    rows = csv.writer(file)
    rows.writerow(["file", "tag", "score", "confidence"])
    rows.writerows(
        [picture.path, tag.word, _short(tag.score, 6), _short(tag.confidence, 4)]
        for picture in pictures
        for tag in picture.tags
    )
    return file.getvalue().encode()


def tags_json(pictures: "Iterable[TaggedPicture]") -> bytes:
    """Write JSON in UTF-8: a list of objects, each with a file, its tags and what they score."""
    rows = [
        {
            "file": str(picture.path),
            "tags": [tag.word for tag in picture.tags],
            "scores": [_short(tag.score, 6) for tag in picture.tags],
            "confidences": [_short(tag.confidence, 4) for tag in picture.tags],
        }
        for picture in pictures
        if picture.tags
    ]
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows]
    # Undecodable bytes of a file's name come out as \udcxx, which JSON reads as it was.
    return "[\n{}\n]\n".format(",\n".join(lines)).encode(errors="backslashreplace")


def _short(number: float, digits: int) -> float | None:
    """Leave out digits that mean nothing; a number that is not known is None."""
    return float(f"{number:.{digits}g}") if math.isfinite(number) else None

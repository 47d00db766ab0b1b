"""Which files of duplicates could go: to read, for a spreadsheet, and for a shell."""

import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal, TypeAlias

from lookalike.core.text import safe_cell, shown
from lookalike.service.csv_rows import write_rows

if TYPE_CHECKING:
    from lookalike.collection import Collection, Duplicates

Form: TypeAlias = Literal["txt", "csv", "sh"]

KINDS: dict[Form, str] = {
    "txt": "text/plain; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "sh": "text/x-shellscript",
}
"""The forms of a list, and what a server calls them."""

_HEAD = """#!/bin/sh
# Files that could go, by lookalike. Read it, take out what is to stay, then run it: sh {name}
# A copy goes only if the file to keep still has the same content; others, only if that is there.
"""


@dataclass(frozen=True, slots=True)
class Spare:
    """A file that could go, and the one to keep instead of it.

    Attributes
    ----------
    group : int
    keep, path : Path
    likeness : float or None
        How alike their pictures are; None for files of the same content.
    """

    group: int
    keep: Path
    path: Path
    likeness: float | None


def spare_files(collection: "Collection", groups: "Iterable[Duplicates]") -> list[Spare]:
    """Return the files that could go: exact copies first, then those of near-duplicates.

    Of files with the same content the oldest is kept, or that with the shortest path. Links to it
    are no copies.
    """
    from lookalike.collection import Filter

    result: list[Spare] = []
    group = 0
    for copies in collection.duplicates.copies():
        keep, *others = copies.paths
        own = os.path.realpath(keep)
        spare = [path for path in others if os.path.realpath(path) != own]
        group += bool(spare)
        result += [Spare(group, keep, path, None) for path in spare]
    near = list(groups)
    ids = tuple(number for one in near for number in one.pictures)
    rows = collection.pictures.browse(len(ids), where=Filter(pictures=ids)) if ids else []
    places = {row.id: row.places for row in rows}
    for one in near:
        if one.keeper in places:
            group += 1
            result += [
                Spare(group, places[one.keeper][0], path, likeness)
                for number, likeness in zip(one.pictures, one.likeness, strict=True)
                if number != one.keeper
                for path in places.get(number, ())
            ]
    return result


def file_list(spare: Sequence[Spare], form: Form, name: str = "delete.sh") -> bytes:
    """Return a list of files; only that for a shell has every name as it is."""
    if form == "csv":
        return _table(spare)
    lines, group = [], 0
    if form == "sh":
        for one in spare:
            keep, path = quote(str(one.keep)), quote(str(one.path))
            check = f"cmp -s -- {keep} {path}" if one.likeness is None else f"[ -f {keep} ]"
            lines.append(f"{check} && rm -- {path}\n")
        return os.fsencode(_HEAD.format(name=quote(name)) + "".join(lines))
    for one in spare:
        if one.group != group:
            lines.append(f"\nkeep    {_line(one.keep)}\n")
            group = one.group
        alike = "copy " if one.likeness is None else f"{100 * one.likeness:.0f} % "
        lines.append(f"  {alike:<6}{_line(one.path)}\n")
    return "".join(lines).lstrip("\n").encode()


def _line(path: Path) -> str:
    return " ".join(shown(path).splitlines())


def _table(spare: Sequence[Spare]) -> bytes:
    file = io.StringIO(newline="")
    write_rows(file, [["group", "delete", "keep", "likeness"]])
    write_rows(
        file,
        (
            [
                one.group,
                *(safe_cell(shown(path)) for path in (one.path, one.keep)),
                "same content" if one.likeness is None else f"{one.likeness:.3f}",
            ]
            for one in spare
        ),
    )
    return file.getvalue().encode()

"""The names of files and folders: pictures found by them, and counted by folder."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store.database import Database
from lookalike.collection.store.places import all_places, roots
from lookalike.core.text import plain_key

_END = "\0"
"""What ends a name; no path has it."""


@dataclass(frozen=True)
class Names:
    """The names of all files and their folders, to find terms in.

    Attributes
    ----------
    text : str
        All names, each with its end, regardless of case, Unicode form and accents.
    starts, pictures : ndarray
        Where each name begins, and the picture it is of.
    files : ndarray
        Where in each the name of the file begins, after those of its folders.
    """

    text: str
    starts: NDArray[np.int64]
    files: NDArray[np.int64]
    pictures: NDArray[np.int64]

    @classmethod
    def read(cls, database: Database) -> Self:
        """Read the names of all pictures.

        Folders count from the one that was added downwards; of a file that was added by itself,
        the one it lies in.
        """
        tops = [_folder(root) for root in roots(database)]
        names: list[str] = []
        aboves: list[int] = []
        pictures: list[int] = []
        folders: dict[str, str] = {}
        for path, picture in all_places(database):
            end = path.rfind(os.sep) + 1
            folder, file = path[:end], path[end:]
            if (above := folders.get(folder)) is None:
                above = folders[folder] = plain_key(_shown_part(folder, tops))
            # Most names need no normalising, which takes ten times as long.
            names.append(above + (file.lower() if file.isascii() else plain_key(file)) + _END)
            aboves.append(len(above))
            pictures.append(picture)
        starts = np.cumsum([0, *map(len, names)])[:-1]
        files = starts + np.array(aboves, np.int64)
        return cls("".join(names), starts, files, np.array(pictures, np.int64))

    def find(self, term: str, *, of: str = "") -> NDArray[np.int64]:
        """Return the pictures whose file or folders bear a term in their names, by rising id.

        With ``of="files"`` names of files count alone, with ``of="folders"`` those of folders.

        It must stand at the start of a word or number: ``cat`` is in ``my_cats`` and ``IMG cat2``,
        not in ``vacation``.
        """
        key = plain_key(term)
        before = _before(key)
        rows: list[int] = []
        at = self.text.find(key) if key else -1
        while at >= 0:
            if at and before(self.text[at - 1]):
                at = self.text.find(key, at + 1)
                continue
            rows.append(at)
            at = self.text.find(key, at + 1 if of else self.text.index(_END, at))
        places = np.array(rows, np.int64)
        holders = np.searchsorted(self.starts, places, side="right") - 1
        if of:
            holders = holders[(places >= self.files[holders]) == (of == "files")]
        return np.unique(self.pictures[holders])


def folders(database: Database) -> list[tuple[str, int]]:
    """Count the pictures in or below each folder, a folder before those in it.

    Folders are listed from the highest that was added, or has pictures in itself, downwards. A
    picture counts once, wherever its copies lie: as where the folder is the filter.
    """
    own: dict[int, tuple[str, ...]] = {}
    for path, picture in all_places(database):
        own[picture] = (*own.get(picture, ()), path.rpartition(os.sep)[0] or os.sep)
    tops = {*roots(database), *(folder for together in own.values() for folder in together)}
    chain = cache(lambda folder: _up_to_top(folder, tops))
    counts: Counter[str] = Counter()
    for together, number in Counter(own.values()).items():
        counted = (above for folder in together for above in chain(folder))
        counts.update(dict.fromkeys(counted, number))
    return sorted(counts.items(), key=lambda item: item[0].replace(os.sep, "\0"))


@dataclass(frozen=True, slots=True)
class Subfolder:
    """A folder, how many pictures lie in or below it, and how many folders with some lie in it."""

    path: str
    pictures: int
    folders: int


def folder_tree(database: Database) -> dict[str, tuple[Subfolder, ...]]:
    """Return the folders that lie in each folder, of those with pictures; the highest under ``""``.

    Names are in the order of :func:`folders`.
    """
    every = folders(database)
    known = {path for path, _ in every}
    above = {path: os.path.dirname(path) for path in known}  # noqa: PTH120
    above = {path: it if it in known and it != path else "" for path, it in above.items()}
    inside = Counter(above.values())
    result: dict[str, list[Subfolder]] = {}
    for path, pictures in every:
        result.setdefault(above[path], []).append(Subfolder(path, pictures, inside[path]))
    return {path: tuple(some) for path, some in result.items()}


def _up_to_top(folder: str, tops: set[str]) -> list[str]:
    """Return a folder and those above it, up to the highest that is among ``tops``."""
    chain = [folder]
    while (above := os.path.dirname(chain[-1])) != chain[-1]:  # noqa: PTH120
        chain.append(above)
    while chain[-1] not in tops:
        chain.pop()
    return chain


def _shown_part(path: str, tops: Sequence[str]) -> str:
    """Return the path of a folder from the highest that was added, or its own name.

    Examples
    --------
    >>> _shown_part("/srv/photos/2019/", ["/srv/photos/"])
    'photos/2019/'
    >>> _shown_part("/srv/me/", [])
    'me/'
    """
    above = min((top for top in tops if path.startswith(top)), key=len, default=path)
    return path[above.rstrip(os.sep).rfind(os.sep) + 1 :]


def _folder(root: str) -> str:
    return root if root.endswith(os.sep) else root + os.sep


def _before(key: str) -> Callable[[str], bool]:
    """Return what tells whether a sign before a term is of the same word or number."""
    if key[:1].isdigit():
        return str.isdecimal
    return str.isalpha if key[:1].isalpha() else (lambda sign: False)

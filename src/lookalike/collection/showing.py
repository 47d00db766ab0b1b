"""A collection that is looked at: page by page, by what to filter by, and with reasons."""

from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from lookalike.collection import explaining, exporting, filtering, suggesting
from lookalike.collection.asking import check_ask
from lookalike.collection.database import Database
from lookalike.collection.folder import Folder
from lookalike.collection.listening import Listening
from lookalike.collection.records import Ask, PictureRow, Ref, Suggestion
from lookalike.collection.where import Where
from lookalike.features import Feature

T = TypeVar("T")

MOST_KEPT = 32
"""Answers that are kept to be given again."""


class Showing(Listening):
    """What a page over a collection shows besides what searches find."""

    def __init__(self, folder: Folder, database: Database, feature: Feature) -> None:
        super().__init__(folder, database, feature)
        self._read_lately: dict[tuple[Hashable, ...], tuple[int, object]] = {}

    def browse(
        self, k: int = 100, *, offset: int = 0, where: Where | None = None, order: str = "newest"
    ) -> list[PictureRow]:
        """Return pictures in an order, a page at a time.

        Parameters
        ----------
        k, offset : int
            How many to give, and how many to leave out before them.
        where : Where, optional
            Which pictures to give.
        order : {"newest", "oldest", "added"}
            By when they were taken, those of unknown date last; or the last added first.
        """
        return filtering.browse(self._database, k, offset, where, order)

    def count(self, where: Where | None = None) -> int:
        """Count the pictures that a filter lets pass."""
        return self._lately(filtering.count, where)

    def months(self, where: Where | None = None) -> list[tuple[str, int]]:
        """Count pictures by month, as ``2024-05``, newest first; unknown dates last, as ``""``."""
        return list(self._lately(filtering.months, where))

    def folders(self) -> list[tuple[str, int]]:
        """Return the folders that pictures lie in or below, and how many."""
        return list(self._lately(filtering.folders))

    def formats(self) -> list[tuple[str, int]]:
        """Return the formats of pictures, and how many have each."""
        return list(self._lately(filtering.formats))

    def labels_used(self) -> list[tuple[str, int]]:
        """Return the labels of pictures, and how many have each, the most used first."""
        return list(self._lately(filtering.labels_used))

    def labels_of(self, pictures: Iterable[int]) -> dict[int, list[str]]:
        """Return the labels of some pictures."""
        return filtering.labels_of(self._database, pictures)

    def suggest(self, picture: Ref, k: int = 8) -> list[Suggestion]:
        """Suggest words for a picture that it does not have and was not refused, best first.

        They come from what was learned, and from the labels of the pictures most like it: so a
        word just given to a picture is suggested for those like it at once.
        """
        serving = self._serve()
        return suggesting.suggest(serving, self._tagger_of(serving), self._database, picture, k)

    def reasons(self, ask: Ask, picture: int, k: int = 5) -> list[str]:
        """Say why a picture was found for a query, in sentences, the most telling first."""
        check_ask(ask)
        serving = self._serve()
        return explaining.reasons(
            serving, self._tagger_of(serving), self._database, ask, picture, k
        )

    def export(self, path: str | Path) -> None:
        """Write what was learned so that vectors kept elsewhere can be searched with it.

        The file is safetensors, with a recipe of some ten lines of NumPy beside it.
        """
        exporting.export(self._serve(), self._database, Path(path))

    def _matching(self, where: Where | None) -> NDArray[np.int64] | None:
        """Return the ids to search among, or None for all."""
        return None if where is None else self._lately(filtering.matching, where)

    def _lately(self, read: Callable[..., T], *given: Where | None) -> T:
        """Read something of all pictures, or give it again while nobody has written since."""
        for where in given:
            if where is not None:
                where.check()
        version = self._database.version()
        with self._lock:
            kept = self._read_lately.get((read, *given))
        if kept is not None and kept[0] == version:
            return cast(T, kept[1])
        found = read(self._database, *given)
        with self._lock:
            self._read_lately = {
                key: value for key, value in self._read_lately.items() if value[0] == version
            }
            if len(self._read_lately) < MOST_KEPT:
                self._read_lately[read, *given] = (version, found)
        return found

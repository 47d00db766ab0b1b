"""The bin of a collection: pictures that were removed and can be restored."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lookalike.collection.log.entry import check_names
from lookalike.collection.nouns.noun import Noun
from lookalike.collection.nouns.selection import in_bin
from lookalike.collection.pictures import removing
from lookalike.collection.store import browsing
from lookalike.collection.store.pictures import PictureRow


class Bin(Noun):
    """The bin of a collection: pictures that were removed and can be restored."""

    def browse(self, k: int = 100, *, offset: int = 0) -> list[PictureRow]:
        """Return pictures that are in the bin, the last removed first."""
        return browsing.binned(self._session.database, k, offset)

    def count(self) -> int:
        """Count the pictures in the bin."""
        return self._session.database.count("bin")

    def empty(self, pictures: Iterable[int | str | Path] | None = None, *, who: str = "") -> int:
        """Erase pictures of the bin for good, or all in it, and return how many.

        What is kept of them goes, uploaded files included, and so does what was said of them in
        the log, which keeps that something was said, by whom and when. Files in other folders are
        never touched. Models keep what they have learned until they learn again.
        """
        check_names(who)
        ids = in_bin(self._session, "bin.empty", pictures)
        return removing.empty(self._session, ids, who=who)

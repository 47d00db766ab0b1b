"""A collection that is looked at: page by page, by what to filter by, and with reasons."""

from collections.abc import Iterable
from pathlib import Path

from lookalike.collection import explaining, exporting, filtering, suggesting
from lookalike.collection.asking import check_ask
from lookalike.collection.listening import Listening
from lookalike.collection.records import Ask, PictureRow, Ref, Suggestion
from lookalike.collection.where import Where


class Showing(Listening):
    """What a page over a collection shows besides what searches find."""

    def browse(
        self, k: int = 100, *, offset: int = 0, where: Where | None = None, order: str = "newest"
    ) -> list[PictureRow]:
        """Give pictures in an order, a page at a time.

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
        return filtering.count(self._database, where)

    def months(self, where: Where | None = None) -> list[tuple[str, int]]:
        """Count pictures by month, as ``2024-05``, newest first; unknown dates last, as ``""``."""
        return filtering.months(self._database, where)

    def folders(self) -> list[tuple[str, int]]:
        """Give the folders that pictures lie in or below, and how many."""
        return filtering.folders(self._database)

    def formats(self) -> list[tuple[str, int]]:
        """Give the formats of pictures, and how many have each."""
        return filtering.formats(self._database)

    def labels_used(self) -> list[tuple[str, int]]:
        """Give the labels of pictures, and how many have each, the most used first."""
        return filtering.labels_used(self._database)

    def labels_of(self, pictures: Iterable[int]) -> dict[int, list[str]]:
        """Give the labels of some pictures."""
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

"""The text that is written in pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lookalike.collection.nouns.noun import Noun
from lookalike.collection.store import texts
from lookalike.core.progress import Progress, silent

if TYPE_CHECKING:
    from lookalike.collection.pictures.texts import TextCounts
    from lookalike.features.ocr import TextReader
    from lookalike.images import Limits


class Texts(Noun):
    """The text that is written in pictures, once it was read; nothing reads it by itself."""

    def read(
        self,
        *,
        reader: TextReader | None = None,
        limits: Limits | None = None,
        progress: Progress = silent,
    ) -> TextCounts:
        """Read the text in all pictures in which none was looked for yet.

        What was read stays where this is interrupted, and the next call goes on there. Searches
        by words find it from then on.

        Parameters
        ----------
        reader : callable, optional
            What returns the text in an image; by default
            :func:`~lookalike.features.ocr.text_reader`.
        limits : Limits, optional
            What a picture may cost before it is left out.
        progress : callable
            Called with the pictures done, and all to do.

        Raises
        ------
        MissingPart
            If no reader is given and the package rapidocr is not installed.
        """
        from lookalike.collection.pictures.texts import read_texts
        from lookalike.features.ocr import text_reader

        self._session.database.check_writable()
        used = text_reader() if reader is None else reader
        return read_texts(self._session, used, limits, progress)

    def of(self, pictures: Iterable[int]) -> dict[int, str]:
        """Return what is written in some pictures, a line for each line, of those that have any."""
        return texts.texts_of(self._session.database, pictures)

    def counts(self) -> TextCounts:
        """Return how many pictures were read, how many have text, and how many are left."""
        from lookalike.collection.pictures.texts import counts

        return counts(self._session)

    def remove(self) -> int:
        """Forget all that was read, and return of how many pictures."""
        with self._session.database.transaction() as connection:
            read = texts.counts(self._session.database)[0]
            texts.clear(connection)
        return read

"""The pictures of a collection: look at them, find them, filter and count them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lookalike import images
from lookalike.collection.nouns.noun import Noun
from lookalike.collection.nouns.selection import matching, plain
from lookalike.collection.pictures import missing, names
from lookalike.collection.pictures.names import Subfolder
from lookalike.collection.search import searching
from lookalike.collection.search.matches import Match
from lookalike.collection.search.nearby import Nearby, nearby
from lookalike.collection.store import browsing, details, pictures, places, rankers
from lookalike.collection.store.filter import Filter
from lookalike.collection.store.pictures import PictureRow
from lookalike.images import Decode, Refused
from lookalike.images.metadata import MetadataReader, metadata_in


class Pictures(Noun):
    """The pictures of a collection: look at them, find them, filter and count them."""

    def decode_with(self, decode: Decode | None, metadata: MetadataReader | None = None) -> None:
        """Decode pictures from now on with another function, such as one in another process.

        A server does, so that a hostile file cannot harm it, and has the ``metadata`` of files
        read there as well. None stands for this process.
        """
        self._session.decoding.decode = decode or images.decode
        self._session.decoding.metadata = metadata or metadata_in

    def undescribed(self, by: str | None = None) -> list[Refused]:
        """Return the pictures that a ranker could not describe, with the reasons."""
        lacking = rankers.undescribed(self._session.database, self._session.rankers.row(by).id)
        paths = places.places_of(self._session.database, lacking)
        return [
            Refused(paths[number][0], reason)
            for number, reason in lacking.items()
            if number in paths
        ]

    def find_missing(self, among: Iterable[str | Path] | None = None) -> int:
        """Look which files are missing, and which are back.

        A picture stays with all that was said of it when its files go: it is *missing*, as
        :class:`~lookalike.collection.PictureRow` tells and ``Filter(missing=True)`` finds, until
        one of its files is back or it is removed.

        Parameters
        ----------
        among : iterable of str or Path, optional
            Look only for files at or below these paths.

        Returns
        -------
        int
            How many pictures are missing that were not before.
        """
        return missing.look(self._session.database, among)

    def get(self, number: int) -> PictureRow:
        """Return what is known of a picture."""
        return self._session.picture(number)

    def facts_of(self, matches: Iterable[Match]) -> list[tuple[Match, PictureRow, list[str]]]:
        """Return matches with what is known of their pictures, and their labels.

        Those deleted meanwhile are left out.
        """
        return searching.facts_of(self._session.database, matches)

    def find(self, path: str | Path) -> int | None:
        """Return the picture whose file lies at a path, or None."""
        return pictures.find_id(self._session.database, path)

    def find_content(self, sha256: str) -> int | None:
        """Return the picture with the content of this SHA-256, or None."""
        return pictures.find_content(self._session.database, sha256)

    def is_unchanged(self, path: Path) -> bool:
        """Return whether a file is in the collection as it is now."""
        try:
            facts = path.stat()
        except OSError:
            return False
        place = places.place_at(self._session.database, path)
        return place is not None and place.facts == (facts.st_size, facts.st_mtime_ns)

    def holds_below(self, path: Path) -> bool:
        """Return whether a picture of the collection lies, or lay, at a path or below it."""
        return places.lies_below(self._session.database, path)

    def roots(self) -> list[Path]:
        """Return the folders that were added."""
        return [Path(root) for root in places.roots(self._session.database)]

    def thumbnail(self, number: int) -> bytes:
        """Return a small JPEG of a picture."""
        content = pictures.thumbnail(self._session.database, number)
        if content is None:
            raise self._session.unknown(number)
        return content

    def refused(self) -> list[Refused]:
        """Return the files that could not be used when they were last read."""
        return places.refused(self._session.database)

    def browse(
        self, k: int = 100, *, offset: int = 0, where: Filter | None = None, order: str = "newest"
    ) -> list[PictureRow]:
        """Return pictures in an order, a page at a time.

        Parameters
        ----------
        k, offset : int
            How many to return, and how many to leave out before them.
        where : Filter, optional
            Which pictures to return.
        order : {"newest", "oldest", "added"}
            By when they were taken, those of unknown date last; or the last added first.
        """
        return browsing.browse(
            self._session.database, k, offset, plain(self._session, where), order
        )

    def browse_ids(
        self, k: int = 100, *, offset: int = 0, where: Filter | None = None, order: str = "newest"
    ) -> list[int]:
        """Return the ids of the pictures that :meth:`browse` returns."""
        return browsing.browse_ids(
            self._session.database, k, offset, plain(self._session, where), order
        )

    def count(self, where: Filter | None = None) -> int:
        """Count the pictures that pass a filter."""
        return self._session.answers.read(browsing.count, plain(self._session, where))

    def months(self, where: Filter | None = None) -> list[tuple[str, int]]:
        """Count pictures by month, as ``2024-05``, newest first; unknown dates last, as ``""``."""
        return list(self._session.answers.read(browsing.months, plain(self._session, where)))

    def folders(self) -> list[tuple[str, int]]:
        """Return the folders that pictures lie in or below, and how many."""
        return list(self._session.answers.read(names.folders))

    def formats(self) -> list[tuple[str, int]]:
        """Return the formats of pictures, and how many have each."""
        return list(self._session.answers.read(browsing.formats))

    def cameras(self) -> list[tuple[str, int]]:
        """Return the cameras that pictures were taken with, and how many, the commonest first."""
        return list(self._session.answers.read(details.cameras))

    def lenses(self) -> list[tuple[str, int]]:
        """Return the lenses that pictures were taken with, and how many, the commonest first."""
        return list(self._session.answers.read(details.lenses))

    def nearby(self, picture: int, k: int = 100) -> list[Nearby]:
        """Return the pictures taken nearest to one, the nearest first.

        InvalidInput is raised if it is not known where that was taken.
        """
        return nearby(self._session, picture, k)

    def locations(self, where: Filter | None = None) -> list[tuple[int, float, float]]:
        """Return the pictures whose place is known, with latitude and longitude in degrees."""
        every = self._session.answers.read(details.locations)
        ids = matching(self._session, where)
        passing = None if ids is None else set(ids.tolist())
        return [one for one in every if passing is None or one[0] in passing]

    def subfolders(self, above: str = "") -> list[Subfolder]:
        """Return the folders in one that pictures lie in or below; by default the highest."""
        return list(self._session.answers.read(names.folder_tree).get(above, ()))

    def all(self) -> Iterator[PictureRow]:
        """Go over all pictures by rising id."""
        return pictures.pictures(self._session.database, 0)

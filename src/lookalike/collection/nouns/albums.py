"""Albums: saved searches and pictures with a name."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from lookalike.collection.nouns.noun import Noun
from lookalike.collection.nouns.selection import album, matching, named
from lookalike.collection.search import albums
from lookalike.collection.search.albums import Album
from lookalike.collection.store import albums as stored_albums
from lookalike.collection.store.albums import SavedSearch


class Albums(Noun):
    """Albums: saved searches and pictures with a name."""

    def save(
        self,
        name: str,
        search: SavedSearch | None = None,
        *,
        pictures: Iterable[int | str | Path] = (),
        most: int | None = None,
    ) -> Album:
        """Save a search, a filter or some pictures under a name.

        The album goes on learning: what is picked in its search joins it, what is rejected leaves,
        and its best matches follow what was learned since. Votes stay with the search, in the log.

        Parameters
        ----------
        name : str
            Case and Unicode form do not tell names apart.
        search : SavedSearch, optional
            What to search for, or to filter by.
        pictures : iterable of int, str or Path
            Pictures that belong to it whatever a search says. Without a search, the album is
            exactly these, and its search is for pictures like them.
        most : int, optional
            How many pictures the best matches may bring it to; by default 100, and 0 for pictures
            without a search.

        Raises
        ------
        InvalidInput
            If there is an album of that name, or nothing to save.
        """
        with self._session.rankers.lock:
            ids = named(self._session, "albums.save", pictures)
            row = albums.checked(self._session, name, search, ids, most)
            inside, _ = albums.members(self._session, row, partial(matching, self._session))
            with self._session.database.transaction() as connection:
                stored_albums.add(connection, row.name, row.search, row.pictures, row.most, inside)
        return self.get(row.name)

    def all(self) -> list[Album]:
        """Return the albums by name, each with what is in it now."""
        rows = stored_albums.albums(self._session.database)
        return [album(self._session, row) for row in rows]

    def names(self) -> list[str]:
        """Return the names of the albums."""
        return [row.name for row in stored_albums.albums(self._session.database)]

    def get(self, name: str | int) -> Album:
        """Return an album, by its name or id, with what is in it now and what of that is new.

        Raises
        ------
        NotFound
            If there is none.
        """
        return album(self._session, albums.find(self._session, name))

    def open(self, name: str | int) -> Album:
        """Return an album, and count all that is in it as seen from now on."""
        result = self.get(name)
        with self._session.database.transaction() as connection:
            stored_albums.mark_opened(connection, result.id, result.members)
        return result

    def delete(self, name: str | int) -> None:
        """Delete an album; its pictures, their labels and votes stay."""
        row = albums.find(self._session, name)
        with self._session.database.transaction() as connection:
            stored_albums.delete(connection, row.id)

"""Albums: saved searches and pictures with a name."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from lookalike.collection.log import albums as events
from lookalike.collection.nouns.noun import Noun
from lookalike.collection.nouns.selection import album, matching, named
from lookalike.collection.search import albums
from lookalike.collection.search.albums import Album
from lookalike.collection.store import albums as stored_albums
from lookalike.collection.store.albums import AlbumRow, SavedSearch
from lookalike.collection.store.people import OWNER


class Albums(Noun):
    """Albums: saved searches and pictures with a name."""

    def save(
        self,
        name: str,
        search: SavedSearch | None = None,
        *,
        pictures: Iterable[int | str | Path] = (),
        most: int | None = None,
        who: str = OWNER,
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
            How many pictures the best matches may bring it to; by default 100, 0 for pictures
            without a search, and 0 for words: the album then has what is tagged with them.
        who : str
            Who saves it. What is done to albums is in the log, and can be undone.

        Raises
        ------
        InvalidInput
            If there is an album of that name, or nothing to save.
        """
        with self._session.database.lock:
            ids = named(self._session, "albums.save", pictures)
            row = albums.checked(self._session, name, search, ids, most)
            inside, _ = albums.members(self._session, row, partial(matching, self._session))
            with self._session.entry(who) as entry:
                events.save(entry, row, inside)
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

    def rename(self, name: str | int, new: str, *, who: str = OWNER) -> Album:
        """Give an album another name, and return it.

        Raises
        ------
        InvalidInput
            If another album has that name, in whatever case and Unicode form.
        """
        row, spelled = albums.find(self._session, name), albums.check_name(new)
        with self._session.entry(who) as entry:
            events.rename(entry, row, spelled)
        return self.get(row.id)

    def add(
        self, name: str | int, pictures: Iterable[int | str | Path], *, who: str = OWNER
    ) -> Album:
        """Add pictures to an album by hand, behind those that were, and return it.

        What was rejected in its search stays out until that vote is taken back.
        """
        with self._session.database.lock:
            row, ids = self._row_and_ids(name, pictures)
            with self._session.entry(who) as entry:
                events.change(entry, row, added=ids)
        return self.get(row.id)

    def take_out(
        self, name: str | int, pictures: Iterable[int | str | Path], *, who: str = OWNER
    ) -> Album:
        """Take out pictures that were added to an album by hand, and return it.

        Those that its search finds, or that were picked in it, stay: reject them there.
        """
        with self._session.database.lock:
            row, ids = self._row_and_ids(name, pictures)
            with self._session.entry(who) as entry:
                events.change(entry, row, taken=ids)
        return self.get(row.id)

    def _row_and_ids(
        self, name: str | int, pictures: Iterable[int | str | Path]
    ) -> tuple[AlbumRow, list[int]]:
        row = albums.find(self._session, name)
        return row, named(self._session, "albums.add", pictures)

    def delete(self, name: str | int, *, who: str = OWNER) -> None:
        """Delete an album; its pictures, their labels and votes stay."""
        row = albums.find(self._session, name)
        with self._session.entry(who) as entry:
            events.delete(entry, row)

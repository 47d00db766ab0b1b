"""Events about albums: saved, renamed, changed by hand and deleted."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Self

from lookalike.collection.log.entry import NewEntry
from lookalike.collection.log.event import Event, Icon, Position, event, pictures_text, read_event
from lookalike.collection.store import albums as stored
from lookalike.collection.store import log as rows
from lookalike.collection.store.albums import AlbumRow
from lookalike.collection.store.queries import Ref
from lookalike.core.text import shown


@event("album", undoable=True, icon="add")
@dataclass(frozen=True)
class AlbumChange(Event):
    """An album was saved, renamed, changed by hand or deleted.

    ``before`` and ``after`` are its name, empty where there was none before or is none after. What
    it takes to save it again (``search`` as JSON, ``most``) is in the events that saved and deleted
    it.
    """

    album: int
    before: str = ""
    after: str = ""
    added: tuple[int, ...] = ()
    taken: tuple[int, ...] = ()
    search: str = ""
    most: int = 0

    @property
    def about(self) -> str:
        """The album."""
        return f"album {self.album}"

    @property
    def icon(self) -> Icon:
        """A bin where it was deleted."""
        return super().icon if self.after else "bin"

    @property
    def pictures_shown(self) -> tuple[int, ...]:
        """What came in or went out by hand."""
        return self.added or self.taken

    def settle(self, at: Position) -> None:
        """Bring the album to what was last said of it, of all that counts.

        It is there if nobody's deletion counts, and either its saving does or somebody else has
        changed it since.
        """
        log = [
            (row, one)
            for row in rows.about(at.connection, self.about)
            if isinstance(one := read_event(row), AlbumChange)
        ]
        undone = rows.undone_among(at.connection, [row.number for row, _ in log])
        counting = [(row, one) for row, one in log if row.number not in undone]
        (made, first), (_, last) = log[0], log[-1]
        is_there = all(one.after for _, one in counting) and (
            bool(first.before) or any(one is first or row.who != made.who for row, one in counting)
        )
        if not is_there:
            stored.delete(at.connection, self.album)
            return
        names = [one.after for _, one in counting if one.after != one.before]
        name = names[-1] if names else first.before or first.after
        inside: dict[int, bool] = {}
        for _, one in log:
            for side, was_in in ((one.added, False), (one.taken, True)):
                for picture in side:
                    inside.setdefault(picture, was_in)
        for _, one in counting:
            inside |= dict.fromkeys(one.added, True) | dict.fromkeys(one.taken, False)
        if stored.exists(at.connection, self.album):
            own = {*self.added, *self.taken}
            moved = {picture: is_in for picture, is_in in inside.items() if picture in own}
            stored.put_pictures(at.connection, self.album, moved)
            stored.rename_back(at.connection, self.album, name)
        else:
            whole = last if last.search else first
            pictures = [picture for picture, is_in in inside.items() if is_in]
            stored.add_again(at.connection, self.album, name, whole.search, pictures, whole.most)

    def without(self, erased: Set[Ref], at: Position) -> Self | None:
        """Return the event without erased pictures; None if it was about nothing else."""
        added, taken = (
            tuple(picture for picture in side if picture not in erased)
            for side in (self.added, self.taken)
        )
        if self.before == self.after and not added and not taken:
            return None
        search = stored.without(self.search, erased)
        return replace(self, added=added, taken=taken, search=search)

    def sentence(self) -> str:
        """Return what happened."""
        album = f"the album “{shown(self.after or self.before)}”"
        if not self.before:
            return f"Saved {album}"
        if not self.after:
            return f"Deleted {album}"
        if self.before != self.after:
            return f"Renamed the album “{shown(self.before)}” to “{shown(self.after)}”"
        if self.added:
            return f"Added {pictures_text(len(self.added))} to {album}"
        return f"Took {pictures_text(len(self.taken))} out of {album}"


def save(entry: NewEntry, row: AlbumRow, seen: Sequence[int]) -> int:
    """Save a new album, and return its number."""
    number = stored.add(entry.connection, row.name, row.search, row.pictures, row.most, seen)
    search = stored.search_text(row.search)
    entry.append(AlbumChange(number, "", row.name, row.pictures, (), search, row.most))
    return number


def rename(entry: NewEntry, row: AlbumRow, name: str) -> None:
    """Give an album another name."""
    if name != row.name:
        stored.rename(entry.connection, row.id, name)
        entry.append(AlbumChange(row.id, row.name, name))


def change(
    entry: NewEntry, row: AlbumRow, added: Sequence[int] = (), taken: Sequence[int] = ()
) -> None:
    """Add pictures to an album by hand that are not in it, or take out some that are."""
    new = tuple(picture for picture in added if picture not in row.pictures)
    gone = tuple(picture for picture in taken if picture in row.pictures)
    if new or gone:
        entry.append(AlbumChange(row.id, row.name, row.name, new, gone))


def delete(entry: NewEntry, row: AlbumRow) -> None:
    """Delete an album."""
    search = stored.search_text(row.search)
    entry.append(AlbumChange(row.id, row.name, "", (), row.pictures, search, row.most))

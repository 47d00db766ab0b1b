"""The collections that a server may open, one at a time: those in its folders, and no other."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from lookalike.collection import Collection, Folder
from lookalike.core.errors import InvalidInput, NotFound
from lookalike.core.text import is_unseen, nfc, shown

MAX_ENTRIES = 10_000
"""Entries of a folder that are looked at."""
MAX_NAME = 100
"""Characters of the name of a new collection."""


class Shelf:
    """The collections in some folders, and which is to be opened next.

    Parameters
    ----------
    folders : iterable of Path
        Where collections lie; the first is where new ones are made.
    opened : iterable of Path
        Collections elsewhere that the server was started with.

    Attributes
    ----------
    next : Path or None
        The collection to open in place of the present one, once the server has stopped.
    leave : callable
        Stops serving the present one.
    """

    def __init__(self, folders: Iterable[Path], opened: Iterable[Path] = ()) -> None:
        self._folders = tuple(dict.fromkeys(Path(os.path.realpath(one)) for one in folders))
        self._opened = tuple(Path(os.path.realpath(one)) for one in opened)
        self.next: Path | None = None
        self.leave: Callable[[], None] = lambda: None

    def collections(self) -> list[Path]:
        """Return the collections, by name; links are left out."""
        places = [place for folder in self._folders for place in _folders_in(folder)]
        places = [place for place in (*places, *self._opened) if Folder(place).database.is_file()]
        return sorted(dict.fromkeys(places), key=lambda place: (place.name.casefold(), place))

    def find(self, path: str | Path) -> Path:
        """Return the collection at a path, or raise NotFound if it is none of these."""
        place = Path(path)
        if place not in self.collections():
            raise NotFound(
                f"collections: {shown(str(path))!r:.300} is no collection that this server may "
                f"open. Those in the folder where it was started are: start it beside yours."
            )
        return place

    def make(self, name: str) -> Path:
        """Make an empty collection in the first folder, and return its place."""
        plain = nfc(name).strip()
        if why := _why_no_name(plain):
            raise InvalidInput(
                f"collections: a name {why}; got {shown(name)!r:.120}. Choose another name."
            )
        place = self._folders[0] / plain
        if os.path.lexists(place):
            raise InvalidInput(
                f"collections: there is already something called “{shown(plain)}” in "
                f"{shown(str(self._folders[0]))}. Choose another name."
            )
        Collection.create(place).close()
        return place

    def change_to(self, place: Path) -> None:
        """Open another collection in place of the present one, if it can be opened."""
        Collection.open(place).close()
        self.next = place
        self.leave()


def _why_no_name(name: str) -> str:
    """Return what is wrong with the name of a new collection; empty for nothing."""
    if not name or len(name) > MAX_NAME:
        return f"has from 1 to {MAX_NAME} characters"
    if name[0] in ".~":
        return "does not begin with a dot or ~, which mean something else before a path"
    if {"/", "\\"} & set(name):
        return "has no slashes, which divide the names of folders"
    if any(map(is_unseen, name)):
        return "has no control characters, nor signs that turn the direction of writing"
    return ""


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            some = [entry for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False)]
            return [folder / it.name for it in some if it.is_dir(follow_symlinks=False)]
    except OSError:
        return []

"""Find which pictures are meant by the names people give them."""

import os
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePath


class Places:
    """The paths of a collection's pictures, found by whole paths or by how they end.

    Parameters
    ----------
    places : iterable of (str, int)
        Absolute paths and the pictures that lie there.
    roots : iterable of str
        Folders that names may be relative to, besides the current one.

    Examples
    --------
    >>> places = Places([("/a/cat/1.jpg", 1), ("/a/dog/1.jpg", 2)], roots=["/a"])
    >>> places.find("cat/1.jpg")
    (1, '')
    >>> places.find("1.jpg")
    (None, 'it could be /a/cat/1.jpg or /a/dog/1.jpg')
    """

    def __init__(self, places: Iterable[tuple[str, int]], roots: Iterable[str]) -> None:
        self._roots = list(roots)
        self._by_path: dict[str, int] = {}
        self._by_spelling: dict[str, set[str]] = defaultdict(set)
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path, picture in places:
            self._by_path[path] = picture
            self._by_spelling[_spelled(path)].add(path)
            self._by_name[_spelled(PurePath(path).name)].append(path)

    def find(self, name: str | Path) -> tuple[int | None, str]:
        """Give the one picture that a name stands for, or None and the reason.

        A name is a path, absolute or relative to the current folder; or relative to a root; or
        the last parts of a path. The first of these that fits anything decides. Composed and
        decomposed letters count as the same, unless both spellings exist.
        """
        given = os.path.normpath(name)
        exact = os.path.abspath(given)  # noqa: PTH100
        if exact in self._by_path:
            return self._by_path[exact], ""
        for found in (
            self._spelled_as([exact]),
            self._spelled_as([os.path.join(root, given) for root in self._roots]),  # noqa: PTH118
            self._ending_as(given),
        ):
            if found:
                return self._only(found)
        return None, "it is not in the collection"

    def _spelled_as(self, paths: list[str]) -> set[str]:
        found = {path for path in paths if path in self._by_path}
        return found or {
            match for path in paths for match in self._by_spelling.get(_spelled(path), ())
        }

    def _ending_as(self, name: str) -> set[str]:
        parts = PurePath(_spelled(name)).parts
        if not parts:
            return set()
        return {
            path
            for path in self._by_name.get(parts[-1], ())
            if PurePath(_spelled(path)).parts[-len(parts) :] == parts
        }

    def _only(self, found: set[str]) -> tuple[int | None, str]:
        pictures = {self._by_path[path] for path in found}
        if len(pictures) == 1:
            return pictures.pop(), ""
        shown = " or ".join(sorted(found)[:2])
        more = f" or {len(found) - 2} more" if len(found) > 2 else ""
        return None, f"it could be {shown}{more}"


def _spelled(text: str) -> str:
    return unicodedata.normalize("NFC", text)

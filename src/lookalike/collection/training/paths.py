"""Find which pictures are meant by the names people give them."""

import os
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePath

AMBIGUOUS = "it could be"
"""How the reason begins why a name that fits several pictures stands for none."""


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
        self._by_ending: dict[int, dict[tuple[str, ...], set[str]]] = {}
        self._answers: dict[tuple[str, ...], tuple[int | None, str]] = {}
        for path, picture in places:
            self._by_path[path] = picture
            self._by_spelling[_spelled(path)].add(path)
        self._deepest = max((len(PurePath(path).parts) for path in self._by_path), default=0)

    def find(self, name: str | Path) -> tuple[int | None, str]:
        """Return the one picture that a name stands for, or None and the reason.

        A name is a path, absolute or relative to the current folder; or relative to a root; or
        the last parts of a path. The first of these that fits anything decides. Composed and
        decomposed letters count as the same, unless both spellings exist.
        """
        given = os.path.normpath(name)
        exact = os.path.abspath(given)  # noqa: PTH100
        if exact in self._by_path:
            return self._by_path[exact], ""
        for result in (
            self._spelled_as([exact]),
            self._spelled_as([os.path.join(root, given) for root in self._roots]),  # noqa: PTH118
        ):
            if result:
                return self._only(result)
        parts = PurePath(_spelled(given)).parts
        if parts not in self._answers:
            self._answers[parts] = self._only(self._endings(len(parts)).get(parts, set()))
        return self._answers[parts]

    def _spelled_as(self, paths: list[str]) -> set[str]:
        result = {path for path in paths if path in self._by_path}
        return result or {
            match for path in paths for match in self._by_spelling.get(_spelled(path), ())
        }

    def _endings(self, length: int) -> dict[tuple[str, ...], set[str]]:
        """Return the paths by their last ``length`` parts, gone over once for each length."""
        if not 0 < length <= self._deepest:
            return {}
        if length not in self._by_ending:
            result: dict[tuple[str, ...], set[str]] = defaultdict(set)
            for path in self._by_path:
                parts = PurePath(_spelled(path)).parts
                if len(parts) >= length:
                    result[parts[-length:]].add(path)
            self._by_ending[length] = result
        return self._by_ending[length]

    def _only(self, result: set[str]) -> tuple[int | None, str]:
        if not result:
            return None, "it is not in the collection"
        pictures = {self._by_path[path] for path in result}
        if len(pictures) == 1:
            return pictures.pop(), ""
        shown = " or ".join(sorted(result)[:2])
        more = f" or {len(result) - 2} more" if len(result) > 2 else ""
        return None, f"{AMBIGUOUS} {shown}{more}"


def _spelled(text: str) -> str:
    return unicodedata.normalize("NFC", text)

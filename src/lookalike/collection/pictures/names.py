"""Find pictures by the names of their files and folders."""

import os
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store import pictures
from lookalike.collection.store.database import Database
from lookalike.core.text import word_key


def named(database: Database, terms: Sequence[str]) -> list[NDArray[np.int64]]:
    """Return for each term the pictures whose file or folders bear it in their names, by rising id.

    Folders count from the one that was added downwards; of a file that was added by itself, the
    one it lies in. A term must stand at the start of a word or number: ``cat`` is in ``my_cats``
    and ``IMG cat2``, not in ``vacation``. Case and Unicode form do not count.
    """
    keys = [word_key(term) for term in terms]
    patterns = [re.compile(_boundary(key) + re.escape(key)) for key in keys]
    tops = [_folder(root) for root in pictures.roots(database)]
    found: list[list[int]] = [[] for _ in terms]
    folders: dict[str, str] = {}
    for path, picture in pictures.all_places(database):
        end = path.rfind(os.sep) + 1
        folder, file = path[:end], path[end:]
        if (above := folders.get(folder)) is None:
            above = folders[folder] = word_key(_shown_part(folder, tops))
        # Most names need no normalising, which takes ten times as long.
        spelled = above + (file.lower() if file.isascii() else word_key(file))
        for key, pattern, ids in zip(keys, patterns, found, strict=True):
            if key in spelled and pattern.search(spelled):
                ids.append(picture)
    return [np.unique(np.array(ids, np.int64)) for ids in found]


def _shown_part(path: str, tops: Sequence[str]) -> str:
    """Return the path of a folder from the highest that was added, or its own name.

    Examples
    --------
    >>> _shown_part("/srv/photos/2019/", ["/srv/photos/"])
    'photos/2019/'
    >>> _shown_part("/srv/me/", [])
    'me/'
    """
    above = min((top for top in tops if path.startswith(top)), key=len, default=path)
    return path[above.rstrip(os.sep).rfind(os.sep) + 1 :]


def _folder(root: str) -> str:
    return root if root.endswith(os.sep) else root + os.sep


def _boundary(key: str) -> str:
    """Return the pattern of what must not stand before a term."""
    if key[:1].isdigit():
        return r"(?<!\d)"
    return r"(?<![^\W\d_])" if key[:1].isalpha() else ""

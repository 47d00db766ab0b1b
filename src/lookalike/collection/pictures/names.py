"""The names of files and folders: pictures found by them, and counted by folder."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store.database import Database
from lookalike.collection.store.places import all_places, roots
from lookalike.core.text import plain_key


def named(database: Database, terms: Sequence[str]) -> list[NDArray[np.int64]]:
    """Return for each term the pictures whose file or folders bear it in their names, by rising id.

    Folders count from the one that was added downwards; of a file that was added by itself, the
    one it lies in. A term must stand at the start of a word or number: ``cat`` is in ``my_cats``
    and ``IMG cat2``, not in ``vacation``. Case, Unicode form and accents do not
    count.
    """
    keys = [plain_key(term) for term in terms]
    patterns = [re.compile(_boundary(key) + re.escape(key)) for key in keys]
    tops = [_folder(root) for root in roots(database)]
    result: list[list[int]] = [[] for _ in terms]
    folders: dict[str, str] = {}
    for path, picture in all_places(database):
        end = path.rfind(os.sep) + 1
        folder, file = path[:end], path[end:]
        if (above := folders.get(folder)) is None:
            above = folders[folder] = plain_key(_shown_part(folder, tops))
        # Most names need no normalising, which takes ten times as long.
        spelled = above + (file.lower() if file.isascii() else plain_key(file))
        for key, pattern, ids in zip(keys, patterns, result, strict=True):
            if key in spelled and pattern.search(spelled):
                ids.append(picture)
    return [np.unique(np.array(ids, np.int64)) for ids in result]


def folders(database: Database) -> list[tuple[str, int]]:
    """Count the pictures in or below each folder, a folder before those in it.

    Folders are listed from the highest that was added, or has pictures in itself, downwards. A
    picture counts once, wherever its copies lie: as where the folder is the filter.
    """
    own: dict[int, tuple[str, ...]] = {}
    for path, picture in all_places(database):
        own[picture] = (*own.get(picture, ()), path.rpartition(os.sep)[0] or os.sep)
    tops = {*roots(database), *(folder for together in own.values() for folder in together)}
    chain = cache(lambda folder: _up_to_top(folder, tops))
    counts: Counter[str] = Counter()
    for together, number in Counter(own.values()).items():
        counted = (above for folder in together for above in chain(folder))
        counts.update(dict.fromkeys(counted, number))
    return sorted(counts.items(), key=lambda item: item[0].replace(os.sep, "\0"))


def _up_to_top(folder: str, tops: set[str]) -> list[str]:
    """Return a folder and those above it, up to the highest that is among ``tops``."""
    chain = [folder]
    while (above := os.path.dirname(chain[-1])) != chain[-1]:  # noqa: PTH120
        chain.append(above)
    while chain[-1] not in tops:
        chain.pop()
    return chain


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

"""Which pictures are meant: by ids, paths, filters and albums."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.ranking.session import Session
from lookalike.collection.search import albums
from lookalike.collection.search.albums import Album
from lookalike.collection.store import browsing, pictures
from lookalike.collection.store.albums import AlbumRow
from lookalike.collection.store.filter import Filter
from lookalike.core.checks import is_whole
from lookalike.core.errors import (
    InvalidInput,
    NotFound,
)

Named: TypeAlias = int | str | Path
"""A picture by its id, or by the path of its file."""

Selection: TypeAlias = Named | Iterable[Named] | Filter
"""A picture, several, or all that pass a filter."""


def named(session: Session, method: str, given: Selection) -> list[int]:
    """Return the ids of pictures, rising, or raise NotFound if one is not there."""
    database = session.database
    if isinstance(given, Filter):
        given.check()
        ids = matching(session, given)
        return [int(number) for number in (pictures.ids(database) if ids is None else ids)]
    some = _list(method, given)
    # One look at all ids rather than one at each, since there may be many.
    known = set(pictures.ids(database).tolist()) if len(some) > 1 else set()
    return sorted({int(one) if one in known else session.id_of(one) for one in some})  # type: ignore[arg-type]


def in_bin(session: Session, method: str, given: Iterable[Named] | None) -> list[int]:
    """Return the ids of pictures in the bin, by default all, or raise NotFound."""
    if given is None:
        return sorted(pictures.binned(session.database))
    ids = []
    for picture in _list(method, given):
        number = pictures.find_binned(session.database, picture)
        if number is None:
            raise NotFound(
                f"{session.path} has no picture {picture!s:.300} in the bin. See what is there: "
                f"lookalike bin, or Collection.bin."
            )
        ids.append(number)
    return sorted({*ids})


def matching(session: Session, where: Filter | None) -> NDArray[np.int64] | None:
    """Return the ids that pass a filter, rising, or None for all."""
    if where is None:
        return None
    where.check()
    if where.albums == (None, None):
        return session.answers.read(browsing.matching, where)
    ids = matching(session, replace(where, album=None, without_album=None))
    if ids is None:
        ids = pictures.ids(session.database)
    if where.album is not None:
        ids = np.intersect1d(ids, members(session, where.album))
    if where.without_album is not None:
        ids = np.setdiff1d(ids, members(session, where.without_album))
    return ids


def plain(session: Session, where: Filter | None) -> Filter | None:
    """Return a filter by albums as one by ids, and any other as it is."""
    if where is None or where.albums == (None, None):
        if where is not None:
            where.check()
        return where
    ids = matching(session, where)
    return Filter(pictures=() if ids is None else tuple(ids.tolist()))


def album(session: Session, row: AlbumRow) -> Album:
    """Return an album with what is in it now."""
    return session.answers.get(
        ("album", row.id), lambda: albums.load_album(session, row, partial(matching, session))
    )


def members(session: Session, name: str) -> NDArray[np.int64]:
    """Return the ids of the pictures in an album."""
    return np.array(album(session, albums.find(session, name)).members, np.int64)


def _list(method: str, given: Named | Iterable[Named]) -> list[Named]:
    """Return pictures as a list, or raise InvalidInput for one that is not in a list."""
    if isinstance(given, str | bytes | os.PathLike):
        raise InvalidInput(
            f"Collection.{method}: pictures must be a list; got {given!r}. Wrap it in a list."
        )
    return [given] if is_whole(given) else list(given)  # type: ignore[list-item,arg-type]

"""Look which files of pictures are missing; their pictures stay, with all that was said of them."""

import os
from collections.abc import Iterable
from pathlib import Path

from lookalike.collection.store import places
from lookalike.collection.store.database import Database


def look(database: Database, among: Iterable[str | Path] | None) -> int:
    """Note which files are missing and which are back; return how many pictures are newly missing.

    With ``among``, only files at or below these paths are looked for. A file is back if its size
    and time are those it had; another that lies in its place now is left to ``add``.
    """
    below = None if among is None else {Path(path) for path in among}
    lost: dict[int, int] = {}
    back, live = [], set()
    for place in places.places(database):
        if below is not None and below.isdisjoint((Path(place.path), *Path(place.path).parents)):
            continue
        if place.lost is None and not os.path.lexists(place.path):
            lost[place.id] = place.picture
        elif place.lost is None:
            live.add(place.path)
        elif place.path not in live and _facts(place.path) == place.facts:
            live.add(place.path)
            back.append(place.id)
    if lost or back:
        with database.transaction() as connection:
            places.set_lost(connection, lost, back)
    return places.count_missing(database, set(lost.values())) if lost else 0


def _facts(path: str) -> tuple[int, int] | None:
    try:
        facts = Path(path).stat()
    except (OSError, ValueError):
        return None
    return facts.st_size, facts.st_mtime_ns

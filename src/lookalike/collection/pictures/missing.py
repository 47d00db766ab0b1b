"""Look which files of pictures are missing; their pictures stay, with all that was said of them."""

import os
from collections.abc import Iterable
from pathlib import Path

from lookalike.collection.store.database import Database, now, numbers


def look(database: Database, among: Iterable[str | Path] | None) -> int:
    """Note which files are missing and which are back; return how many pictures are newly missing.

    With ``among``, only files at or below these paths are looked for. A file is back if its size
    and time are those it had; another that lies in its place now is left to ``add``.
    """
    asked = None if among is None else {Path(path) for path in among}
    lost: dict[int, int] = {}
    back, live = [], set()
    for number, picture, path, size, mtime_ns, since in database.rows(
        "SELECT id, picture, path, size, mtime_ns, lost FROM places "
        "ORDER BY lost IS NOT NULL, lost DESC"
    ):
        if asked is not None and asked.isdisjoint((Path(path), *Path(path).parents)):
            continue
        if since is None and not os.path.lexists(path):
            lost[number] = picture
        elif since is None:
            live.add(path)
        elif path not in live and _facts(path) == (size, mtime_ns):
            live.add(path)
            back.append(number)
    if lost or back:
        with database.transaction() as connection:
            connection.executemany(
                "UPDATE places SET lost = ? WHERE id = ? AND lost IS NULL",
                [(now(), number) for number in lost],
            )
            connection.executemany(
                "UPDATE places SET lost = NULL WHERE id = ?", [(number,) for number in back]
            )
    if not lost:
        return 0
    ((count,),) = database.rows(
        "SELECT COUNT(*) FROM pictures WHERE id IN (SELECT value FROM json_each(?)) "
        "AND id NOT IN (SELECT picture FROM places WHERE lost IS NULL)",
        numbers(set(lost.values())),
    )
    return int(count)


def _facts(path: str) -> tuple[int, int] | None:
    try:
        facts = Path(path).stat()
    except (OSError, ValueError):
        return None
    return facts.st_size, facts.st_mtime_ns

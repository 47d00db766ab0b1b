"""Look which files of pictures are missing; their pictures stay, with all that was said of them."""

import os
from collections.abc import Iterable
from pathlib import Path

from lookalike.collection.store.database import Database, now


def look(database: Database, among: Iterable[str | Path] | None) -> int:
    """Note the files that are missing and those that are back; return how many are newly missing.

    With ``among``, only files at or below these paths are looked for. A file is back if its size
    and time are those it had; another that lies in its place now is left to ``add``.
    """
    asked = None if among is None else {Path(path) for path in among}
    lost, back, live = [], [], set()
    for number, path, size, mtime_ns, since in database.rows(
        "SELECT id, path, size, mtime_ns, lost FROM places ORDER BY lost IS NOT NULL, lost DESC"
    ):
        if asked is not None and asked.isdisjoint((Path(path), *Path(path).parents)):
            continue
        if since is None and not os.path.lexists(path):
            lost.append(number)
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
    return len(lost)


def _facts(path: str) -> tuple[int, int] | None:
    try:
        facts = Path(path).stat()
    except (OSError, ValueError):
        return None
    return facts.st_size, facts.st_mtime_ns

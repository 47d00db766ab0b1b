"""Check all of a collection: what is damaged or missing comes out, with what to do about it."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lookalike.collection.log import log
from lookalike.collection.ranking.session import Session
from lookalike.collection.store import integrity, models, pictures, places, rankers, uploads
from lookalike.collection.store import log as log_rows
from lookalike.collection.store.schema import records_table
from lookalike.core.arrays import check_file
from lookalike.core.errors import DamagedFile, LookalikeError
from lookalike.core.progress import Progress
from lookalike.core.text import counted


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is damaged or missing in a collection.

    Attributes
    ----------
    where : str
        The file it was found in.
    problem, remedy : str
        What is wrong, and what to do.
    damage : bool
        Whether something was damaged or lost, rather than only out of reach.
    """

    where: str
    problem: str
    remedy: str
    damage: bool = True


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check of a collection found, and how much was checked."""

    findings: list[Finding]
    pictures: int
    events: int
    files: int

    @property
    def sound(self) -> bool:
        """Whether nothing is damaged."""
        return not any(finding.damage for finding in self.findings)


RESTORE = "Restore a backup: lookalike restore BACKUP."

_ANEW = (
    "Restore a backup, or bring the pictures in again: lookalike remove, lookalike bin --empty, "
    "then lookalike index --removed with their files."
)

_ROWS = {
    "thumbnails": ("thumbnail", _ANEW),
    "all_pictures": ("picture", _ANEW),
    "places": ("path", _ANEW),
    "details": ("caption, camera or place", _ANEW),
    "texts": ("text in a picture", "Read it again: lookalike read --remove, then lookalike read."),
    "given": ("label", "Restore a backup, or import or say the labels of these pictures again."),
    "refusals": ("refused word", "Restore a backup, or refuse the words again."),
    "clicks": ("click", "Restore a backup, or learn again with --clicks."),
    "queries": ("kept query", "Search with the picture again."),
    "query_records": ("record of a kept query", "Search with the picture again."),
}


def check(session: Session, progress: Progress) -> Checked:
    """Check the database, the log, every row and file, and look which files are missing."""
    steps = (_database, _log, _rows, _records, _files, _uploads, _missing)
    result: list[Finding] = []
    for number, step in enumerate(steps):
        progress(number, len(steps))
        try:
            result += step(session)
        except LookalikeError as error:
            result.append(Finding(str(session.folder.database), str(error), RESTORE))
    progress(len(steps), len(steps))
    database = session.database
    return Checked(
        result,
        pictures=_count(lambda: database.count("all_pictures")),
        events=_count(lambda: log_rows.last_number(database)),
        files=sum(file.exists() for file in session.rankers.parts.files()),
    )


def _count(count: Callable[[], int]) -> int:
    try:
        return count()
    except LookalikeError:
        return 0


def _database(session: Session) -> Iterator[Finding]:
    where = str(session.folder.database)
    for problem in integrity.structure_problems(session.database, 20):
        yield Finding(where, f"the database is damaged: {problem}", RESTORE)
    if lost := integrity.count_orphans(session.database):
        text = f"rows that belong to pictures that are not there: {lost:,}"
        yield Finding(where, text, RESTORE)


def _log(session: Session) -> Iterator[Finding]:
    try:
        log.check(session.database)
    except DamagedFile as error:
        yield Finding(str(session.folder.database), str(error), RESTORE)
        return
    for file in session.database.damaged_ends():
        yield Finding(
            str(file),
            "the end of the log cannot be read in one of its two files",
            "Written again from the other one with the next event.",
        )


def _rows(session: Session) -> Iterator[Finding]:
    for table, (what, remedy) in _ROWS.items():
        if damaged := integrity.damaged_rows(session.database, table):
            yield _damaged(session, what, damaged, remedy)
    if lost := pictures.without_thumbnail(session.database):
        yield Finding(str(session.folder.database), f"no thumbnail of {_named(lost)}", _ANEW)


def _records(session: Session) -> Iterator[Finding]:
    for row in session.rankers.rows():
        if damaged := integrity.damaged_rows(session.database, records_table(row.id)):
            yield _damaged(session, f"record of the ranker {row.name}", damaged, _ANEW)
        if row.ready and row.fingerprint is not None:
            there = rankers.record_ids(session.database, row.id)
            wanted = rankers.described_ids(session.database, row.id)
            if lost := np.setdiff1d(wanted, there).tolist():
                what = f"no record of {_named(lost)} for the ranker {row.name}"
                yield Finding(str(session.folder.database), what, _ANEW)


def _files(session: Session) -> Iterator[Finding]:
    folder = session.folder
    used = [
        folder.model(number)
        for row in session.rankers.rows()
        for number in models.in_use(session.database, row.id).values()
    ]
    for file in session.rankers.parts.files():
        cache = file.parent.name == "cache"
        if cache and not file.exists():
            continue
        try:
            check_file(file)
        except DamagedFile as error:
            remedy, damage = RESTORE, True
            if cache:
                remedy = "Delete the file: it is made again from the database."
            elif file.parent == folder.model(0).parent and file not in used:
                damage = False
                remedy = (
                    "No search uses it; only lookalike rollback would, and cannot. It is deleted "
                    "when something is learned the next time."
                )
            elif file in used:
                remedy = (
                    "Go back to the model before (lookalike rollback), learn again, or restore a "
                    "backup. Until then, search with --no-learning."
                )
            yield Finding(str(file), str(error), remedy, damage)


def _uploads(session: Session) -> Iterator[Finding]:
    folder = session.folder.uploads
    moved = uploads.moved(session.folder, session.database)
    strays = set(uploads.strays(session.folder, session.database))
    left = sorted(strays - {it.file for it in moved})
    if moved:
        yield Finding(
            os.fspath(moved[0].file),
            f"{counted(len(moved), 'uploaded file')} in another place than noted, as after the "
            f"collection was moved or copied",
            "Found again by the next command that writes, or when the collection is served.",
            damage=False,
        )
    if left:
        yield Finding(
            os.fspath(left[0]),
            f"{counted(len(left), 'uploaded file')} without a picture",
            "Deleted by the next command that writes, once an hour old.",
            damage=False,
        )
    paths = {Path(place.path) for place in places.places(session.database)}
    paths -= {it.before for it in moved}
    lost = sorted(path for path in paths if path.parent == folder and not path.exists())
    if lost:
        missing = f"{counted(len(lost), 'uploaded file')} missing"
        yield Finding(os.fspath(lost[0]), missing, RESTORE)


def _missing(session: Session) -> Iterator[Finding]:
    paths = [place.path for place in places.places(session.database) if place.lost is None]
    own = session.folder.uploads
    lost = [p for p in paths if not os.path.exists(p) and Path(p).parent != own]  # noqa: PTH110
    if lost:
        yield Finding(
            lost[0],
            f"{len(lost):,} picture files are not where they were",
            "Connect the drive they lie on, or let lookalike index find where they are now; "
            "“lookalike missing” lists them.",
            damage=False,
        )


def _damaged(session: Session, what: str, damaged: list[object], remedy: str) -> Finding:
    problem = f"{len(damaged):,} damaged: {what} of {_named(damaged)}"
    return Finding(str(session.folder.database), problem, remedy)


def _named(numbers: list[int] | list[object]) -> str:
    first = ", ".join(f"{number!s:.40}" for number in numbers[:10])
    return first if len(numbers) <= 10 else f"{first} and {len(numbers) - 10:,} more"

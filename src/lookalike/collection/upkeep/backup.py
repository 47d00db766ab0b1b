"""Back up a collection while others use it, and put a backup in its place."""

import ctypes
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from lookalike.collection.log import log
from lookalike.collection.ranking.session import Session
from lookalike.collection.store import integrity, models, places, rankers, uploads
from lookalike.collection.store import log as log_rows
from lookalike.collection.store.database import Database, now
from lookalike.collection.store.folder import UPLOADS, Folder, unfinished
from lookalike.core.arrays import check_file, write_whole
from lookalike.core.errors import CollectionError, DamagedFile
from lookalike.core.progress import Progress


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A backup that was written and verified; ``damaged`` rows are as the collection has them."""

    path: Path
    pictures: int
    events: int
    files: int
    bytes: int
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Restored:
    """A backup that took the place of a collection; ``aside`` is where that one is kept now."""

    path: Path
    aside: Path | None
    pictures: int
    events: int
    made: str


FORMAT = 1
MANIFEST = "backup.json"

_STAYS = ("keys.json",)
"""Files of a place that no backup has: the keys of people, let in or locked out as before."""

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux

_BLOCK = 1 << 20
_ATTEMPTS = 5


def is_backup(path: Path) -> bool:
    """Return whether a folder is a backup."""
    return (path / MANIFEST).is_file()


def back_up(session: Session, to: Path, progress: Progress) -> BackedUp:
    """Write all that a collection holds into a new folder, and read it back.

    Others may search, vote and write meanwhile: the backup is of one moment. The place takes it
    whole, when all is written and verified.
    """
    if os.path.lexists(to):
        raise CollectionError(f"{to} already exists. Name a folder that does not exist yet.")
    if Path(os.path.realpath(to)).is_relative_to(os.path.realpath(session.path)):
        raise CollectionError(
            f"{to} is inside the collection itself. Name a folder outside it, best on another disk."
        )
    if not session.database.read_only and uploads.moved(session.folder, session.database):
        with session.writing():  # which notes where they are
            pass
    with unfinished(to) as beside:
        for attempt in range(_ATTEMPTS):
            integrity.copy(session.database, beside / session.folder.database.name)
            try:
                _copy_files(session.folder, beside, progress)
                break
            except FileNotFoundError:
                # Another model was put in place meanwhile, and the one named before deleted.
                if attempt == _ATTEMPTS - 1:
                    raise
        pictures, last, damaged = _verify(beside)
        files = {name: _facts(beside / name) for name in _names(beside)}
        content = {
            "format": FORMAT,
            "made": now(),
            "pictures": pictures,
            "events": last,
            "uploads": os.fsencode(session.folder.uploads).hex(),
            "files": files,
        }
        write_whole(beside / MANIFEST, json.dumps(content, indent=1).encode())
    size = sum(int(facts["bytes"]) for facts in files.values())
    return BackedUp(to, pictures, last, len(files), size, damaged)


def restore_backup(source: str | Path, path: str | Path, *, replace: bool = False) -> Restored:
    """Put a backup in the place of a collection, or where there is none.

    The backup is verified before anything is replaced. The collection that was there is kept
    beside it, as ``NAME.before-TIME``, unless ``replace`` asks to delete it.

    Parameters
    ----------
    source : str or Path
        The folder that ``Collection.backup`` wrote.
    path : str or Path
        The folder of the collection.
    replace : bool
        Whether to delete the collection that is there, once the backup has taken its place.

    Raises
    ------
    DamagedFile
        If the backup is damaged; then nothing was changed.
    CollectionBusy
        If a server or a writer uses the collection.
    """
    backup, place = Path(source), Path(path)
    content = _read_manifest(backup)
    aside = None
    taken = os.path.lexists(place) and not (place.is_dir() and not any(place.iterdir()))
    if taken and not (place / "manifest.json").exists():
        raise CollectionError(f"{place} is not a collection. Name one, or a new folder.")
    with unfinished(place) as beside:
        for name, facts in content["files"].items():
            target = beside / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if _copied(backup / name, target) != facts:
                raise DamagedFile(
                    f"{backup / name} is damaged: it is not as it was backed up. Nothing was "
                    f"changed; use another backup."
                )
        _move_uploads(beside, Path(os.fsdecode(bytes.fromhex(content["uploads"]))), place)
        pictures, last, _ = _verify(beside)
        for file in (place / name for name in _STAYS):
            if file.is_file():
                shutil.copy2(file, beside)
        if taken:
            with Folder(place).alone():
                aside = _free_name(place.absolute())
                _put_aside(place, beside, aside)
    if replace and aside is not None:
        shutil.rmtree(aside)
        aside = None
    return Restored(place, aside, pictures, last, str(content["made"]))


def _free_name(place: Path) -> Path:
    """Return where the collection of a place is kept from now on."""
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    names = (f"{place.name}.before-{time}{'' if n == 0 else f'-{n}'}" for n in count())
    return next(place.with_name(name) for name in names if not (place.parent / name).exists())


def _put_aside(place: Path, new: Path, aside: Path) -> None:
    """Let a new folder take a place, in one step where the system can, and keep the old one."""
    # The old one must never be under the name of an unfinished one, which anybody may remove.
    new.rename(aside)
    if not _exchanged(place, aside):
        aside.rename(new)
        place.rename(aside)


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders change places; return whether that was possible."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    names = (_HERE, os.fsencode(one.absolute()), _HERE, os.fsencode(other.absolute()))
    return rename is not None and rename(*names, _EXCHANGE) == 0


def _copy_files(folder: Folder, to: Path, progress: Progress) -> None:
    """Copy the files that the copied database names, each verified by reading it back."""
    copy = to / folder.database.name
    with closing(Database(copy, read_only=True)) as database:
        rows, numbers = rankers.rankers(database), models.model_files(database)
        paths = [Path(place.path) for place in places.places(database)]
    names = [folder.path / "manifest.json", *map(folder.model, numbers)]
    optional = []
    for row in rows:
        names += [folder.path / row.file] if row.file else []
        names += [folder.reduction(row.reduction)] if row.reduction else []
        optional += [folder.cache(row.space)] if row.space else []
        optional += [folder.classes(row.fingerprint)] if row.fingerprint else []
    own = [path for path in paths if path.parent == folder.uploads]
    optional += own
    files = [*names, *(file for file in optional if file.exists())]
    for number, file in enumerate(files):
        progress(number, len(files))
        within = Path(UPLOADS) / file.name if file in own else file.relative_to(folder.path)
        target = to / within
        target.parent.mkdir(parents=True, exist_ok=True)
        if _copied(file, target) != _facts(target):
            raise DamagedFile(f"{target} was not written as {file} is. Check the disk.")
    progress(len(files), len(files))


def _verify(copy: Path) -> tuple[int, int, int]:
    """Return how many pictures, events and damaged rows a copy has, or raise DamagedFile.

    Rows are damaged where those of the collection are; all else is still worth keeping.
    """
    folder = Folder(copy)
    folder.check_manifest()
    for file in copy.rglob("*.safetensors"):
        if file.parent.name != UPLOADS:
            check_file(file)
    with closing(Database(folder.database)) as database:
        if problems := integrity.structure_problems(database, 1):
            raise DamagedFile(f"{folder.database} is damaged: {problems[0]}.")
        log.check(database)
        damaged = integrity.count_damaged(database)
        result = database.count("pictures"), log_rows.last_number(database), damaged
    for name in ("-wal", "-shm"):
        folder.database.with_name(folder.database.name + name).unlink(missing_ok=True)
    return result


def _move_uploads(copy: Path, before: Path, place: Path) -> None:
    """Let uploaded files lie where the collection will be."""
    after = Folder(place).uploads
    if before == after:
        return
    folder = Folder(copy)
    with (
        closing(Database(folder.database)) as database,
        database.transaction() as connection,
    ):
        places.move_below(connection, before, after)


def _read_manifest(backup: Path) -> dict[str, Any]:
    try:
        content = json.loads((backup / MANIFEST).read_bytes())
        names = [Path(name) for name in content["files"]]
        whole = content["format"] <= FORMAT and isinstance(content["uploads"], str)
        inside = all(not name.is_absolute() and ".." not in name.parts for name in names)
    except FileNotFoundError as error:
        raise CollectionError(
            f"{backup} is not a backup. Make one: lookalike backup TO."
        ) from error
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedFile(f"{backup / MANIFEST} is damaged: {error}.") from error
    if not whole or not inside:
        raise DamagedFile(f"{backup / MANIFEST} is damaged, or of a newer version.")
    return dict(content)


def _names(folder: Path) -> list[str]:
    return sorted(
        file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()
    )


def _facts(file: Path) -> Mapping[str, Any]:
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256")
    return {"bytes": file.stat().st_size, "sha256": digest.hexdigest()}


def _copied(file: Path, target: Path) -> Mapping[str, Any]:
    """Copy a file to the disk, and return the facts of what was read."""
    digest, size = hashlib.sha256(), 0
    with file.open("rb") as source, target.open("wb") as out:
        while block := source.read(_BLOCK):
            digest.update(block)
            size += len(block)
            out.write(block)
        out.flush()
        os.fsync(out.fileno())
    return {"bytes": size, "sha256": digest.hexdigest()}

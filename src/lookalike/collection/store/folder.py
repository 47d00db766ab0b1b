"""The folder of a collection: its files, its manifest, and the lock of the one who writes."""

import fcntl
import json
import os
import re
import secrets
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lookalike.core.arrays import write_whole
from lookalike.core.errors import CollectionBusy, CollectionError, DamagedFile

FORMAT = 2

UPLOADS = "uploads"
"""The folder of a collection that holds files of its own."""

_OURS = re.compile(
    r"(features/[0-9]+|reduction-[0-9a-f]{32}|models/[0-9]+|cache/[a-z]+-[0-9a-f]{32})"
    r"\.safetensors$"
)
_UNFINISHED = re.compile(r"(^|/)\.[^/]+\.[0-9a-f]{16}$")
_LEFT = re.compile(r"\.unfinished-[0-9a-f]{16}$")
_MANIFEST = "manifest.json"


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """Return a new folder beside a place, which takes that when all is written.

    What a killed process left beside the place is removed first.
    """
    place = path.absolute()
    beside = place.with_name(f".{place.name}.unfinished-{secrets.token_hex(8)}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        sweep(place.parent)
        beside.mkdir()
        with _locked(beside):
            yield beside
            if beside.exists():
                beside.replace(path)
    except (OSError, sqlite3.OperationalError) as error:
        raise CollectionError(
            f"cannot write {path}: {error}. Nothing was changed; free some space, or name a "
            f"folder where you may write."
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Remove what killed processes left unfinished in a folder; leave alone who still works."""
    for left in folder.glob(".*.unfinished-*"):
        if _LEFT.search(left.name) and left.is_dir() and not left.is_symlink():
            with suppress(OSError), _locked(left) as nobody_works:
                if nobody_works:
                    shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder; return whether that was possible."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        held = True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # held by another, or of a file system without locks
            held = False
        yield held
    finally:
        os.close(handle)


class Folder:
    """Where the files of a collection lie.

    What is current is named by rows of the database; the files named are written and flushed
    before those rows are committed. A file nobody names is what a killed writer left behind.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "collection.sqlite"
        self._manifest = path / _MANIFEST

    @property
    def uploads(self) -> Path:
        """The folder of files that are the collection's own, as paths are stored."""
        # Without "..", which Path.absolute keeps.
        return Path(os.path.abspath(self.path)) / UPLOADS  # noqa: PTH100

    def feature(self, ranker: int) -> Path:
        """Return the file of a ranker's feature."""
        return self.path / "features" / f"{ranker}.safetensors"

    def reduction(self, fingerprint: str) -> Path:
        """Return the file of a reduction."""
        return self.path / f"reduction-{fingerprint}.safetensors"

    def model(self, number: int) -> Path:
        """Return the file of a learned model."""
        return self.path / "models" / f"{number}.safetensors"

    def cache(self, fingerprint: str) -> Path:
        """Return the file with the vectors ready to be searched."""
        return self.path / "cache" / f"vectors-{fingerprint}.safetensors"

    def codes(self, fingerprint: str) -> Path:
        """Return the file with the codes of pictures."""
        return self.path / "cache" / f"codes-{fingerprint}.safetensors"

    def classes(self, fingerprint: str) -> Path:
        """Return the file with the likeliest classes of pictures, for start words."""
        return self.path / "cache" / f"classes-{fingerprint}.safetensors"

    @classmethod
    @contextmanager
    def making(cls, path: Path) -> Iterator["Folder"]:
        """Return a folder beside the place, which takes it whole when all is written."""
        if os.path.lexists(path) and not (path.is_dir() and not any(path.iterdir())):
            what = "is already a collection" if (path / _MANIFEST).exists() else "already exists"
            raise CollectionError(f"{path} {what}. Open it, or name a new or empty folder.")
        with unfinished(path) as beside:
            yield cls(beside)

    def write_manifest(self) -> None:
        """Write what the folder is; only with this file is it a collection."""
        write_whole(self._manifest, json.dumps({"format": FORMAT}, indent=2).encode())

    def check_manifest(self) -> None:
        """Raise an error if this is not the folder of a collection that can be read.

        Raises
        ------
        CollectionError
            If the folder is no collection.
        DamagedFile
            If the manifest is damaged or of a newer format.
        """
        try:
            version = json.loads(self._manifest.read_bytes())["format"]
        except (FileNotFoundError, NotADirectoryError) as error:
            raise CollectionError(
                f"There is no collection here ({self.path}). Make one: lookalike index FOLDER, "
                f"or name one with -c."
            ) from error
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            raise DamagedFile(f"{self._manifest} is damaged: {error}.") from error
        if not isinstance(version, int) or version > FORMAT:
            raise DamagedFile(
                f"{self.path} has the format {version!r}; this lookalike reads up to {FORMAT}. "
                f"Update lookalike."
            )

    def clean(self, named: Iterable[Path]) -> None:
        """Remove files of ours that nobody names; the lock must be held."""
        sweep(self.path.absolute().parent)
        kept = set(named)
        folders = ("*", "features/*", "models/*", "cache/*")
        for file in (file for folder in folders for file in self.path.glob(folder)):
            name = file.relative_to(self.path).as_posix()
            if _UNFINISHED.search(name) or (_OURS.match(name) and file not in kept):
                file.unlink(missing_ok=True)

    def not_written(self, error: OSError) -> CollectionError:
        """Return the error of a file that could not be written."""
        return CollectionError(
            f"cannot write to {self.path}: {error}. Finished work is kept; free some space and "
            f"try again."
        )

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Let nobody replace the collection; any number of servers may."""
        try:
            handle = os.open(self.path / "served", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError:  # where nothing can be written, nothing can be replaced
            yield
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)
            yield
        finally:
            os.close(handle)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only one who writes or serves, or raise CollectionBusy at once."""
        with self.writing(), (self.path / "served").open("a") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise CollectionBusy(
                    f"a server serves {self.path}. Stop it first; nothing was changed."
                ) from error
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock of the one who writes, or raise CollectionBusy at once."""
        try:
            handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise CollectionError(f"cannot write to {self.path}: {error}.") from error
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                pid = os.pread(handle, 20, 0).decode("ascii", "replace").strip() or "unknown"
                raise CollectionBusy(
                    f"process {pid} is writing to {self.path}. Wait until it is done, or stop it: "
                    f"what it has finished is kept."
                ) from error
            try:
                os.ftruncate(handle, 0)
                os.pwrite(handle, str(os.getpid()).encode(), 0)
            except OSError as error:
                raise self.not_written(error) from error
            yield
        finally:
            os.close(handle)

"""Find picture files among files, folders and globs."""

import glob
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lookalike.core.errors import InvalidInput

ENDINGS = frozenset(
    f".{name}"
    for name in (
        *("jpg", "jpeg", "jpe", "jfif", "mpo", "png", "apng", "webp", "avif"),
        *("gif", "bmp", "dib", "tif", "tiff", "heic", "heif", "hif"),
    )
)
"""The file extensions, in lower case, of pictures in a folder."""

OUTSIDE = (
    "it leads outside the folders of the collection. To include it, index the folder it leads to"
)


@dataclass(frozen=True, slots=True)
class Refused:
    """A path that could not be used, and the reason."""

    path: Path
    reason: str


@dataclass(slots=True)
class Files:
    """What :func:`find_pictures` found.

    Attributes
    ----------
    paths : list of Path
        The files to read, without duplicates, in the order of the sources and sorted within each.
    folders : list of Path
        The sources that are folders.
    ignored : int
        How many hidden files, hidden folders and files with other extensions were skipped,
        sidecars (``.xmp``) not among them.
    problems : list of Refused
        Sources that do not exist, globs without a match, folders that cannot be listed, links that
        are circular or lead outside.
    """

    paths: list[Path] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    ignored: int = 0
    problems: list[Refused] = field(default_factory=list)


def find_pictures(
    sources: Iterable[str | Path], within: Iterable[str | Path] | None = None
) -> Files:
    """Find the picture files among files, folders and globs.

    A file given by its path is always included. Folders are searched recursively, each once; in
    them, and among the matches of a glob, only files with the extension of a picture are included;
    other and hidden ones are counted. A link in a folder is followed only if it leads into one of
    the folders given, by default among the sources. A path that exists is used as it is, even if
    it contains brackets; in any other, a leading ``~`` is the home folder.

    Parameters
    ----------
    sources : iterable of str or Path
    within : iterable of str or Path, optional
        Folders that everything found must lie in, with links resolved, even what is named.

    Returns
    -------
    Found

    Examples
    --------
    >>> find_pictures(["no such folder"]).problems[0].reason
    'does not exist'
    """
    if isinstance(sources, str | bytes | os.PathLike):
        raise InvalidInput(
            f"find_pictures: sources must be a list of paths; got the single path {sources!r}. "
            "Put it in a list."
        )
    given = list(sources)
    search = _Search(given if within is None else within, strict=within is not None)
    for source in given:
        search.take(source)
    return search.found


def real_folders(folders: Iterable[str | Path]) -> tuple[str, ...]:
    """Return the paths of folders, with links resolved."""
    return tuple(os.path.realpath(folder) for folder in folders)


def is_inside(real: str, folders: Iterable[str]) -> bool:
    """Return whether a path lies in one of the folders, all with links resolved.

    Every way a picture comes in or is shown asks this.

    Examples
    --------
    >>> is_inside("/srv/photos/1.jpg", ["/srv/photos"]), is_inside("/srv/photos2", ["/srv/photos"])
    (True, False)
    """
    return any(real == top or real.startswith(top.rstrip("/") + "/") for top in folders)


class _Search:
    def __init__(self, within: Iterable[str | Path], *, strict: bool) -> None:
        self.found = Files()
        self.within = real_folders(path for path in within if str(path) and "\0" not in str(path))
        self.strict = strict
        self.files: set[str] = set()
        self.folders: set[tuple[int, int]] = set()

    def take(self, source: str | Path) -> None:
        name = source if isinstance(source, str) else str(Path(source))
        if not name:
            self.problem(Path(name), "does not exist: the path is empty")
            return
        if name.startswith("~") and not os.path.lexists(name):
            self.take_at_home(name)
        else:
            self.take_path(Path(name), name)

    def take_at_home(self, name: str) -> None:
        first, _, inside = name.partition("/")
        rest = inside.lstrip("/")
        try:
            home = os.path.expanduser(first)  # noqa: PTH111
        except ValueError as error:
            self.problem(Path(name), f"cannot read it: {why(error)}")
            return
        if home != first:
            pattern = os.path.join(glob.escape(home), rest)  # noqa: PTH118
            self.take_path(Path(home, rest), pattern if glob.has_magic(rest) else "")
        elif glob.has_magic(first) or os.path.lexists(first):
            self.take_path(Path(name), name)
        else:
            self.problem(Path(name), f"does not exist: {first} has no known home folder")

    def take_path(self, path: Path, pattern: str) -> None:
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            self.take_glob(path, pattern)
        except (OSError, ValueError) as error:
            self.problem(path, f"cannot read it: {why(error)}")
        else:
            real = os.path.realpath(path)
            if self.strict and not is_inside(real, self.within):
                self.problem(path, OUTSIDE)
            elif stat.S_ISDIR(mode):
                self.found.folders.append(path)
                self.add(self.walk(path, real))
            else:
                self.add([(path, real)])

    def take_glob(self, queries: Path, pattern: str) -> None:
        if not glob.has_magic(pattern):
            self.problem(queries, "does not exist")
            return
        matches = sorted(Path(match) for match in glob.iglob(pattern, recursive=True))  # noqa: PTH207
        if not matches:
            self.problem(queries, "no file matches this pattern")
        for path in matches:
            real = os.path.realpath(path)
            if self.strict and not is_inside(real, self.within):
                self.problem(path, OUTSIDE)
            elif path.is_dir():
                self.add(self.walk(path, real))
            elif _is_picture(path.name):
                self.add([(path, real)])
            elif real not in self.files and not _is_sidecar(path.name):
                self.found.ignored += 1

    def walk(self, top: Path, real_top: str) -> list[tuple[Path, str]]:
        """Return the pictures under a folder, each with its real path."""
        result: list[tuple[Path, str]] = []
        within = self.within if self.strict else [*self.within, real_top]
        folders, links = [top], list[Path]()
        while folders or links:
            # Links come last, so that a file is listed by its real path if that is included.
            folder = folders.pop() if folders else links.pop(0)
            try:
                facts = folder.stat()
                if (facts.st_dev, facts.st_ino) in self.folders:
                    continue
                self.folders.add((facts.st_dev, facts.st_ino))
                real = os.path.realpath(folder)
                with os.scandir(folder) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                self.problem(folder, f"cannot list it: {why(error)}")
                continue
            for entry in entries:
                path = folder / entry.name
                try:
                    is_folder = not entry.name.startswith(".") and entry.is_dir()
                    if entry.name.startswith(".") or not (is_folder or _is_picture(entry.name)):
                        self.found.ignored += not _is_sidecar(entry.name)
                        continue
                    own = os.path.join(real, entry.name)  # noqa: PTH118
                    if entry.is_symlink():
                        own = os.path.realpath(path)
                        if not is_inside(own, within):
                            self.problem(path, OUTSIDE)
                            continue
                    if is_folder:
                        (links if entry.is_symlink() else folders).append(path)
                    else:
                        result.append((path, own))
                except OSError as error:
                    self.problem(path, f"cannot read it: {why(error)}")
        return sorted(result, key=lambda pair: pair[0].parts)

    def add(self, files: list[tuple[Path, str]]) -> None:
        for path, real in files:
            if real not in self.files:
                self.files.add(real)
                self.found.paths.append(path)

    def problem(self, path: Path, reason: str) -> None:
        self.found.problems.append(Refused(path, reason))


def why(error: Exception) -> str:
    """Return the operating system's reason for an error, starting in lower case."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]


def _is_picture(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in ENDINGS  # noqa: PTH122


def _is_sidecar(name: str) -> bool:
    return name.lower().endswith(".xmp")

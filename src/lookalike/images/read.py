"""Read a picture's bytes from disk, within limits, and hash their content."""

import hashlib
import os
import stat
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

from lookalike.core.checks import check_whole
from lookalike.core.errors import UnreadablePicture
from lookalike.images.find import OUTSIDE, is_inside, why


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on a picture's size, and on where its file may lie.

    Parameters
    ----------
    max_bytes : int
        The largest file to read, by default 256 MiB.
    max_pixels : int
        The most pixels to decode, by default 128 million: at four bytes each, half a gigabyte.
    within : tuple of str, optional
        The folders, with links resolved, that a file must lie in; by default it may lie anywhere.

    Examples
    --------
    >>> Limits(max_pixels=10_000_000)
    Limits(max_bytes=268435456, max_pixels=10000000, within=None)
    """

    max_bytes: int = 256 << 20
    max_pixels: int = 128_000_000
    within: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_pixels"):
            check_whole("Limits", name, getattr(self, name), 1)

    def check_bytes(self, size: int) -> None:
        """Raise UnreadablePicture if a file is empty or too large."""
        if size == 0:
            raise UnreadablePicture("the file is empty")
        if size > self.max_bytes:
            raise UnreadablePicture(f"too large: {size:,} bytes; the limit is {self.max_bytes:,}")

    def check_place(self, path: str | Path, handle: int) -> None:
        """Raise UnreadablePicture if an open file lies outside the folders.

        The path may have been replaced by a link since it was looked at, so what was opened counts.
        """
        if self.within is None:
            return
        try:
            real = os.readlink(f"/proc/self/fd/{handle}")  # noqa: PTH115
        except OSError:
            real = os.path.realpath(path)
        if not is_inside(real, self.within):
            raise UnreadablePicture(OUTSIDE)

    def check_pixels(self, width: int, height: int) -> None:
        """Raise UnreadablePicture if a picture has no pixels or too many."""
        if width < 1 or height < 1:
            raise UnreadablePicture(f"empty: the picture is {width} × {height} pixels")
        if width * height > self.max_pixels:
            raise UnreadablePicture(
                f"too large: {width} × {height} pixels; the limit is {self.max_pixels:,}"
            )


def read_bytes(path: str | Path, limits: Limits | None = None) -> bytes:
    """Return the content of a regular file, after checking its size.

    Devices, pipes, sockets and folders are rejected without blocking.

    Raises
    ------
    UnreadablePicture
        With the reason; the message does not repeat the path.
    """
    try:
        file, size = open_file(path, limits)
        with file:
            data = file.read(size + 1)
    except OSError as error:
        raise UnreadablePicture(f"cannot read it: {why(error)}") from error
    if len(data) != size:
        raise UnreadablePicture("cannot read it: it changed while being read")
    return data


def open_file(path: str | Path, limits: Limits | None = None) -> tuple[BufferedReader, int]:
    """Open a regular file, after checking its size and place; return it with its size.

    Raises
    ------
    UnreadablePicture
        As :func:`read_bytes` does.
    """
    allowed = limits or Limits()
    try:
        # Opening a device may have side effects, so check before; check what was opened again,
        # since the path may have been replaced in between.
        _check_regular(os.stat(path).st_mode)  # noqa: PTH116
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise UnreadablePicture(f"cannot read it: {why(error)}") from error
    file = os.fdopen(handle, "rb")
    try:
        facts = os.fstat(handle)
        _check_regular(facts.st_mode)
        allowed.check_place(path, handle)
        allowed.check_bytes(facts.st_size)
    except BaseException:
        file.close()
        raise
    return file, facts.st_size


def content_hash(data: bytes) -> str:
    """Return the SHA-256 of a picture's bytes: its identity, whatever its path.

    Examples
    --------
    >>> content_hash(b"")[:12]
    'e3b0c44298fc'
    """
    return hashlib.sha256(data).hexdigest()


def _check_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise UnreadablePicture("not a file: it is a folder")
    if not stat.S_ISREG(mode):
        raise UnreadablePicture("not a file: it is a device, pipe or socket")

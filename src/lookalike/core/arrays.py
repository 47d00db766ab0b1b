"""Save and load arrays: one safetensors file whose header contains a JSON manifest.

A file is written under a temporary name and then renamed, so a reader sees either the complete old
file or the complete new one. Nothing is ever unpickled. A foreign or damaged file is rejected with
a clear message before anything large is allocated. The XXH3 of the whole file is in its header and
checked whenever all arrays are read.
"""

import json
import mmap
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64

from lookalike.core.errors import DamagedFile, InvalidInput

MAX_HEADER_BYTES = 1 << 20
MAX_ARRAYS = 256
MAX_DIMENSIONS = 8
NUMPY_TYPES = {
    "BOOL": "?",
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "F16": "<f2",
    "U32": "<u4",
    "I32": "<i4",
    "F32": "<f4",
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
}
DTYPES = tuple(NUMPY_TYPES)

MAX_EMPTY_BYTES = 64 << 20
"""How much longer than what the disk holds of it a file may be, besides as long again."""

_BLOCK = 1 << 20
"""Bytes that are read and summed up at once, while they are in a core's cache."""

_LINE = 64
"""Bytes of a line of the cache: loops over rows that begin with one are faster."""


def save_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], *, kind: str, manifest: Mapping[str, Any]
) -> None:
    """Write ``arrays`` and ``manifest`` to ``path``, all or nothing.

    Parameters
    ----------
    path : Path
        The file to write; an existing file is replaced atomically.
    arrays : mapping of str to ndarray
        The arrays to save.
    kind : str
        A name and the version of the file's layout, such as ``"oasis/1"``. :func:`load_arrays`
        expects the same.
    manifest : mapping
        Anything that JSON can represent: settings, fingerprints.
    """
    if len(arrays) > MAX_ARRAYS:
        raise InvalidInput(
            f"{path.name} may contain at most {MAX_ARRAYS} arrays; got {len(arrays)}. Merge some."
        )
    # Not sorted: the order of a mapping may tell which columns are whose.
    try:
        text = json.dumps({**manifest, "kind": kind}, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise InvalidInput(f"{path.name}: what was learned is not finite: {error}.") from error
    parts = [_plain(path, name, array) for name, array in arrays.items()]
    # The widest first, as the safetensors library does, so that all of them are aligned; of these
    # the largest, which begins at a multiple of _LINE if it can.
    parts.sort(key=lambda part: (-part[2].itemsize, -part[2].nbytes, part[0]))
    header: dict[str, Any] = {"__metadata__": {"xxh3": _UNKNOWN, "manifest": text}}
    end = largest = most = 0
    for name, dtype, array in parts:
        if array.nbytes > most:
            largest, most = end, array.nbytes
        offsets = [end, end := end + array.nbytes]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": offsets}
    opening = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    opening += b" " * (-len(opening) % 8)
    opening += b" " * (-(8 + len(opening) + largest) % _LINE // 8 * 8)
    if len(opening) > MAX_HEADER_BYTES:
        raise InvalidInput(
            f"the manifest of {path.name} needs a header of {len(opening)} bytes; "
            f"the limit is {MAX_HEADER_BYTES}. Store long lists as arrays."
        )
    opening = len(opening).to_bytes(8, "little") + opening
    blocks = [array.reshape(-1).view(np.uint8).data for _, _, array in parts if array.size]
    check = xxh3_64(opening)
    for block in blocks:
        check.update(block)
    # Quotes inside the manifest are escaped, so this is found where it was put.
    own = _written(check.hexdigest())
    write_whole(path, opening.replace(_written(_UNKNOWN), own, 1), *blocks)


def _plain(path: Path, name: str, array: NDArray[Any]) -> tuple[str, str, NDArray[Any]]:
    """Return an array with its name and the name of its type, as files have it."""
    little = np.require(array, array.dtype.newbyteorder("<"), "C")
    for dtype, kind in NUMPY_TYPES.items():
        if np.dtype(kind) == little.dtype:
            return name, dtype, little
    raise InvalidInput(f"{path.name}: the array {name} has the type {array.dtype}; use numbers.")


def load_arrays(
    path: Path,
    *,
    kind: str,
    names: Collection[str] | None = None,
    sums: str | None = None,
    beyond: int = 0,
) -> tuple["Loaded", dict[str, Any]]:
    """Load all arrays that :func:`save_arrays` wrote, or those in ``names``.

    Raise DamagedFile if the file is missing, damaged or of another kind. The checksum of a file of
    more than ``beyond`` bytes is not checked if it has an array called ``sums``, by which the
    caller checks what it reads: the arrays are then not ``checked``.

    Returns
    -------
    arrays : dict of str to ndarray
    manifest : dict
    """
    with _opened(path) as file:
        manifest = file.manifest(kind)
        if names is not None:
            return Loaded({name: file.array(name) for name in names}, checked=False), manifest
        checked = sums not in file.entries or file.size <= beyond
        return Loaded(file.arrays(file.read(checked)), checked), manifest


def map_arrays(
    path: Path, *, kind: str, mapping: mmap.mmap | None = None, sums: str | None = None
) -> tuple["Loaded", dict[str, Any]]:
    """Return what :func:`load_arrays` does, read-only and mapped from the file, not copied.

    All of the file is read once, for its checksum; not if it has an array called ``sums``, by which
    the caller checks what it reads. Replacing the file by :func:`save_arrays` leaves mapped arrays
    as they are. ``mapping`` is that of :func:`map_file`, where the caller needs it.
    """
    with _opened(path) as file:
        manifest = file.manifest(kind)
        content = np.frombuffer(map_file(path) if mapping is None else mapping, np.uint8)
        if checked := sums not in file.entries:
            file.check(content)
        return Loaded(file.arrays(content), checked), manifest


def check_file(path: Path) -> None:
    """Read a file that :func:`save_arrays` wrote, and raise DamagedFile if it is not as written."""
    with _opened(path) as file:
        file.manifest(None)
        file.check_read()


class Loaded(dict[str, NDArray[Any]]):
    """The arrays of a file by name, which knows those that nobody has asked for.

    They are ``checked`` if the checksum of the whole file was.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], checked: bool) -> None:
        super().__init__(arrays)
        self.checked = checked
        self._asked: set[str] = set()

    def __getitem__(self, name: str) -> NDArray[Any]:
        self._asked.add(name)
        return super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        self._asked.update(super().keys())
        return super().__iter__()

    def get(self, name: str, default: Any = None) -> Any:
        """Return an array, or the default."""
        self._asked.add(name)
        return super().get(name, default)

    def pop(self, name: str, *default: Any) -> Any:
        """Take an array out."""
        self._asked.add(name)
        return super().pop(name, *default)

    def items(self) -> Any:
        """Return all names and arrays."""
        self._asked.update(super().keys())
        return super().items()

    def check_all_used(self) -> None:
        """Raise ValueError for an array that does not belong in the file."""
        if unknown := sorted(super().keys() - self._asked):
            raise ValueError(f"the array {unknown[0]!r:.80} does not belong in it")


def open_regular(path: Path) -> BinaryIO:
    """Open a file to be read; raise DamagedFile, without blocking, if it is a pipe or the like."""
    # Opening a device may have side effects, so check before; check what was opened again, since
    # the path may have been replaced in between.
    _check_regular(path, path.stat().st_mode)
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    try:
        _check_regular(path, os.fstat(file.fileno()).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def _check_regular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        what = "folder" if stat.S_ISDIR(mode) else "device, pipe or socket"
        raise DamagedFile(f"{path} is not a lookalike file: it is a {what}.")


def map_file(path: Path) -> mmap.mmap:
    """Map a file to be read, or raise DamagedFile."""
    try:
        with open_regular(path) as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as error:
        raise DamagedFile(f"{path} does not exist.") from error
    except (OSError, ValueError) as error:
        raise DamagedFile(f"{path} cannot be read: {error}.") from error


def write_whole(path: Path, *content: bytes | memoryview) -> None:
    """Write a file atomically: a crash leaves either the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            for part in content:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def stored_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a file with its kind, or raise DamagedFile; read only its header."""
    with _opened(path) as file:
        return file.manifest(None)


class _File:
    """An open file whose header is sound, and fits the size of the file."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._file = file
        facts = os.fstat(file.fileno())
        self.size = facts.st_size
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length <= MAX_HEADER_BYTES:
            raise self.damaged(f"not a safetensors file: its header is {length} bytes")
        self.begin = 8 + length
        try:
            self._opening = length.to_bytes(8, "little") + file.read(length)
            header = json.loads(self._opening[8:])
        except ValueError as error:
            raise self.damaged("not a safetensors file") from error
        if not isinstance(header, dict):
            raise self.damaged("not a safetensors file: its header is no object")
        if len(header) > MAX_ARRAYS + 1:
            raise DamagedFile(f"{path} claims {len(header)} arrays; the limit is {MAX_ARRAYS}.")
        self.header: dict[str, Any] = header
        self.entries = {name: it for name, it in header.items() if name != "__metadata__"}
        if not _fit(list(self.entries.values()), self.size - self.begin):
            raise DamagedFile(
                f"{path} is damaged: its size of {self.size} bytes does not match its header."
            )
        on_disk = 512 * getattr(facts, "st_blocks", self.size)
        if self.size > 2 * on_disk + MAX_EMPTY_BYTES:
            raise DamagedFile(
                f"{path} is damaged: of its {self.size} bytes only {on_disk} are on the disk."
            )

    def damaged(self, why: str) -> DamagedFile:
        return DamagedFile(f"{self.path} is damaged or {why}.")

    def manifest(self, kind: str | None) -> dict[str, Any]:
        """Return the manifest; of a given kind, or of any with its kind inside."""
        try:
            metadata = self.header["__metadata__"]
            manifest: dict[str, Any] = json.loads(metadata["manifest"], parse_constant=_refuse)
            json.dumps(manifest, ensure_ascii=False).encode()  # not with half a character in it
            result = manifest["kind"]
            is_known = metadata.keys() == {"manifest", "xxh3"}
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise DamagedFile(
                f"{self.path} has no manifest; it was not written by lookalike."
            ) from error
        if not isinstance(result, str) or not is_known:
            raise DamagedFile(f"{self.path} has no kind; it was not written by lookalike.")
        if kind is None:
            return manifest
        if result != kind:
            raise DamagedFile(f"{self.path} contains {result!r}; expected {kind!r}.")
        return {name: it for name, it in manifest.items() if name != "kind"}

    def read(self, checked: bool) -> NDArray[np.uint8]:
        """Return the bytes of the whole file; ``checked``, as they were written."""
        try:
            content = _aligned(self.size)
        except MemoryError as error:
            raise DamagedFile(
                f"{self.path} cannot be read: it takes {self.size} bytes of memory, which are not "
                f"available."
            ) from error
        content[: self.begin] = np.frombuffer(self._opening, np.uint8)
        self._file.seek(self.begin)
        with self._checked() if checked else nullcontext(_ignore) as check:
            for first in range(self.begin, self.size, _BLOCK):
                block = content[first : first + _BLOCK]
                if self._file.readinto(block) != len(block):  # type: ignore[attr-defined]
                    raise self.damaged("changes while it is read")
                check(block.data)
        return content

    def check(self, content: NDArray[np.uint8]) -> None:
        """Raise DamagedFile if the checksum of the content is another than the header has."""
        with self._checked() as check:
            check(content[self.begin :].data)

    def check_read(self) -> None:
        """Do the same, a block at a time: a file that is cut meanwhile is an error."""
        self._file.seek(self.begin)
        with self._checked() as check:
            while block := self._file.read(1 << 20):
                check(memoryview(block))

    @contextmanager
    def _checked(self) -> Iterator[Callable[[memoryview], object]]:
        """Return what takes all that follows the header; raise DamagedFile if the sum differs."""
        digits = self.header["__metadata__"]["xxh3"]
        check = xxh3_64(self._opening.replace(_written(digits), _written(_UNKNOWN), 1))
        yield check.update
        if digits != check.hexdigest():
            raise DamagedFile(
                f"{self.path} is damaged: it is not as it was written (its checksum differs)."
            )

    def arrays(self, content: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
        """Return all arrays in the content of the file, which they share."""
        data = content[self.begin :]
        return {
            name: _array(data[slice(*entry["data_offsets"])], entry)
            for name, entry in self.entries.items()
        }

    def array(self, name: str) -> NDArray[Any]:
        """Read one array alone; without the others its checksum says nothing."""
        if name not in self.entries:
            raise DamagedFile(f"{self.path} is damaged: it has no array {name!r:.80}.")
        entry = self.entries[name]
        first, last = entry["data_offsets"]
        self._file.seek(self.begin + first)
        return _array(np.fromfile(self._file, np.uint8, last - first), entry)


@contextmanager
def _opened(path: Path) -> Iterator[_File]:
    try:
        with open_regular(path) as file:
            yield _File(path, file)
    except FileNotFoundError as error:
        raise DamagedFile(f"{path} does not exist.") from error
    except OSError as error:
        raise DamagedFile(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise DamagedFile(f"{path} is damaged or not a lookalike file.") from error


def _aligned(size: int) -> NDArray[np.uint8]:
    """Return so many bytes of memory that begin at a multiple of _LINE."""
    room = np.empty(size + _LINE, np.uint8)
    first = -room.ctypes.data % _LINE
    return room[first : first + size]


def _array(data: NDArray[np.uint8], entry: dict[str, Any]) -> NDArray[Any]:
    kind = np.dtype(NUMPY_TYPES[entry["dtype"]])
    aligned = data if data.ctypes.data % kind.itemsize == 0 else data.copy()
    return aligned.view(kind).reshape(entry["shape"])


def _fit(entries: list[Any], size: int) -> bool:
    """Return whether arrays lie in so many bytes one after the other, without gaps."""
    if not all(map(_is_entry, entries)):
        return False
    end = 0
    for entry in sorted(entries, key=lambda it: it["data_offsets"]):
        first, last = entry["data_offsets"]
        count = prod(entry["shape"])
        if first != end or last - first != count * np.dtype(NUMPY_TYPES[entry["dtype"]]).itemsize:
            return False
        end = last
    return end == size


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and entry.keys() == {"dtype", "shape", "data_offsets"}
        and isinstance(entry["dtype"], str)
        and entry["dtype"] in DTYPES
        and all(
            isinstance(some, list) and all(type(one) is int and 0 <= one < 2**62 for one in some)
            for some in (entry["shape"], entry["data_offsets"])
        )
        and len(entry["shape"]) <= MAX_DIMENSIONS
        and len(entry["data_offsets"]) == 2
    )


_UNKNOWN = "0" * 16
"""What stands for a checksum while it is made."""


def _written(digits: str) -> bytes:
    return f'"xxh3":"{digits}"'.encode()


def _ignore(_: memoryview) -> None:
    """Stand for a checksum where there is none."""


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")

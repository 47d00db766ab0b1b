"""Save and load arrays: one safetensors file whose header contains a JSON manifest.

A file is written under a temporary name and then renamed, so a reader sees either the complete old
file or the complete new one. Nothing is ever unpickled. A foreign or damaged file is rejected with
a clear message before anything large is allocated.
"""

import json
import mmap
import os
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import DamagedFile, InvalidInput

MAX_HEADER_BYTES = 1 << 20
MAX_ARRAYS = 256
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
    from safetensors.numpy import save

    if len(arrays) > MAX_ARRAYS:
        raise InvalidInput(
            f"{path.name} may contain at most {MAX_ARRAYS} arrays; got {len(arrays)}. Merge some."
        )
    # Not sorted: the order of a mapping may tell which columns are whose.
    header = json.dumps({**manifest, "kind": kind}, ensure_ascii=False)
    contiguous = {name: np.require(array, requirements="C") for name, array in arrays.items()}
    content = save(contiguous, metadata={"manifest": header})
    header_bytes = int.from_bytes(content[:8], "little")
    if header_bytes > MAX_HEADER_BYTES:
        raise InvalidInput(
            f"the manifest of {path.name} needs a header of {header_bytes} bytes; "
            f"the limit is {MAX_HEADER_BYTES}. Store long lists as arrays."
        )
    write_whole(path, content)


def load_arrays(
    path: Path, *, kind: str, names: Collection[str] | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Load all arrays that :func:`save_arrays` wrote, or those in ``names``.

    Raise DamagedFile if the file is missing, damaged or of another kind.

    Returns
    -------
    arrays : dict of str to ndarray
    manifest : dict
    """
    from safetensors import SafetensorError, safe_open

    manifest = stored_manifest(path)
    try:
        with safe_open(path, framework="numpy") as file:
            wanted = file.keys() if names is None else names
            arrays = {name: file.get_tensor(name) for name in wanted}
    except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:
        raise DamagedFile(f"{path} is damaged or not a lookalike file: {error}") from error
    found = manifest.pop("kind")
    if found != kind:
        raise DamagedFile(f"{path} contains {found!r}; expected {kind!r}.")
    return arrays, manifest


def map_arrays(
    path: Path, *, kind: str, mapping: mmap.mmap | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return read-only arrays that :func:`save_arrays` wrote, mapped from the file, not read.

    Raise DamagedFile if the file is missing, damaged or of another kind. Replacing the file by
    :func:`save_arrays` leaves mapped arrays as they are. ``mapping`` is that of :func:`map_file`,
    where the caller needs it.

    Returns
    -------
    arrays : dict of str to ndarray
    manifest : dict
    """
    header, manifest = _checked_header(path), stored_manifest(path)
    found = manifest.pop("kind")
    if found != kind:
        raise DamagedFile(f"{path} contains {found!r}; expected {kind!r}.")
    arrays: dict[str, NDArray[Any]] = {}
    try:
        content = np.frombuffer(map_file(path) if mapping is None else mapping, np.uint8)
        begin = 8 + int.from_bytes(content[:8].tobytes(), "little")
        for name in header.keys() - {"__metadata__"}:
            entry = header[name]
            first, last = (begin + offset for offset in entry["data_offsets"])
            values = content[first:last].view(NUMPY_TYPES[entry["dtype"]])
            arrays[name] = np.asarray(values).reshape(entry["shape"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DamagedFile(f"{path} is damaged or not a lookalike file: {error}") from error
    return arrays, manifest


def map_file(path: Path) -> mmap.mmap:
    """Map a file to be read, or raise DamagedFile."""
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as error:
        raise DamagedFile(f"{path} does not exist.") from error
    except (OSError, ValueError) as error:
        raise DamagedFile(f"{path} cannot be read: {error}.") from error


def stored_kind(path: Path) -> str:
    """Return the kind of a file that :func:`save_arrays` wrote; read only its header."""
    return str(stored_manifest(path)["kind"])


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically: a crash leaves either the old content or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
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
    """Return the manifest of a file, or raise DamagedFile; check the header first."""
    header = _checked_header(path)
    try:
        manifest: dict[str, Any] = json.loads(header["__metadata__"]["manifest"])
        text = isinstance(manifest["kind"], str)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DamagedFile(f"{path} has no manifest; it was not written by lookalike.") from error
    if not text:
        raise DamagedFile(f"{path} has no kind; it was not written by lookalike.")
    return manifest


def _checked_header(path: Path) -> dict[str, Any]:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length)) if 0 < length <= MAX_HEADER_BYTES else None
    except FileNotFoundError as error:
        raise DamagedFile(f"{path} does not exist.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise DamagedFile(f"{path} is damaged or not a safetensors file.") from error
    if not isinstance(header, dict):
        raise DamagedFile(
            f"{path} is damaged or not a safetensors file: its header is {length} bytes."
        )
    if len(header) > MAX_ARRAYS + 1:
        raise DamagedFile(f"{path} claims {len(header)} arrays; the limit is {MAX_ARRAYS}.")
    ends = [
        entry["data_offsets"][1]
        for name, entry in header.items()
        if name != "__metadata__" and _is_entry(entry)
    ]
    if len(ends) != len(header.keys() - {"__metadata__"}) or size != 8 + length + max(
        ends, default=0
    ):
        raise DamagedFile(f"{path} is damaged: its size of {size} bytes does not match its header.")
    return header


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    offsets = entry.get("data_offsets")
    return (
        entry.get("dtype") in DTYPES
        and isinstance(offsets, list)
        and len(offsets) == 2
        and all(isinstance(offset, int) for offset in offsets)
    )

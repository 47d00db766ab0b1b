"""Save and load small JSON files with a checksum: the XXH3 of the file, under a key of its own."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xxhash import xxh3_64_hexdigest

from lookalike.core.arrays import open_regular, write_whole
from lookalike.core.errors import DamagedFile

_KEY = "xxh3"
_UNKNOWN = "0" * 16


def save_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object to a file, all or nothing, with its checksum as the first value."""
    text = json.dumps({_KEY: _UNKNOWN, **content}, ensure_ascii=False).encode()
    write_whole(path, _with(text, _UNKNOWN, xxh3_64_hexdigest(text)))


def load_json(path: Path, keys: set[str]) -> dict[str, Any]:
    """Load the object that :func:`save_json` wrote, with exactly these keys.

    Raises
    ------
    DamagedFile
        If the file is missing, not as it was written, or has other keys.
    """
    try:
        with open_regular(path) as file:
            text = file.read()
        content = json.loads(text)
        digits = content.pop(_KEY, None)
    except OSError as error:
        raise DamagedFile(
            f"{path} is missing or cannot be read: {error.strerror or error}."
        ) from error
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise DamagedFile(f"{path} is damaged or not a lookalike file.") from error
    # A damaged name of the checksum is one that does not belong.
    if content.keys() != keys:
        raise DamagedFile(f"{path} is damaged: it has {', '.join(content)!r:.200}.")
    if digits != xxh3_64_hexdigest(_with(text, str(digits), _UNKNOWN)):
        raise DamagedFile(f"{path} is damaged: it is not as it was written (its checksum differs).")
    return dict(content)


def _with(text: bytes, before: str, after: str) -> bytes:
    """Return the text of an object with another checksum, which is its first value."""
    return text.replace(f'"{before}"'.encode(), f'"{after}"'.encode(), 1)

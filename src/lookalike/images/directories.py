"""Read the tag directories of TIFF and EXIF; check every offset and count."""

import os
import re
import struct
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO

from lookalike.core.errors import UnreadablePicture

TRUNCATED = "truncated: the file ends before the picture does"

SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
SIZES |= {16: 8, 17: 8, 18: 8, 129: 1}
"""Bytes of a value of each type."""

MAX_ENTRIES = 10_000
"""Most tags of a directory in which some are looked for; files have some dozens."""

_WHOLE = {1: "B", 3: "H", 4: "I", 13: "I", 16: "Q", 18: "Q"}
_FRACTIONS = {5: "I", 10: "i"}
_ORIENTATION, _EXIF_DIRECTORY, _TAKEN = 274, 34665, 36867
# Not strptime, which imports a module at its first call: the decoder of the server cannot.
_TIME = re.compile(rb"(\d{4}):([\d ]?\d):([\d ]?\d)\s+([\d ]?\d):([\d ]?\d):([\d ]?\d)")


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a file's directories: byte order, and offsets of 4 or 8 bytes."""

    order: str
    big: bool

    @property
    def count(self) -> struct.Struct:
        """The number of entries."""
        return struct.Struct(self.order + ("Q" if self.big else "H"))

    @property
    def entry(self) -> struct.Struct:
        """Tag, type, count, and the value or its offset."""
        return struct.Struct(self.order + ("HHQ8s" if self.big else "HHI4s"))

    @property
    def offset(self) -> struct.Struct:
        """An offset in the file."""
        return struct.Struct(self.order + ("Q" if self.big else "I"))


@dataclass(frozen=True, slots=True)
class Entry:
    """One tag: its type, the number of values, their bytes, and the field with value or offset."""

    kind: int
    count: int
    value: bytes
    field: bytes

    def numbers(self, layout: Layout) -> tuple[int, ...]:
        """Return the values of a tag of whole numbers; an empty tuple for another type."""
        code = _WHOLE.get(self.kind)
        return struct.unpack(f"{layout.order}{self.count}{code}", self.value) if code else ()

    def fractions(self, layout: Layout) -> tuple[float, ...]:
        """Return the values of a tag of fractions; an empty tuple for another, or one over 0."""
        code = _FRACTIONS.get(self.kind)
        parts = struct.unpack(f"{layout.order}{2 * self.count}{code}", self.value) if code else ()
        if not all(parts[1::2]):
            return ()
        return tuple(over / under for over, under in zip(parts[::2], parts[1::2], strict=True))


def read_header(data: bytes) -> tuple[Layout, int] | None:
    """Return the layout of a TIFF or EXIF block and the offset of its first directory."""
    order = {b"II": "<", b"MM": ">"}.get(data[:2])
    if order is None or len(data) < 8:
        return None
    (version,) = struct.unpack_from(order + "H", data, 2)
    if version == 42:
        return Layout(order, big=False), struct.unpack_from(order + "I", data, 4)[0]
    if version == 43 and len(data) >= 16:
        return Layout(order, big=True), struct.unpack_from(order + "Q", data, 8)[0]
    return None


def read_directory(
    data: bytes, layout: Layout, start: int, wanted: Container[int]
) -> dict[int, Entry]:
    """Return the wanted tags of the directory at ``start``; the first of any duplicates.

    Raises
    ------
    UnreadablePicture
        If the directory or a wanted value extends past the end of the file.
    """
    if start + layout.count.size > len(data):
        raise UnreadablePicture(TRUNCATED)
    (total,) = layout.count.unpack_from(data, start)
    first = start + layout.count.size
    if first + total * layout.entry.size > len(data):
        raise UnreadablePicture(TRUNCATED)
    entries: dict[int, Entry] = {}
    room = len(data)
    for place in range(first, first + total * layout.entry.size, layout.entry.size):
        tag, kind, count, field = layout.entry.unpack_from(data, place)
        if tag not in wanted or tag in entries or kind not in SIZES or count == 0:
            continue
        size = count * SIZES[kind]
        value = field[:size]
        if size > len(field):
            (offset,) = layout.offset.unpack(field)
            # Values must not overlap so much that their total size exceeds the file's.
            room -= size
            if offset + size > len(data) or room < 0:
                raise UnreadablePicture(TRUNCATED)
            value = data[offset : offset + size]
        entries[tag] = Entry(kind, count, value, field)
    return entries


def find_entries(
    file: BinaryIO, layout: Layout, start: int, wanted: Container[int], largest: int
) -> dict[int, Entry]:
    """Return the wanted tags of the directory at ``start`` of a file, of which no more is read.

    A tag whose value is larger, or extends past the end of the file, is left out.
    """
    head = read_at(file, start, layout.count.size)
    total = layout.count.unpack(head)[0] if head else 0
    if total > MAX_ENTRIES:
        return {}
    listed = read_at(file, start + layout.count.size, total * layout.entry.size)
    entries: dict[int, Entry] = {}
    for tag, kind, count, field in layout.entry.iter_unpack(listed):
        size = count * SIZES.get(kind, 0)
        if tag not in wanted or tag in entries or not 0 < size <= largest:
            continue
        value = field[:size]
        if size > len(field):
            value = read_at(file, layout.offset.unpack(field)[0], size)
        if value:
            entries[tag] = Entry(kind, count, value, field)
    return entries


def read_at(file: BinaryIO, place: int, size: int) -> bytes:
    """Return so many bytes from a place in a file; none if it ends before."""
    if place + size > file.seek(0, os.SEEK_END):
        return b""
    file.seek(place)
    content = file.read(size)
    return content if len(content) == size else b""


def _time(written: bytes) -> str | None:
    """Return a time of EXIF in ISO format; None if it is none. Raise ValueError if out of range."""
    pattern = _TIME.fullmatch(written)
    if pattern is None:
        return None
    year, month, day, hour, minute, second = map(int, pattern.groups())
    return datetime(year, month, day, hour, minute, second).isoformat()


def read_exif(exif: bytes) -> tuple[int, str | None]:
    """Return the orientation (1 to 8) and the time a picture was taken from an EXIF block.

    A damaged block counts as empty: the picture can still be decoded.

    Returns
    -------
    orientation : int
    taken : str or None
        In ISO format, without a time zone, as cameras write it.
    """
    data = exif.removeprefix(b"Exif\0\0")
    orientation, taken = 1, None
    try:
        header = read_header(data)
        if header is None:
            return orientation, taken
        layout, start = header
        entries = read_directory(data, layout, start, {_ORIENTATION, _EXIF_DIRECTORY})
        if _ORIENTATION in entries:
            numbers = entries[_ORIENTATION].numbers(layout)
            orientation = numbers[0] if numbers and 1 <= numbers[0] <= 8 else 1
        if _EXIF_DIRECTORY in entries:
            place = entries[_EXIF_DIRECTORY].numbers(layout)
            details = read_directory(data, layout, place[0], {_TAKEN}) if place else {}
            if _TAKEN in details:
                taken = _time(details[_TAKEN].value.rstrip(b"\0 "))
    except (UnreadablePicture, ValueError, struct.error):
        pass
    return orientation, taken

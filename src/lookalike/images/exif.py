"""Read caption, camera, lens and place from EXIF; of a file, only the parts that have them.

What is damaged gives nothing and no error, and does not take along what is not.
"""

import os
import struct
from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

from lookalike.core.errors import DecoderFailed, UnreadablePicture
from lookalike.images.containers import check_boxes
from lookalike.images.decode import fault_of, format_of
from lookalike.images.details import Details, camera_name, decoded
from lookalike.images.directories import Entry, Layout, find_entries, read_header
from lookalike.images.iptc import jpeg_segments

MAX_VALUE = 1 << 16
"""Bytes of a value that is read."""
MAX_CHUNKS = 10_000
"""Most chunks of a file before the one with EXIF."""

_EXIF, _APP1 = b"Exif\0\0", 0xE1
_CAPTION, _MAKE, _MODEL, _DETAILS, _PLACE = 270, 271, 272, 34665, 34853
_LENS = 42036
_LATITUDE, _LONGITUDE = (1, 2, b"NS"), (3, 4, b"EW")


def exif_details(file: BinaryIO) -> Details:
    """Return what the EXIF block of a file says."""
    block = _block(file)
    header = None if block is None else read_header(_head(block))
    if block is None or header is None:
        return Details()
    layout, start = header
    first = find_entries(
        block, layout, start, {_CAPTION, _MAKE, _MODEL, _DETAILS, _PLACE}, MAX_VALUE
    )
    more = _inner(block, layout, first.get(_DETAILS), {_LENS})
    place = _inner(block, layout, first.get(_PLACE), {1, 2, 3, 4})
    return Details.of(
        _text(first, _CAPTION),
        camera_name(_text(first, _MAKE), _text(first, _MODEL)),
        _text(more, _LENS),
        _degrees(place, layout, *_LATITUDE),
        _degrees(place, layout, *_LONGITUDE),
    )


def _head(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(16)


def _inner(
    file: BinaryIO, layout: Layout, entry: Entry | None, wanted: set[int]
) -> dict[int, Entry]:
    """Return tags of the directory whose place another tag tells."""
    places = () if entry is None else entry.numbers(layout)
    return find_entries(file, layout, places[0], wanted, MAX_VALUE) if places else {}


def _text(entries: dict[int, Entry], tag: int) -> str:
    return decoded(entries[tag].value) if tag in entries else ""


def _degrees(
    entries: dict[int, Entry], layout: Layout, side: int, tag: int, signs: bytes
) -> float | None:
    """Return degrees from those, minutes and seconds; None where one is damaged."""
    sign = entries[side].value[:1].upper() if side in entries else b""
    parts = entries[tag].fractions(layout) if tag in entries else ()
    if not sign or sign not in signs or not 1 <= len(parts) <= 3:
        return None
    degrees, minutes, seconds = (*parts, 0.0, 0.0)[:3]
    if not (0 <= degrees <= 180 and 0 <= minutes <= 60 and 0 <= seconds <= 60):
        return None
    return (degrees + minutes / 60 + seconds / 3600) * (1 if sign == signs[:1] else -1)


def _block(file: BinaryIO) -> BinaryIO | None:
    """Return the EXIF block of a file, wherever its format puts it; of a TIFF, the file itself."""
    file.seek(0)
    head = file.read(256)
    try:
        kind = format_of(head)
    except UnreadablePicture:
        return None
    if kind == "TIFF":
        return file
    blocks: Iterator[bytes]
    if kind == "JPEG":
        blocks = (body for body in jpeg_segments(file, _APP1) if body.startswith(_EXIF))
    elif kind in ("PNG", "WEBP"):
        blocks = _chunks(file, 8 if kind == "PNG" else 12, kind == "PNG")
    elif kind in ("AVIF", "HEIF"):
        blocks = iter([_from_boxes(file, kind)])
    else:
        return None
    block = next(blocks, b"").removeprefix(_EXIF)
    return BytesIO(block) if block else None


def _chunks(file: BinaryIO, place: int, is_png: bool) -> Iterator[bytes]:
    """Return the chunk with EXIF of a PNG or WebP."""
    end = file.seek(0, os.SEEK_END)
    for _ in range(MAX_CHUNKS):
        file.seek(place)
        head = file.read(8)
        if len(head) < 8:
            return
        size, name = struct.unpack(">I4s", head) if is_png else struct.unpack("<4sI", head)[::-1]
        if name in (b"eXIf", b"EXIF") and place + 8 + size <= end:
            yield file.read(size)
        place += 8 + size + (4 if is_png else size % 2)


def _from_boxes(file: BinaryIO, kind: str) -> bytes:
    """Return the EXIF block of an AVIF or HEIC file; its pixels are not decoded."""
    file.seek(0)
    data = file.read()
    try:
        check_boxes(data)
        if kind == "AVIF":
            from PIL import _avif

            return bytes(_avif.AvifDecoder(data, "auto", 1).get_info()[4] or b"")
        import pi_heif

        return bytes(pi_heif.open_heif(data).info.get("exif") or b"")
    except ImportError:
        return b""
    except Exception as error:
        if (fault := fault_of(error)) is not None:
            raise DecoderFailed(fault) from error
        return b""

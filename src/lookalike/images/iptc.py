"""Read the IPTC keywords of JPEG and TIFF files, within limits, and only the parts that have them.

A JPEG has them in the resources that Photoshop defined, a TIFF in a tag. What is damaged, or too
large, gives no keywords and no error.
"""

import os
import struct
from typing import BinaryIO

from lookalike.images.directories import SIZES, read_header

MAX_BYTES = 1 << 20
"""Largest block of IPTC datasets in bytes; a JPEG has room for 64 KiB."""
MAX_PARTS = 10_000
"""Most segments of a JPEG before its pixels, and most tags of a TIFF; files have some dozens."""

JPEG, TIFF = b"\xff\xd8", (b"II", b"MM")
"""What the files begin with."""

_PHOTOSHOP, _RESOURCE, _IPTC_RESOURCE = b"Photoshop 3.0\0", b"8BIM", 0x0404
_IPTC_TAG = 33723
_FILL, _APP13, _SCAN = 0xFF, 0xED, 0xDA
_NO_SEGMENTS = {0x00, 0x01, *range(0xD0, 0xDA)}
_DATASET = struct.Struct(">BBBH")
_MARK, _RECORDS = 0x1C, {*range(1, 10), 240}
_MAX_DIGITS = 4
_KEYWORD, _PIXELS = (2, 25), (8, 10)


def iptc_keywords(file: BinaryIO, most: int) -> list[bytes]:
    """Return up to ``most`` keywords of a JPEG or TIFF, in whatever encoding they are."""
    file.seek(0)
    start = file.read(2)
    if start == JPEG:
        return _keywords(_from_jpeg(file), most)
    return _keywords(_from_tiff(file), most) if start in TIFF else []


def _from_jpeg(file: BinaryIO) -> bytes:
    """Return the datasets of a JPEG, whose segments are read up to the pixels."""
    result = b""
    for _ in range(MAX_PARTS):
        head = file.read(2)
        if len(head) < 2 or head[0] != _FILL or head[1] in _NO_SEGMENTS:
            return b""
        if head[1] == _FILL:
            file.seek(-1, os.SEEK_CUR)
            continue
        if head[1] == _SCAN:
            return result
        size = int.from_bytes(file.read(2), "big") - 2
        if size < 0:
            return b""
        if head[1] != _APP13:
            file.seek(size, os.SEEK_CUR)
            continue
        segment = file.read(size)
        if len(segment) < size:
            return b""
        result = _from_resources(segment) or result
    return b""


def _from_resources(segment: bytes) -> bytes:
    """Return the datasets among the resources of Photoshop; the last of any duplicates."""
    result = b""
    place = len(_PHOTOSHOP)
    while segment.startswith(_PHOTOSHOP) and segment.startswith(_RESOURCE, place):
        code = int.from_bytes(segment[place + 4 : place + 6], "big")
        # A name with its length, and the content, both end at an even place.
        place += 7 + int.from_bytes(segment[place + 6 : place + 7], "big")
        place += place % 2
        size = int.from_bytes(segment[place : place + 4], "big")
        place += 4
        if code == _IPTC_RESOURCE:
            result = segment[place : place + size]
        place += size + size % 2
    return result


def _from_tiff(file: BinaryIO) -> bytes:
    """Return the datasets of a TIFF, of whose first directory no other value is read."""
    file.seek(0)
    header = read_header(file.read(16))
    if header is None:
        return b""
    layout, start = header
    directory = _at(file, start, layout.count.size)
    total = layout.count.unpack(directory)[0] if directory else 0
    if total > MAX_PARTS:
        return b""
    entries = _at(file, start + layout.count.size, total * layout.entry.size)
    result = b""
    for tag, kind, count, field in layout.entry.iter_unpack(entries):
        size = count * SIZES.get(kind, 0)
        if tag == _IPTC_TAG and 0 < size <= len(field):
            result = field[:size]
        elif tag == _IPTC_TAG and 0 < size <= MAX_BYTES:
            result = _at(file, layout.offset.unpack(field)[0], size) or result
    return result


def _at(file: BinaryIO, place: int, size: int) -> bytes:
    """Return so many bytes from a place in a file; none if it ends before."""
    if place + size > file.seek(0, os.SEEK_END):
        return b""
    file.seek(place)
    content = file.read(size)
    return content if len(content) == size else b""


def _keywords(datasets: bytes, most: int) -> list[bytes]:
    """Return the keywords among datasets: up to one that is cut, and none if one is no dataset."""
    result: list[bytes] = []
    place = 0
    while len(result) < most and place + _DATASET.size <= len(datasets):
        mark, record, number, size = _DATASET.unpack_from(datasets, place)
        if not (mark or record or number or size):
            break
        if mark != _MARK or record not in _RECORDS:
            return []
        place += _DATASET.size
        if size >> 15:
            # Of a long one, how many bytes its length has, which follow.
            digits = size & 0x7FFF
            if digits > _MAX_DIGITS:
                return []
            size = int.from_bytes(datasets[place : place + digits], "big")
            place += digits
        if (record, number) == _PIXELS or place + size > len(datasets):
            break
        if (record, number) == _KEYWORD and size:
            result.append(datasets[place : place + size])
        place += size
    return result

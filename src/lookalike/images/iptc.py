"""Read IPTC keywords and captions of JPEG and TIFF files, within limits, and little else of them.

A JPEG has them in the resources that Photoshop defined, a TIFF in a tag. What is damaged, or too
large, gives none and no error.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from lookalike.core.errors import UnreadablePicture
from lookalike.images.directories import TRUNCATED, find_entries, read_header

MAX_BYTES = 1 << 20
"""Largest block of IPTC datasets in bytes; a JPEG has room for 64 KiB."""
MAX_PARTS = 10_000
"""Most segments of a JPEG before its pixels; files have some dozens."""

JPEG, TIFF = b"\xff\xd8", (b"II", b"MM")
"""What the files begin with."""

_PHOTOSHOP, _RESOURCE, _IPTC_RESOURCE = b"Photoshop 3.0\0", b"8BIM", 0x0404
_IPTC_TAG = 33723
_FILL, _APP13, _SCAN = 0xFF, 0xED, 0xDA
_NO_SEGMENTS = {0x00, 0x01, *range(0xD0, 0xDA)}
_DATASET = struct.Struct(">BBBH")
_MARK, _RECORDS = 0x1C, {*range(1, 10), 240}
_MAX_DIGITS = 4
_KEYWORD, _CAPTION, _PIXELS = (2, 25), (2, 120), (8, 10)


@dataclass(frozen=True, slots=True)
class Texts:
    """The keywords and the caption of a file, in whatever encoding they are."""

    keywords: tuple[bytes, ...] = ()
    caption: bytes = b""


def iptc_texts(file: BinaryIO, most: int) -> Texts:
    """Return up to ``most`` keywords of a JPEG or TIFF, and its caption."""
    file.seek(0)
    start = file.read(2)
    if start == JPEG:
        return _texts(_from_jpeg(file), most)
    return _texts(_from_tiff(file), most) if start in TIFF else Texts()


def _from_jpeg(file: BinaryIO) -> bytes:
    """Return the datasets of a JPEG; none if what stands before its pixels is damaged."""
    result = b""
    try:
        for segment in jpeg_segments(file, _APP13, strict=True):
            result = _from_resources(segment) or result
    except UnreadablePicture:
        return b""
    return result


def jpeg_segments(file: BinaryIO, marker: int, *, strict: bool = False) -> Iterator[bytes]:
    """Return the content of the segments of a kind that stand before the pixels of a JPEG.

    If the file is damaged there, they end; with ``strict``, UnreadablePicture is raised.
    """
    file.seek(2)
    for _ in range(MAX_PARTS):
        head = file.read(2)
        if len(head) < 2 or head[0] != _FILL or head[1] in _NO_SEGMENTS:
            break
        if head[1] == _FILL:
            file.seek(-1, os.SEEK_CUR)
            continue
        if head[1] == _SCAN:
            return
        size = int.from_bytes(file.read(2), "big") - 2
        if size < 0:
            break
        if head[1] != marker:
            file.seek(size, os.SEEK_CUR)
            continue
        segment = file.read(size)
        if len(segment) < size:
            break
        yield segment
    if strict:
        raise UnreadablePicture(TRUNCATED)


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
    entry = find_entries(file, *header, {_IPTC_TAG}, MAX_BYTES).get(_IPTC_TAG)
    return b"" if entry is None else entry.value


def _texts(datasets: bytes, most: int) -> Texts:
    """Return the texts among datasets: up to one that is cut, and none if one is no dataset."""
    keywords: list[bytes] = []
    caption = b""
    place = 0
    while place + _DATASET.size <= len(datasets):
        mark, record, number, size = _DATASET.unpack_from(datasets, place)
        if not (mark or record or number or size):
            break
        if mark != _MARK or record not in _RECORDS:
            return Texts()
        place += _DATASET.size
        if size >> 15:
            # Of a long one, how many bytes its length has, which follow.
            digits = size & 0x7FFF
            if digits > _MAX_DIGITS:
                return Texts()
            size = int.from_bytes(datasets[place : place + digits], "big")
            place += digits
        if (record, number) == _PIXELS or place + size > len(datasets):
            break
        value = datasets[place : place + size]
        if (record, number) == _KEYWORD and value and len(keywords) < most:
            keywords.append(value)
        elif (record, number) == _CAPTION and value:
            caption = caption or value
        place += size
    return Texts(tuple(keywords), caption)

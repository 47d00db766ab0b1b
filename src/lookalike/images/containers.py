"""Strip a picture file down to what decoding needs, before Pillow reads it.

What is removed is what hostile files use: comments, colour profiles, text, maker's notes,
animations, second pictures. Pillow warns about many of these through the ``warnings`` module,
whose filters belong to the whole process; a decoder that runs in several threads cannot silence
the warnings safely, so Pillow never sees what it would warn about.
"""

import struct
import zlib

from lookalike.core.errors import UnreadablePicture
from lookalike.images.directories import TRUNCATED, read_directory, read_header

MAX_PARTS = 200_000
"""More chunks, segments or blocks than this are a denial-of-service attack."""
MAX_SCANS = 500
"""Encoders write about ten scans; each scan of a progressive JPEG is a pass over all pixels."""

_MISALIGNED = "damaged: inconsistent structure"
_TOO_MANY = f"damaged: it claims more than {MAX_PARTS:,} parts"

# Baseline and extension tags that describe how the pixels are stored.
_SINGLE_TAGS = {256, 257, 259, 262, 266, 277, 278, 284, 292, 293, 317, 322, 323, 512, 513, 514}
_SINGLE_TAGS |= {515, 531}
_JPEG_TABLES, _SAMPLES, _MAX_SAMPLES = 347, 277, 6
_LIST_TAGS = {258, 273, 279, 320, 324, 325, 338, 339, _JPEG_TABLES, 519, 520, 521, 529, 530, 532}
TIFF_TAGS = frozenset(_SINGLE_TAGS | _LIST_TAGS)


def strip_jpeg(data: bytes) -> tuple[bytes, bytes]:
    """Keep tables, frame and scans; return the stripped file and the EXIF block."""
    kept, exif = [data[:2]], b""
    place = 2
    for _ in range(MAX_PARTS):
        start = place
        while data[place : place + 1] == b"\xff":
            place += 1
        if place == start or place + 3 > len(data):
            raise UnreadablePicture(TRUNCATED if place + 3 > len(data) else _MISALIGNED)
        marker = data[place]
        if marker == 0xDA:
            if data.count(b"\xff\xda", place) > MAX_SCANS:
                raise UnreadablePicture(f"damaged: it claims more than {MAX_SCANS} scans")
            kept.append(b"\xff" + data[place:])
            return b"".join(kept), exif
        end = place + 1 + int.from_bytes(data[place + 1 : place + 3], "big")
        if marker in {0x00, 0x01, 0xD8, 0xD9} or 0xD0 <= marker <= 0xD7 or end < place + 3:
            raise UnreadablePicture(_MISALIGNED)
        if end > len(data):
            raise UnreadablePicture(TRUNCATED)
        # APP0 (JFIF) and APP14 (Adobe) determine the colour space.
        if marker in {0xE0, 0xEE} or not (0xE0 <= marker <= 0xEF or marker == 0xFE):
            kept.append(b"\xff" + data[place:end])
        elif marker == 0xE1 and not exif and data.startswith(b"Exif\0\0", place + 3):
            exif = data[place + 3 : end]
        place = end
    raise UnreadablePicture(_TOO_MANY)


def strip_png(data: bytes) -> tuple[bytes, bytes]:
    """Keep header, palette, transparency and pixels; return the stripped file and EXIF block."""
    kept, exif = [data[:8]], b""
    place, run = 8, 8
    for _ in range(MAX_PARTS):
        if place + 12 > len(data):
            raise UnreadablePicture(TRUNCATED)
        length = int.from_bytes(data[place : place + 4], "big")
        name = data[place + 4 : place + 8]
        end = place + 12 + length
        if end > len(data):
            raise UnreadablePicture(TRUNCATED)
        if name == b"IEND":
            kept.append(data[run:end])
            return b"".join(kept), exif
        if name not in {b"IHDR", b"PLTE", b"IDAT"}:
            kept.append(data[run:place])
            run = end
            if name == b"tRNS":
                kept.append(_transparency(data[place + 8 : end - 4], data[24:26]))
            elif name == b"eXIf":
                exif = data[place + 8 : end - 4]
        place = end
    raise UnreadablePicture(_TOO_MANY)


def _transparency(colour: bytes, header: bytes) -> bytes:
    """Convert the transparent colour to the depth of Pillow's pixels, which Pillow does not do."""
    depth, kind = header
    value = colour
    if kind == 0 and depth in {2, 4} and len(colour) >= 2:
        value = struct.pack(">H", (colour[1] & ((1 << depth) - 1)) * (255 // ((1 << depth) - 1)))
    elif kind == 2 and depth == 16 and len(colour) >= 6:
        value = bytes((0, colour[0], 0, colour[2], 0, colour[4]))
    body = b"tRNS" + value
    return struct.pack(">I", len(value)) + body + struct.pack(">I", zlib.crc32(body))


def strip_gif(data: bytes) -> bytes:
    """Keep the first frame with its palette, on a canvas large enough for it."""
    if len(data) < 13:
        raise UnreadablePicture(TRUNCATED)
    place = 13 + (3 << ((data[10] & 7) + 1) if data[10] & 128 else 0)
    head, control = data[:place], b""
    for _ in range(MAX_PARTS):
        if place + 10 > len(data):
            break
        if data[place] == 0x2C:
            left, top, width, height = struct.unpack_from("<4H", data, place + 1)
            canvas = struct.unpack_from("<2H", data, 6)
            grown = struct.pack("<2H", max(canvas[0], left + width), max(canvas[1], top + height))
            return head[:6] + grown + head[10:] + control + data[place:]
        if data[place] != 0x21:
            raise UnreadablePicture(_MISALIGNED)
        end = _end_of_blocks(data, place + 2)
        if data[place + 1] == 0xF9:
            control = data[place:end]
        place = end
    else:
        raise UnreadablePicture(_TOO_MANY)
    raise UnreadablePicture(TRUNCATED)


def _end_of_blocks(data: bytes, start: int) -> int:
    place = start
    for _ in range(MAX_PARTS):
        if place >= len(data):
            raise UnreadablePicture(TRUNCATED)
        if data[place] == 0:
            return place + 1
        place += 1 + data[place]
    raise UnreadablePicture(_TOO_MANY)


def strip_tiff(data: bytes) -> bytes:
    """Keep those tags of the first picture that describe how its pixels are stored.

    The pixels stay where they are; a new directory follows them.
    """
    header = read_header(data)
    if header is None:
        raise UnreadablePicture(TRUNCATED)
    layout, start = header
    if layout.big and layout.order == ">":
        raise UnreadablePicture("BigTIFF in big-endian order is not supported")
    entries = read_directory(data, layout, start, TIFF_TAGS)
    if _JPEG_TABLES in entries and entries[_JPEG_TABLES].kind not in {1, 7}:
        raise UnreadablePicture(_MISALIGNED)
    for offsets, sizes in ((273, 279), (324, 325)):
        if offsets in entries and sizes in entries:
            if entries[offsets].count > MAX_PARTS or entries[sizes].count > MAX_PARTS:
                raise UnreadablePicture(_TOO_MANY)
            pairs = zip(
                entries[offsets].numbers(layout), entries[sizes].numbers(layout), strict=False
            )
            if any(offset + size > len(data) for offset, size in pairs):
                raise UnreadablePicture(TRUNCATED)
    if _SAMPLES in entries and entries[_SAMPLES].numbers(layout)[:1] > (_MAX_SAMPLES,):
        raise UnreadablePicture(f"damaged: it claims more than {_MAX_SAMPLES} samples per pixel")
    packed = []
    for tag, entry in sorted(entries.items()):
        single = tag in _SINGLE_TAGS and entry.count > 1
        count, field = entry.count, entry.field
        if single:
            count, field = 1, entry.value[: len(entry.value) // entry.count]
        packed.append(layout.entry.pack(tag, entry.kind, count, field))
    padding = b"\0" * (len(data) % 2)
    place = layout.offset.pack(len(data) + len(padding))
    body = layout.offset.size * (2 if layout.big else 1) + (0 if layout.big else 4)
    directory = layout.count.pack(len(packed)) + b"".join(packed) + layout.offset.pack(0)
    return data[: body - layout.offset.size] + place + data[body:] + padding + directory


def webp_canvas(data: bytes) -> tuple[int, int]:
    """Return width and height from the header, since the decoder allocates when it opens."""
    if int.from_bytes(data[4:8], "little") + 8 > len(data) or len(data) < 30:
        raise UnreadablePicture(TRUNCATED)
    if data[12:16] == b"VP8X":
        return (
            1 + int.from_bytes(data[24:27], "little"),
            1 + int.from_bytes(data[27:30], "little"),
        )
    if data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<2H", data, 26)
    return width & 0x3FFF, height & 0x3FFF


def check_boxes(data: bytes) -> None:
    """Raise UnreadablePicture if an outer box of an AVIF or HEIC file extends past its end."""
    place = 0
    for _ in range(MAX_PARTS):
        if place == len(data):
            return
        if place + 8 > len(data):
            break
        size = int.from_bytes(data[place : place + 4], "big")
        if size == 1:
            size = int.from_bytes(data[place + 8 : place + 16], "big")
        if size == 0:
            return
        if size < 8:
            raise UnreadablePicture(_MISALIGNED)
        place += size
    raise UnreadablePicture(TRUNCATED)

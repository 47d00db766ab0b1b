"""Small pictures for the tests, made on the spot."""

import base64
import struct
import zlib
from io import BytesIO

import numpy as np
from PIL import Image

FORMATS = ("JPEG", "PNG", "WEBP", "AVIF", "GIF", "BMP", "TIFF")

# 24 × 16, upper half red, lower half blue. Pillow cannot write HEIC.
HEIC = base64.b64decode(
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAXxtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAA"
    "AAAAAAAAACJpbG9jAAAAAERAAAEAAQAAAAABoAABAAAAAAAAADwAAAAjaWluZgAAAAAAAQAAABVpbmZlAgAAAAABAABo"
    "dmMxAAAAAA5waXRtAAAAAAABAAAA/GlwcnAAAADcaXBjbwAAAHVodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEA"
    "GEABDAH//wNwAAADAJAAAAMAAAMAHroCQGEAAQApQgEBA3AAAAMAkAAAAwAAAwAeoCCBBZbqrprm4CGgwIAAAAyAAAAD"
    "AIRiAAEABkQBwXPBiQAAABNjb2xybmNseAABAA0ABoAAAAAUaXNwZQAAAAAAAABAAAAAQAAAAChjbGFwAAAAGAAAAAEA"
    "AAAQAAAAAf///9gAAAAC////0AAAAAIAAAAQcGl4aQAAAAADCAgIAAAAGGlwbWEAAAAAAAAAAQABBYECAwWEAAAARG1k"
    "YXQAAAA4KAGvCchdmNAjm1H/F/f6F6GvFvzQP42p2tP/yYugwTBdkO+g9gt715XMOephLBlSukDDXpsPIIg="
)


def scene(width=32, height=24):
    """Four quarters of different colours, so that every turn and flip shows."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[: height // 2, : width // 2] = (220, 30, 30)
    pixels[: height // 2, width // 2 :] = (30, 200, 30)
    pixels[height // 2 :, : width // 2] = (30, 30, 220)
    pixels[height // 2 :, width // 2 :] = (230, 230, 60)
    return Image.fromarray(pixels)


def saved(image, kind, **options):
    buffer = BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def png_chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width, height, depth, kind, rows, *extra):
    """A PNG from raw rows, for depths Pillow does not write."""
    packed = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    parts = [
        png_chunk(b"IHDR", header),
        *extra,
        png_chunk(b"IDAT", packed),
        png_chunk(b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def tiff(width, height, bits, samples, *, order="<", photometric=1, form=1, extra=(), big=False):
    """An uncompressed grey TIFF; ``extra`` are (tag, type, count, field) entries added to it."""
    start = 16 if big else 8
    tags = [
        (256, 4, 1, width),
        (257, 4, 1, height),
        (258, 3, 1, bits),
        (259, 3, 1, 1),
        (262, 3, 1, photometric),
        (273, 4, 1, start),
        (277, 3, 1, 1),
        (278, 4, 1, height),
        (279, 4, 1, len(samples)),
        (339, 3, 1, form),
        *extra,
    ]
    padded = samples + b"\0" * (len(samples) % 2)
    place = start + len(padded)
    field_size = 8 if big else 4
    entries = b""
    for tag, kind, count, value in sorted(tags, key=lambda entry: entry[0]):
        if isinstance(value, bytes):
            field = value
        else:
            code = {1: "B", 3: "H", 4: "I", 16: "Q"}[kind]
            field = struct.pack(order + code, value)
        entries += struct.pack(order + ("HHQ" if big else "HHI"), tag, kind, count)
        entries += field.ljust(field_size, b"\0")
    mark = b"II" if order == "<" else b"MM"
    if big:
        header = mark + struct.pack(order + "HHHQ", 43, 8, 0, place)
        return header + padded + struct.pack(order + "Q", len(tags)) + entries + b"\0" * 8
    header = mark + struct.pack(order + "HI", 42, place)
    return header + padded + struct.pack(order + "H", len(tags)) + entries + b"\0" * 4


def camera_exif(taken="2021:07:04 12:30:59", orientation=1, caption="A day out"):
    """An EXIF block as cameras write it: make, lens, dates, exposure, a maker's note, a place."""
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = "Maker Ltd.", "Model 7"
    exif[0x010E] = caption
    exif[0x0112], exif[0x0132] = orientation, taken
    details = exif.get_ifd(0x8769)
    details[0x9003] = details[0x9004] = taken
    details[0x829A], details[0x8827], details[0xA434] = 0.004, 200, "Lens 50mm F1.8"
    details[0x927C] = b"Maker\0\2\0" + bytes(range(200))
    details[0x9286] = b"UNICODE\0" + "Grüße".encode("utf-16-le")
    place = exif.get_ifd(0x8825)
    place[1], place[2] = "N", (48.0, 8.0, 14.31)
    place[3], place[4] = "E", (11.0, 34.0, 39.99)
    return exif.tobytes()


def heic(exif):
    """The HEIC above with an EXIF block, as phones write it."""
    boxes = dict(_boxes(HEIC))
    inner = dict(_boxes(boxes[b"meta"][4:]))
    coded, block = (
        boxes[b"mdat"],
        struct.pack(">I", 6) + b"Exif\0\0" + exif.removeprefix(b"Exif\0\0"),
    )
    entry = _box(b"infe", b"\2\0\0\0" + struct.pack(">HH", 2, 0) + b"Exif\0")
    inner[b"iinf"] = b"\0\0\0\0\0\2" + inner[b"iinf"][6:] + entry
    inner[b"iref"] = b"\0\0\0\0" + _box(b"cdsc", struct.pack(">HHH", 2, 1, 1))
    head = _box(b"ftyp", boxes[b"ftyp"])

    def meta(start):
        places = ((1, start, len(coded)), (2, start + len(coded), len(block)))
        items = b"".join(struct.pack(">HHIHII", n, 0, at, 1, 0, size) for n, at, size in places)
        inner[b"iloc"] = b"\0\0\0\0\x44\x40" + struct.pack(">H", 2) + items
        return _box(b"meta", b"\0\0\0\0" + b"".join(_box(*it) for it in inner.items()))

    start = len(head) + len(meta(0)) + 8
    return head + meta(start) + _box(b"mdat", coded + block)


def _boxes(data):
    place = 0
    while place < len(data):
        (size,) = struct.unpack_from(">I", data, place)
        yield data[place + 4 : place + 8], data[place + 8 : place + size]
        place += size


def _box(name, body):
    return struct.pack(">I", 8 + len(body)) + name + body

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

"""Send a server pictures of few bytes and many pixels, and see how much memory it takes.

Each bomb is uploaded, uploaded to search with, imported by a rescan and, where it was accepted, cut
to search with a part of it and shown in full. The figure is the highest memory of the server's own
process, above that at rest after ordinary pictures went the same way; the processes that decode
have a limit of their own. At the end four are uploaded at once, five times over.
"""

import os
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike import Collection
from servers import Server, serving

SIDE = 11_000
"""11,000 × 11,000 pixels are just within the limit of 128 million."""

MAX_MEGABYTES = 100.0


def chunk(kind: bytes, data: bytes) -> bytes:
    """Return a chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def zeros(count: int) -> bytes:
    """Return so many zero bytes, compressed."""
    packer = zlib.compressobj(9)
    block = bytes(1 << 20)
    parts = [packer.compress(block) for _ in range(count >> 20)]
    return b"".join([*parts, packer.compress(bytes(count & 0xFFFFF)), packer.flush()])


def png(side: int, bits: int, colour: int, more: bytes = b"") -> bytes:
    """Return a black PNG with further chunks."""
    channels = {0: 1, 2: 3, 6: 4}[colour]
    rows = side * (1 + -(-side * bits * channels // 8))
    header = struct.pack(">IIBBBBB", side, side, bits, colour, 0, 0, 0)
    body = chunk(b"IHDR", header) + more + chunk(b"IDAT", zeros(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def webp(side: int) -> bytes:
    """Return a lossless WebP of one colour in 38 bytes."""
    file = BytesIO()
    Image.new("RGB", (16, 16)).save(file, "WEBP", lossless=True)
    data = bytearray(file.getvalue())
    place = data.index(b"VP8L") + 9
    (bits,) = struct.unpack_from("<I", data, place)
    size = (side - 1) | (side - 1) << 14 | (bits & ~0xFFFFFFF)
    struct.pack_into("<I", data, place, size)
    return bytes(data)


def saved(kind: str, size: tuple[int, int] = (SIDE, SIDE), mode: str = "L", **how: Any) -> bytes:
    """Return a picture of one colour as Pillow writes it."""
    file = BytesIO()
    Image.new(mode, size).save(file, kind, **how)
    return file.getvalue()


def gif(side: int, frames: int) -> bytes:
    """Return a GIF of many frames on a large canvas."""
    file = BytesIO()
    dots = [Image.fromarray(np.array([[n % 7, n % 5]], np.uint8) * 30) for n in range(frames)]
    dots[0].save(file, "GIF", save_all=True, append_images=dots[1:], duration=10)
    data = bytearray(file.getvalue())
    struct.pack_into("<HH", data, 6, side, side)
    return bytes(data)


def bmp(side: int) -> bytes:
    """Return a run-length encoded BMP of nothing."""
    pixels = b"\0\1"
    start = 14 + 40 + 1024
    header = struct.pack("<2sIHHI", b"BM", start + len(pixels), 0, 0, start)
    header += struct.pack("<IiiHHIIiiII", 40, side, side, 1, 8, 1, len(pixels), 0, 0, 256, 0)
    return header + bytes(1024) + pixels


def strips(count: int) -> bytes:
    """Return a TIFF whose rows are so many strips, all of them the same few bytes."""
    row, offsets = bytes(range(32)), struct.pack("<H", 8) * count
    values = {256: 32, 257: count, 258: 8, 259: 1, 262: 1, 277: 1, 278: 1}
    tags = [(tag, 4, 1, value) for tag, value in values.items()]
    tags.append((273, 3, count, 8 + len(row)))
    directory = b"".join(struct.pack("<HHII", *tag) for tag in sorted(tags))
    start = struct.pack("<2sHI", b"II", 42, 8 + len(row) + len(offsets))
    return start + row + offsets + struct.pack("<H", len(tags)) + directory + bytes(4)


def bombs(quick: bool) -> dict[str, Callable[[], bytes]]:
    """Return what makes each bomb, by name."""
    text = chunk(b"zTXt", b"Comment\0\0" + zeros(300 << 20))
    profile = chunk(b"iCCP", b"x\0\0" + zeros(300 << 20))
    made: dict[str, Callable[[], bytes]] = {
        "WebP": lambda: webp(SIDE),
        "PNG, 1 bit": lambda: png(SIDE, 1, 0),
        "PNG, text of 300 MB": lambda: png(64, 8, 2, text),
        "PNG, profile of 300 MB": lambda: png(64, 8, 2, profile),
        "GIF, 1,000 frames": lambda: gif(SIDE, 1000),
        "BMP, run lengths": lambda: bmp(SIDE),
    }
    made |= metadata()
    if not quick:
        made |= {
            "PNG, 16 bits": lambda: png(SIDE, 16, 2),
            "PNG, too many pixels": lambda: png(12_000, 1, 0),
            "TIFF, deflate": lambda: saved("TIFF", compression="tiff_deflate"),
            "TIFF, fax": lambda: saved("TIFF", mode="1", compression="group4"),
            "TIFF, a million strips": lambda: strips(1_000_000),
            "JPEG": lambda: saved("JPEG"),
            "JPEG, progressive": lambda: saved("JPEG", mode="RGB", progressive=True),
            "JPEG, profile of 14 MB": lambda: saved(
                "JPEG", (64, 64), "RGB", icc_profile=bytes(14 << 20)
            ),
            "WebP, a strip": lambda: saved("WEBP", (16_000, 8_000), "RGB", lossless=True),
            "PNG, a strip": lambda: saved("PNG", (60_000, 2_000)),
        }
    return made


def packet(inside: str) -> bytes:
    """Return an XMP packet with a description that has so much in its tag, or after it."""
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    text = (
        f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="{rdf}"><rdf:Description {inside}'
    )
    return f"{text}</rdf:Description></rdf:RDF></x:xmpmeta>".encode()


def iptc(count: int, size: int) -> bytes:
    """Return a TIFF with so many IPTC keywords, each of so many bytes and unlike the others."""
    words = (b"%0*d" % (size, number) for number in range(count))
    datasets = b"".join(struct.pack(">BBBH", 28, 2, 25, size) + word for word in words)
    tags = {256: 2, 257: 2, 258: 8, 259: 1, 262: 1, 273: 8, 277: 1, 278: 2, 279: 4}
    entries = [(tag, 4, 1, value) for tag, value in tags.items()]
    entries.append((33723, 7, len(datasets), 12))
    directory = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    start = struct.pack("<2sHI", b"II", 42, 12 + len(datasets)) + bytes(4) + datasets
    return start + struct.pack("<H", len(entries)) + directory + bytes(4)


def exif(count: int, size: int) -> bytes:
    """Return a TIFF block with so many tags, each of which claims so many values."""
    entries = b"".join(struct.pack("<HHII", 274 + n, 5, size, 8) for n in range(count))
    return struct.pack("<2sHIH", b"II", 42, 8, count) + entries + bytes(4)


def said(words: bytes, kind: bytes = b"xmP ") -> bytes:
    """Return a small PNG with metadata in a chunk."""
    return png(64, 8, 2, chunk(kind, words))


def metadata() -> dict[str, Callable[[], bytes]]:
    """Return what makes each bomb of metadata, by name."""
    names = " ".join(f"a:b{n}=''" for n in range(40_000))
    plain = " ".join(f"b{n}=''" for n in range(499_000))
    subject = '><s:subject xmlns:s="http://purl.org/dc/elements/1.1/">'
    items = "".join(f"<l>{n:01000d}</l>" for n in range(9_000))
    return {
        "XMP, a long namespace": lambda: said(packet(f"xmlns:a='{'x' * 160_000}' {names}>")),
        "XMP, 499,000 attributes": lambda: said(packet(f"{plain}>")),
        "XMP, 450,000 elements": lambda: said(packet(f">{'<a/>' * 450_000}")),
        "XMP, deep": lambda: said(packet(f">{'<a>' * 190_000}")),
        "XMP, an attribute of 15 MB": lambda: said(packet(f"a='{'x' * (15 << 20)}'>")),
        "XMP, a name of 15 MB": lambda: said(packet(f"{'x' * (15 << 20)}=''>")),
        "XMP, a text of 15 MB": lambda: said(packet(f"{subject}{'x' * (15 << 20)}</s:subject>")),
        "XMP, 9,000 long words": lambda: said(packet(f"{subject}<B>{items}</B></s:subject>")),
        "XMP, many prefixes": lambda: said(
            packet(">" + "".join(f"<a xmlns:p{n}='{'x' * 900}'/>" for n in range(15_000)))
        ),
        "XMP, entities": lambda: said(
            b'<!DOCTYPE x [<!ENTITY a "' + b"x" * 60_000 + b'">]>' + packet(">" + "&a;" * 60_000)
        ),
        "XMP, a million beginnings": lambda: said(b"<x:xmpmeta " * 1_000_000),
        "IPTC, 200,000 keywords": lambda: iptc(200_000, 6),
        "IPTC, 900 long keywords": lambda: iptc(900, 1000),
        "EXIF, 60,000 tags of 4 GB": lambda: said(exif(60_000, 1 << 29), b"eXIf"),
        "JPEG of 58 MB": lambda: saved("JPEG", (64, 64), "RGB") + bytes(58 << 20),
    }


def go_all_ways(server: Server, photos: Path, data: bytes, name: str) -> list[str]:
    """Send a picture in all the ways there are; return what came of it."""
    came = []
    status, told = server.ask("POST", f"/api/pictures?name={name}.png", data)
    came.append(f"upload {status}")
    came.append(f"query {server.ask('POST', '/api/queries', data)[0]}")
    if status in (200, 201):
        number = told["picture"]["id"]
        region = {"picture": number, "box": [0.1, 0.1, 0.9, 0.9]}
        came.append(f"region {server.ask('POST', '/api/queries/region', region)[0]}")
        came.append(f"full size {server.ask('GET', f'/image/{number}')[0]}")
        server.ask("DELETE", f"/api/pictures/{number}")
        server.ask("POST", "/api/bin/empty", {})
    file = photos / f"{name}.png"
    file.write_bytes(data)
    _, job = server.ask("POST", "/api/jobs", {"kind": "rescan"})
    while job["state"] in ("waiting", "running"):
        time.sleep(0.05)
        _, job = server.ask("GET", f"/api/jobs/{job['id']}")
    came.append(f"rescan {job['result']['added']} added, {job['result']['refused']} refused")
    file.unlink()
    return came


def measure(options: Options) -> list[Figure]:
    """Return the highest memory above rest for each bomb."""
    rng = np.random.default_rng(0)
    figures = []
    with tempfile.TemporaryDirectory(prefix="lookalike-") as folder:
        photos, place = Path(folder) / "photos", Path(folder) / "store"
        photos.mkdir()
        plain = []
        for number in range(8):
            file = BytesIO()
            Image.fromarray(rng.integers(0, 255, (600, 800, 3), np.uint8)).save(file, "PNG")
            plain.append(file.getvalue())
            (photos / f"plain-{number}.jpg").write_bytes(plain[-1])
        with Collection.create(place) as store:
            store.add([photos])
        with serving(place) as server:
            for number in range(3):
                go_all_ways(server, photos, plain[number] + b"\0", f"first-{number}")
            server.peak()
            time.sleep(1)
            rest = server.peak()
            for name, make in bombs(options.quick).items():
                data = make()
                server.peak()
                came = go_all_ways(server, photos, data, "bomb")
                above = server.peak() - rest
                what = f"{name}: {len(data):,} bytes, MB above rest"
                figures.append(Figure(what, above, "<=", MAX_MEGABYTES, "; ".join(came)))
            data = webp(SIDE)
            with ThreadPoolExecutor(4) as pool:
                ways = pool.map(lambda _: server.ask("POST", "/api/queries", data)[0], range(20))
                came = [f"{status}" for status in ways]
            above = server.peak() - rest
            what = "20 WebP, four at once, MB above rest"
            figures.append(Figure(what, above, "<=", MAX_MEGABYTES, " ".join(sorted(set(came)))))
    options.settings["rest_MB"] = round(rest, 1)
    options.settings["cores"] = os.cpu_count()
    return figures


if __name__ == "__main__":
    main("trust/bombs", measure)

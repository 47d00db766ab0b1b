"""Bring files as cameras write them in by six ways, and compare each with the command line.

The files are those of the set ``camera`` and a thousand made here, with EXIF, maker's notes, XMP,
IPTC, profiles and comments drawn at random, in both byte orders, many with values that no standard
allows. The ways: ``index``, an import on the page, a rescan, a watched folder, an upload, a query.
A file differs if a way takes what the command line refuses, or the other way round, gives another
reason, or another format, size, time, label, caption, camera, lens, place or thumbnail; a query,
if it does not find the picture itself with a score of 1, among the first 20, since files may
differ in their metadata only.
"""

import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from PIL import Image, ImageCms

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import Figure, Options, main
from lookalike import Collection
from servers import Server, serving

Answers = dict[str, Any]
"""What became of files: the reason by name, or what is known of a picture by its hash."""

TEXTS = ("", "SONY", "Müller & Söhne", "日本", "a" * 700, "x\0y", " ", "©2019")
TIMES = (
    *("2019:08:17 10:11:12", "2004:02:29 23:59:59", "0000:00:00 00:00:00", "    :  :     :  :  "),
    *("2019:13:40 25:61:61", "2019-08-17T10:11:12", "2999:01:01 00:00:00", "2019:08:17", ""),
)
WORDS = ("beach", "Größe", "a & b", "people/Ada", "snow|ice", "x" * 300)


def values(kind: int, count: int, rng: np.random.Generator) -> bytes:
    """Return random values of a type of EXIF."""
    size = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 9: 4, 10: 8}[kind]
    return rng.bytes(size * count)


def directory(order: str, at: int, tags: list[tuple[int, int, bytes]], after: int = 0) -> bytes:
    """Return a directory that stands ``at`` an offset, with its values after it."""
    sizes = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 9: 4, 10: 8}
    entries, rest = b"", b""
    place = at + 2 + 12 * len(tags) + 4
    for tag, kind, value in sorted(tags):
        field = value.ljust(4, b"\0")
        if len(value) > 4:
            field = struct.pack(f"{order}I", place + len(rest))
            rest += value + b"\0" * (len(value) % 2)
        entries += struct.pack(f"{order}HHI", tag, kind, len(value) // sizes[kind]) + field
    return struct.pack(f"{order}H", len(tags)) + entries + struct.pack(f"{order}I", after) + rest


def exif(rng: np.random.Generator) -> bytes:
    """Return an EXIF block: a directory with one of details and one of a place, and a preview."""
    order = "<>"[rng.integers(2)]

    def text(choice: tuple[str, ...]) -> bytes:
        return (
            choice[rng.integers(len(choice))].encode(
                ("utf-8", "latin-1")[rng.integers(2)], "replace"
            )
            + b"\0"
        )

    def whole(number: int) -> bytes:
        return struct.pack(f"{order}H", number)

    def fractions(*numbers: int) -> bytes:
        return struct.pack(f"{order}{2 * len(numbers)}I", *(x for n in numbers for x in (n, 100)))

    details = [(0x9003, 2, text(TIMES)), (0x9004, 2, text(TIMES)), (0x829A, 5, fractions(4))]
    details += [(0x927C, 7, b"Maker\0" + rng.bytes(int(rng.integers(0, 20_000))))]
    details += [(0x9286, 7, b"UNICODE\0" + rng.bytes(40)), (0x8827, 3, whole(200))]
    details += [(0xA434, 2, text(TEXTS))]
    details += [
        (
            0xA000 + n,
            (1, 3, 4, 5, 7, 9, 10)[n % 7],
            values((1, 3, 4, 5, 7, 9, 10)[n % 7], int(rng.integers(1, 9)), rng),
        )
        for n in range(int(rng.integers(0, 7)))
    ]
    degrees = [int(n) for n in rng.integers(0, (9000, 6000, 6000, 18000, 6000, 6000))]
    if rng.random() < 0.1:
        degrees[0] = 4_000_000_000
    gps = [(0, 1, bytes((2, 3, 0, 0))), (1, 2, b"N\0"), (2, 5, fractions(*degrees[:3]))]
    gps += [(3, 2, b"E\0"), (4, 5, fractions(*degrees[3:])), (29, 2, text(TIMES))]
    first = [(0x010F, 2, text(TEXTS)), (0x0110, 2, text(TEXTS)), (0x010E, 2, text(TEXTS))]
    first += [(0x0112, 3, whole(int(rng.integers(0, 10)))), (0x0132, 2, text(TIMES))]
    first += [(0x8298, 2, text(TEXTS)), (0x9C9B, 1, "Titel".encode("utf-16-le"))]
    # Offsets have the length of their numbers, so a first pass tells where the others stand.
    offset = f"{order}I"
    ends = [(0x8769, 4, struct.pack(offset, 0)), (0x8825, 4, struct.pack(offset, 0))]
    start = 8 + len(directory(order, 8, first + ends))
    inner = directory(order, start, details)
    place = directory(order, start + len(inner), gps)
    ends = [(0x8769, 4, struct.pack(offset, start))]
    ends += [(0x8825, 4, struct.pack(offset, start + len(inner)))]
    preview = start + len(inner) + len(place)
    small = [(0x0201, 4, struct.pack(offset, preview + 30)), (0x0202, 4, struct.pack(offset, 400))]
    block = directory(order, 8, first + ends, preview) + inner + place
    block += directory(order, preview, small) + rng.bytes(400)
    if rng.random() < 0.1:  # written by a program that stopped in the middle
        block = block[: int(rng.integers(10, len(block)))]
    return b"Exif\0\0" + {"<": b"II*\0", ">": b"MM\0*"}[order] + struct.pack(offset, 8) + block


def xmp(rng: np.random.Generator) -> bytes:
    """Return a packet with subjects and a caption; sometimes in another encoding, or cut."""
    words = [WORDS[n] for n in rng.permutation(len(WORDS))[: int(rng.integers(0, 4))]]
    items = "".join(f"<rdf:li>{word.replace('&', '&amp;')}</rdf:li>" for word in words)
    packet = (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
        'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" '
        f'xmp:Rating="5"><dc:subject><rdf:Bag>{items}</rdf:Bag></dc:subject><dc:description>'
        '<rdf:Alt><rdf:li xml:lang="x-default">Am Strand, früh</rdf:li></rdf:Alt>'
        "</dc:description></rdf:Description></rdf:RDF></x:xmpmeta>"
    )
    data = packet.encode("latin-1" if rng.random() < 0.1 else "utf-8", "replace")
    return data[: int(rng.integers(20, len(data)))] if rng.random() < 0.1 else data


def iptc(rng: np.random.Generator) -> bytes:
    """Return a block of Photoshop's with keywords and a caption, in one of two encodings."""
    coding = ("utf-8", "latin-1")[rng.integers(2)]
    caption = "Größe\r\nam Strand".encode(coding) + rng.bytes(int(rng.integers(0, 3)))
    fields = b"".join(
        b"\x1c\x02\x19" + struct.pack(">H", len(word.encode(coding))) + word.encode(coding)
        for word in WORDS[: int(rng.integers(0, 4))]
    )
    fields += b"\x1c\x02\x78" + struct.pack(">H", len(caption)) + caption
    body = fields + b"\0" * (len(fields) % 2)
    return b"Photoshop 3.0\x008BIM\x04\x04\0\0" + struct.pack(">I", len(fields)) + body


def segment(marker: int, body: bytes) -> bytes:
    """Return a segment of a JPEG."""
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def made(number: int) -> tuple[str, bytes]:
    """Return a picture with metadata drawn at random, and its name."""
    rng = np.random.default_rng(number)
    height, width = rng.integers(24, 160, 2)
    ramp = np.add.outer(np.arange(height) * rng.random(), np.arange(width) * rng.random())
    pixels = ramp[..., None] * rng.random(3) + rng.integers(0, 60, (height, width, 3))
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    if rng.random() < 0.3:
        profile = rng.bytes(int(rng.integers(1, 3000)))
    file = BytesIO()
    kind = ("JPEG", "JPEG", "JPEG", "PNG", "WEBP", "TIFF")[rng.integers(6)]
    if kind == "JPEG":
        image.save(file, kind, quality=90)
        parts = [segment(0xE1, exif(rng))]
        parts += [segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + xmp(rng))]
        parts += [segment(0xE2, b"ICC_PROFILE\0\1\1" + profile), segment(0xED, iptc(rng))]
        parts += [segment(0xFE, "Grüße".encode("latin-1")), segment(0xE5, rng.bytes(99))]
        chosen = [part for part in parts if rng.random() < 0.8]
        data = file.getvalue()
        return f"{number}.jpg", data[:2] + b"".join(chosen) + data[2:]
    options: dict[str, Any] = {"icc_profile": profile}
    if kind == "TIFF":
        options = {"compression": ("raw", "tiff_lzw", "jpeg")[rng.integers(3)]}
        options["tiffinfo"] = {315: "Ada", 306: TIMES[rng.integers(len(TIMES))], 700: xmp(rng)}
    else:
        options["exif"] = exif(rng)
    if kind == "WEBP":
        options |= {"xmp": xmp(rng), "quality": 90}
    image.save(file, kind, **options)
    return f"{number}.{kind.lower()}", file.getvalue()


def fill(folder: Path, options: Options) -> None:
    """Write the files."""
    folder.mkdir()
    for place in sorted((options.data / "camera").iterdir())[:: 3 if options.quick else 1]:
        shutil.copyfile(place, folder / place.name)
    for number in range(30 if options.quick else 1000):
        name, data = made(number)
        (folder / name).write_bytes(data)


def contents(place: Path) -> Answers:
    """Return what a collection knows of each file."""
    with Collection.open(place) as store:
        labels = store.labels.all()
        return {
            row.sha256: [
                *(row.format, row.width, row.height, row.taken, row.bytes),
                *(row.caption, row.camera, row.lens, row.latitude, row.longitude),
                *(labels.get(row.id, []), store.pictures.thumbnail(row.id).hex()),
            ]
            for row in store.pictures.all()
        }


def run_job(server: Server, body: dict[str, Any]) -> None:
    """Run a job of the server to its end."""
    _, job = server.ask("POST", "/api/jobs", body)
    while job["state"] in ("waiting", "running"):
        time.sleep(0.05)
        _, job = server.ask("GET", f"/api/jobs/{job['id']}")
    if job["state"] != "done":
        raise SystemExit(f"the job failed: {job['message']}")


def refusals(place: Path) -> Answers:
    """Return why each file was refused, by its name."""
    with Collection.open(place) as store:
        return {refused.path.name: refused.reason for refused in store.pictures.refused()}


def index(files: Path, place: Path) -> None:
    """Index a folder with the command."""
    main = "from lookalike.service.command_line import main; main()"
    subprocess.run(
        [sys.executable, "-c", main, "index", str(files), "-c", str(place), "--json"],
        check=False,
        stdout=subprocess.DEVNULL,
    )


def by_import(server: Server, files: Path, root: Path) -> Answers:
    """Import the folder on the page."""
    for file in files.iterdir():
        shutil.copyfile(file, root / file.name)
    run_job(server, {"kind": "import", "folder": str(root)})
    return {}


def by_rescan(server: Server, files: Path, root: Path) -> Answers:
    """Let a rescan find the files in a folder that is known."""
    run_job(server, {"kind": "import", "folder": str(root)})
    for file in files.iterdir():
        shutil.copyfile(file, root / file.name)
    run_job(server, {"kind": "rescan"})
    return {}


def by_watching(server: Server, files: Path, root: Path) -> Answers:
    """Let a server that watches a folder find the files."""
    run_job(server, {"kind": "import", "folder": str(root)})
    while str(root) not in server.ask("GET", "/api/status")[1]["watching"]["folders"]:
        time.sleep(0.05)
    for file in files.iterdir():
        shutil.copyfile(file, root / file.name)
    quiet, before = 0, -1
    while quiet < 40:
        status = server.ask("GET", "/api/status")[1]
        now = status["pictures"] + status["refused"]
        quiet = quiet + 1 if now == before and not status["jobs"] else 0
        before = now
        time.sleep(0.1)
    return {}


def by_upload(server: Server, files: Path, root: Path) -> Answers:
    """Upload the files one by one; return the reasons of those refused."""
    told = {}
    for file in files.iterdir():
        status, answer = server.ask(
            "POST", f"/api/pictures?name={quote(file.name)}", file.read_bytes()
        )
        if status not in (200, 201):
            told[file.name] = answer["error"]
    return told


def by_query(server: Server, files: Path, root: Path) -> Answers:
    """Search with each file in a collection that has it; return why one does not find itself."""
    told = {}
    for file in files.iterdir():
        status, answer = server.ask("POST", "/api/queries", file.read_bytes())
        if status != 200:
            told[file.name] = answer["error"]
            continue
        _, found = server.ask("GET", f"/api/search?like={answer['token']}&k=20")
        own = hashlib.sha256(file.read_bytes()).hexdigest()
        scores = [match["score"] for match in found["matches"] if match["sha256"] == own]
        if not scores or scores[0] < 1 - 1e-5:
            told[file.name] = f"found with {scores}"
    return told


def measure(options: Options) -> list[Figure]:
    """Return in how many files each way differs from the command line."""
    with tempfile.TemporaryDirectory(prefix="lookalike-") as name:
        folder = Path(name)
        files, place = folder / "files", folder / "by command"
        fill(files, options)
        index(files, place)
        expected, refused = contents(place), refusals(place)
        total = len(list(files.iterdir()))
        dated = sum(facts[3] is not None for facts in expected.values())
        captioned, named, _, placed, _ = (
            sum(facts[at] not in ("", None) for facts in expected.values()) for at in range(5, 10)
        )
        figures = [
            Figure(
                "files refused by the command line",
                len(refused),
                "<=",
                0,
                f"of {total:,}; {dated:,} have a date, {captioned:,} a caption, {named:,} a "
                f"camera, {placed:,} a place",
            )
        ]
        for way in (by_import, by_rescan, by_watching, by_upload, by_query):
            root, store = folder / f"root {way.__name__}", folder / way.__name__
            root.mkdir()
            if way is by_query:
                store = place
            else:
                Collection.create(store).close()
            more = ["--allow", str(folder), *(["--watch"] if way is by_watching else [])]
            with serving(store, *more) as server:
                told = way(server, files, root)
            told |= refusals(store) if way not in (by_query, by_upload) else {}
            after = contents(store)
            differ = {
                key for key in expected.keys() | after.keys() if expected.get(key) != after.get(key)
            }
            wrong = {
                key for key in refused.keys() | told.keys() if refused.get(key) != told.get(key)
            }
            figures.append(
                Figure(
                    f"files that differ {way.__name__.replace('_', ' ')}",
                    max(len(differ), len(wrong)),
                    "<=",
                    0,
                    "; ".join(f"{key}: {told.get(key)}" for key in sorted(wrong)[:3]),
                )
            )
    options.settings |= {"files": total, "dated": dated, "cores": os.cpu_count()}
    return figures


if __name__ == "__main__":
    main("trust/camera", measure)

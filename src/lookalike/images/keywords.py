"""Read the keywords that other programs gave a picture: in XMP sidecars, embedded XMP and IPTC.

Of what ``lookalike tag`` wrote to a sidecar, the words it had only learned are left out.
"""

import os
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from lookalike.core.errors import LookalikeError, UnreadablePicture
from lookalike.core.text import counted, first_control, label_name, word_key
from lookalike.images.find import why
from lookalike.images.iptc import JPEG, iptc_keywords
from lookalike.images.read import Limits, open_file, read_bytes
from lookalike.images.xmp import BY_BARS, BY_SLASHES, FLAT, LEARNED, Packet
from lookalike.images.xmp_elements import MAX_BYTES

MAX_KEYWORDS, MAX_CHARACTERS = 2000, 1000
"""Keywords of a picture, and characters of one, that are read."""

_PACKET_BEGINS, _PACKET_ENDS = b"<x:xmpmeta", b"</x:xmpmeta>"
_BLOCK = 1 << 20
"""Bytes that are read at once; a JPEG has its packet among the first."""


@dataclass(frozen=True, slots=True)
class Keywords:
    """The keywords of a picture's file, and why some could not be read."""

    words: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def sidecar_of(picture: Path) -> Path:
    """Return the path of a picture's sidecar."""
    own = picture.with_name(f"{picture.name}.xmp")
    shared = picture.with_suffix(".xmp")
    return shared if os.path.lexists(shared) and not os.path.lexists(own) else own


def sidecar_facts(picture: Path) -> str:
    """Return the size and time of a picture's sidecar as text; empty where there is none."""
    try:
        facts = sidecar_of(picture).stat()
    except (OSError, ValueError):
        return ""
    return f"{facts.st_size} {facts.st_mtime_ns}"


def embedded_packet(file: BinaryIO) -> bytes | None:
    """Return the XMP packet inside a picture's file, wherever its format puts it.

    The file is read in blocks. Of a packet of more than MAX_BYTES, which no reader takes, the
    rest is left out.
    """
    kept = bytearray()
    while block := file.read(_BLOCK):
        kept += block
        start = kept.find(_PACKET_BEGINS)
        if start < 0:
            del kept[: 1 - len(_PACKET_BEGINS)]
            continue
        del kept[:start]
        end = kept.find(_PACKET_ENDS, max(0, len(kept) - len(block) - len(_PACKET_ENDS)))
        if end >= 0:
            return bytes(kept[: end + len(_PACKET_ENDS)])
        if len(kept) > MAX_BYTES:
            return bytes(kept)
    return None


def read_keywords(picture: Path, limits: Limits | None = None) -> Keywords:
    """Return the keywords of a picture, each once; what cannot be read is a problem, no error."""
    words: dict[str, str] = {}
    problems: list[str] = []
    left_out = set()

    def take(result: list[str]) -> None:
        for name in filter(None, map(label_name, result)):
            key = word_key(name)
            full = len(words) == MAX_KEYWORDS and key not in words
            if full or len(name) > MAX_CHARACTERS or first_control(name) is not None:
                left_out.add(key)
            else:
                words.setdefault(key, name)

    try:
        embedded, keywords = _embedded(picture, limits)
    except LookalikeError as error:
        return Keywords((), (f"{picture}: {error}",))
    packets = [(picture, embedded)]
    place, within = sidecar_of(picture), None if limits is None else limits.within
    if os.path.lexists(place):
        try:
            packets.append((place, read_bytes(place, Limits(max_bytes=MAX_BYTES, within=within))))
        except LookalikeError as error:
            problems.append(f"{place}: its keywords were not read: {error}")
    for file, packet in packets:
        if packet is not None:
            try:
                take(_subjects(Packet(packet)))
            except LookalikeError as error:
                problems.append(f"{file}: its keywords were not read: {error}")
    unknown = 0
    for keyword in keywords:
        try:
            take([keyword.decode("utf-8")])
        except UnicodeDecodeError:
            unknown += 1
    if unknown:
        problems.append(
            f"{picture}: its IPTC keywords that are not in UTF-8 were not read ({unknown})"
        )
    if left_out:
        problems.append(
            f"{picture}: {counted(len(left_out), 'keyword')} left out; up to {MAX_KEYWORDS:,} "
            f"are kept, each of up to {MAX_CHARACTERS:,} characters, none a control character"
        )
    return Keywords(tuple(words.values()), tuple(problems))


def _embedded(picture: Path, limits: Limits | None) -> tuple[bytes | None, list[bytes]]:
    """Return the XMP packet and the IPTC keywords inside a picture's file."""
    file, _ = open_file(picture, limits)
    try:
        with file:
            head = file.read(_BLOCK)
            if head.startswith(JPEG):
                packet = embedded_packet(BytesIO(head))
            else:
                file.seek(0)
                packet = embedded_packet(file)
            return packet, iptc_keywords(file, MAX_KEYWORDS)
    except OSError as error:
        raise UnreadablePicture(f"cannot read it: {why(error)}") from error


def _subjects(packet: Packet) -> list[str]:
    """Return the words of all lists, of paths the last level, without those that were learned."""
    learned = {word_key(label_name(word)) for word in packet.subjects(LEARNED)}
    words = packet.subjects(FLAT)
    for kind, sign in ((BY_BARS, "|"), (BY_SLASHES, "/")):
        words += [path.rsplit(sign, 1)[-1] for path in packet.subjects(kind)]
    return [word for word in words if word_key(label_name(word)) not in learned]

"""Read the keywords that other programs gave a picture: in XMP sidecars, embedded XMP and IPTC.

Of what ``lookalike tag`` wrote to a sidecar, the words it had only learned are left out.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Protocol

from lookalike.core.errors import LookalikeError
from lookalike.core.text import counted, first_control, label_name, word_key
from lookalike.images.find import why
from lookalike.images.iptc import JPEG, iptc_keywords
from lookalike.images.read import Limits, open_file
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


class ReadWords(Protocol):
    """A function that reads keywords as :func:`keywords_in` does, perhaps in another process."""

    def __call__(self, file: BinaryIO, *, sidecar: bool = False) -> Keywords:
        """Return the keywords in a file."""
        ...


def read_keywords(
    picture: Path, limits: Limits | None = None, read: ReadWords | None = None
) -> Keywords:
    """Return the keywords of a picture, each once; what cannot be read is a problem, no error.

    ``read`` is used instead of :func:`keywords_in`.
    """
    allowed, place = limits or Limits(), sidecar_of(picture)
    words = _Words()
    problems: list[str] = []
    files = [(picture, allowed)]
    if os.path.lexists(place):
        files.append((place, Limits(max_bytes=MAX_BYTES, within=allowed.within)))
    for path, limit in files:
        try:
            with open_file(path, limit)[0] as file:
                result = (read or keywords_in)(file, sidecar=path == place)
        except (LookalikeError, OSError) as error:
            reason = f"cannot read it: {why(error)}" if isinstance(error, OSError) else f"{error}"
            if path == picture:
                return Keywords((), (f"{path}: {reason}",))
            result = Keywords((), (f"its keywords were not read: {reason}",))
        words.take(result.words)
        problems += [f"{path}: {problem}" for problem in result.problems]
    return Keywords(tuple(words.names.values()), (*problems, *words.problems(f"{picture}: ")))


def keywords_in(file: BinaryIO, *, sidecar: bool = False) -> Keywords:
    """Return the keywords inside the file of a picture, or in a sidecar, and problems."""
    words = _Words()
    problems: list[str] = []
    packet, keywords = (file.read(), list[bytes]()) if sidecar else _embedded(file)
    if packet is not None:
        try:
            words.take(_subjects(Packet(packet)))
        except LookalikeError as error:
            problems.append(f"its keywords were not read: {error}")
    unknown = 0
    for keyword in keywords:
        try:
            words.take([keyword.decode("utf-8")])
        except UnicodeDecodeError:
            unknown += 1
    if unknown:
        problems.append(f"its IPTC keywords that are not in UTF-8 were not read ({unknown})")
    return Keywords(tuple(words.names.values()), (*problems, *words.problems()))


class _Words:
    """Keywords, each once, as many and as long as are kept."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._left_out: set[str] = set()

    def take(self, result: Iterable[str]) -> None:
        for name in filter(None, map(label_name, result)):
            key = word_key(name)
            full = len(self.names) == MAX_KEYWORDS and key not in self.names
            if full or len(name) > MAX_CHARACTERS or first_control(name) is not None:
                self._left_out.add(key)
            else:
                self.names.setdefault(key, name)

    def problems(self, whose: str = "") -> list[str]:
        if not self._left_out:
            return []
        return [
            f"{whose}{counted(len(self._left_out), 'keyword')} left out; up to {MAX_KEYWORDS:,} "
            f"are kept, each of up to {MAX_CHARACTERS:,} characters, none a control character"
        ]


def _embedded(file: BinaryIO) -> tuple[bytes | None, list[bytes]]:
    """Return the XMP packet and the IPTC keywords inside a picture's file."""
    head = file.read(_BLOCK)
    if head.startswith(JPEG):
        packet = embedded_packet(BytesIO(head))
    else:
        file.seek(0)
        packet = embedded_packet(file)
    return packet, iptc_keywords(file, MAX_KEYWORDS)


def _subjects(packet: Packet) -> list[str]:
    """Return the words of all lists, of paths the last level, without those that were learned."""
    learned = {word_key(label_name(word)) for word in packet.subjects(LEARNED)}
    words = packet.subjects(FLAT)
    for kind, sign in ((BY_BARS, "|"), (BY_SLASHES, "/")):
        words += [path.rsplit(sign, 1)[-1] for path in packet.subjects(kind)]
    return [word for word in words if word_key(label_name(word)) not in learned]

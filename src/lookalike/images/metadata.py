"""Read what other programs wrote about a picture: in XMP sidecars, embedded XMP, IPTC and EXIF.

Of what ``lookalike tag`` wrote to a sidecar, the words it had only learned are left out. A caption
has what every one of them says, each text once.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Protocol

from lookalike.core.errors import LookalikeError
from lookalike.core.text import counted, first_control, label_name, word_key
from lookalike.images.details import (
    MAX_CAPTION,
    NOTHING,
    Details,
    camera_name,
    cleaned,
    decoded,
    is_placeholder,
    joined,
)
from lookalike.images.exif import exif_details
from lookalike.images.find import why
from lookalike.images.iptc import JPEG, Texts, iptc_texts
from lookalike.images.read import Limits, open_file
from lookalike.images.xmp import (
    BY_BARS,
    BY_SLASHES,
    CAMERA,
    DESCRIPTION,
    FLAT,
    LATITUDE,
    LEARNED,
    LENSES,
    LONGITUDE,
    MAKER,
    Packet,
    Subjects,
)
from lookalike.images.xmp_elements import MAX_BYTES

MAX_KEYWORDS, MAX_CHARACTERS = 2000, 1000
"""Keywords of a picture, and characters of one, that are read."""

_PACKET_BEGINS, _PACKET_ENDS = b"<x:xmpmeta", b"</x:xmpmeta>"
_COORDINATE = re.compile(
    r"(\d{1,3}),(\d{1,2}(?:\.\d{1,20})?)(?:,(\d{1,2}(?:\.\d{1,20})?))?([NSEW])", re.ASCII
)
_BLOCK = 1 << 20
"""Bytes that are read at once; a JPEG has its packet among the first."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The keywords of a picture's file, what else it says, and why some could not be read."""

    words: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    details: Details = NOTHING


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


class MetadataReader(Protocol):
    """A function that reads metadata as :func:`metadata_in` does, perhaps in another process."""

    def __call__(self, file: BinaryIO, *, sidecar: bool = False) -> Metadata:
        """Return the metadata in a file."""
        ...


def read_metadata(
    picture: Path, limits: Limits | None = None, read: MetadataReader | None = None
) -> Metadata:
    """Return the metadata of a picture's files; what cannot be read is a problem, no error.

    What the sidecar says counts before what the file says.

    ``read`` is used instead of :func:`metadata_in`.
    """
    allowed, place = limits or Limits(), sidecar_of(picture)
    words, details = _Words(), Details()
    problems: list[str] = []
    files = [(picture, allowed)]
    if os.path.lexists(place):
        files.append((place, Limits(max_bytes=MAX_BYTES, within=allowed.within)))
    for path, limit in files:
        try:
            with open_file(path, limit)[0] as file:
                result = (read or metadata_in)(file, sidecar=path == place)
        except (LookalikeError, OSError) as error:
            reason = f"cannot read it: {why(error)}" if isinstance(error, OSError) else f"{error}"
            if path == picture:
                return Metadata((), (f"{path}: {reason}",))
            result = Metadata((), (f"its keywords were not read: {reason}",))
        words.take(result.words)
        details = result.details.with_more(details)
        problems += [f"{path}: {problem}" for problem in result.problems]
    problems += words.problems(f"{picture}: ")
    return Metadata(tuple(words.names.values()), tuple(problems), details)


def metadata_in(file: BinaryIO, *, sidecar: bool = False) -> Metadata:
    """Return the metadata inside the file of a picture, or in a sidecar, and problems."""
    words, details = _Words(), Details()
    captions: list[str] = []
    problems: list[str] = []
    content, texts = (file.read(), Texts()) if sidecar else _embedded(file)
    if content is not None:
        try:
            packet = Packet(content)
            words.take(_subjects(packet))
            captions += map(cleaned, packet.subjects(DESCRIPTION))
            details = _details(packet)
        except LookalikeError as error:
            problems.append(f"its keywords were not read: {error}")
    captions.append(cleaned(decoded(texts.caption)))
    unknown = 0
    for keyword in texts.keywords:
        try:
            words.take([keyword.decode("utf-8")])
        except UnicodeDecodeError:
            unknown += 1
    if unknown:
        problems.append(f"its IPTC keywords that are not in UTF-8 were not read ({unknown})")
    if not sidecar:
        details = exif_details(file).with_more(details)
        captions.append(details.caption)
    caption = joined(one for one in captions if not is_placeholder(one))
    if len(caption) > MAX_CAPTION:
        problems.append(f"of its caption, the first {MAX_CAPTION:,} characters were read")
    details = replace(details, caption=caption[:MAX_CAPTION].strip())
    return Metadata(tuple(words.names.values()), (*problems, *words.problems()), details)


def _details(packet: Packet) -> Details:
    """Return what a packet says of camera, lens and place."""

    def first(*kinds: Subjects) -> str:
        return next((text for kind in kinds for text in packet.subjects(kind)), "")

    return Details.of(
        camera=camera_name(first(MAKER), first(CAMERA)),
        lens=first(*LENSES),
        latitude=_degrees(first(LATITUDE), "NS"),
        longitude=_degrees(first(LONGITUDE), "EW"),
    )


def _degrees(text: str, signs: str) -> float | None:
    """Return degrees from those, minutes and seconds as XMP writes them.

    Examples
    --------
    >>> _degrees("48,12.5N", "NS"), _degrees("16,22,30W", "EW"), _degrees("48.2", "NS")
    (48.208333333333336, -16.375, None)
    """
    pattern = _COORDINATE.fullmatch(text)
    if pattern is None or pattern[4] not in signs:
        return None
    degrees, minutes, seconds = (float(part or 0) for part in pattern.groups()[:3])
    if minutes > 60 or seconds > 60:
        return None
    return (degrees + minutes / 60 + seconds / 3600) * (1 if pattern[4] == signs[0] else -1)


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


def _embedded(file: BinaryIO) -> tuple[bytes | None, Texts]:
    """Return the XMP packet and the IPTC texts inside a picture's file."""
    head = file.read(_BLOCK)
    if head.startswith(JPEG):
        packet = embedded_packet(BytesIO(head))
    else:
        file.seek(0)
        packet = embedded_packet(file)
    return packet, iptc_texts(file, MAX_KEYWORDS)


def _subjects(packet: Packet) -> list[str]:
    """Return the words of all lists, of paths the last level, without those that were learned."""
    learned = {word_key(label_name(word)) for word in packet.subjects(LEARNED)}
    words = packet.subjects(FLAT)
    for kind, sign in ((BY_BARS, "|"), (BY_SLASHES, "/")):
        words += [path.rsplit(sign, 1)[-1] for path in packet.subjects(kind)]
    return [word for word in words if word_key(label_name(word)) not in learned]

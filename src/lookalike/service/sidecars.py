"""Write tags beside pictures: XMP sidecars, which darktable, digiKam and immich read.

The sidecar of ``photo.jpg`` is ``photo.jpg.xmp``, the name all three look for. Where only
``photo.xmp`` is there, the name Lightroom gives, that one is added to: immich reads one of the two,
``photo.jpg.xmp`` first, so that a second file would hide all the first one says.

A tag is written to ``dc:subject`` as a flat word, and with the levels above it to
``lr:hierarchicalSubject`` (``animal|cat``) and ``digiKam:TagsList`` (``animal/cat``). Where a level
itself holds ``|`` or ``/``, the other of the two is written in the list it would divide, as immich
does.

What a sidecar holds stays, and nothing is said twice: words are compared whatever their case and
Unicode form; a word alone is there already if it is a level of some path, and a path if a longer
one begins with it. Programs read one list and leave the others: digiKam and immich
``digiKam:TagsList``, then ``lr:hierarchicalSubject``; darktable the latter, then ``dc:subject``.
So that no tag is hidden and none grows stale,

- a sidecar with one of the two lists of paths keeps to it, since its program would not keep the
  other one true;
- new lists of paths begin with the words of ``dc:subject``;
- a sidecar without any subject begins with those embedded in the picture.
"""

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from lookalike.core.arrays import write_whole
from lookalike.core.errors import InvalidInput, LookalikeError
from lookalike.core.progress import Progress, silent
from lookalike.core.text import word_key, xml_text
from lookalike.images import Limits, Refused, read_bytes
from lookalike.images.find import why
from lookalike.service.xmp import ALL, BY_BARS, BY_SLASHES, EMPTY, FLAT, Packet, Subjects
from lookalike.service.xmp_elements import MAX_BYTES

if TYPE_CHECKING:
    from lookalike.supervision import TagTree

Levels: TypeAlias = tuple[str, ...]
"""A word with those above it, from the top down."""

_PACKET_BEGINS, _PACKET_ENDS = b"<x:xmpmeta", b"</x:xmpmeta>"
_SIGNS = {BY_BARS: ("|", "/"), BY_SLASHES: ("/", "|")}
"""What stands between levels, and what stands for that sign inside one."""


@dataclass(slots=True)
class Sidecars:
    """What :func:`write_sidecars` did.

    Attributes
    ----------
    written : list of Path
        Sidecars made or added to.
    unchanged : int
        Sidecars, or pictures, that had every tag already.
    refused : list of Refused
        Sidecars left as they are, each with the reason.
    """

    written: list[Path] = field(default_factory=list)
    unchanged: int = 0
    refused: list[Refused] = field(default_factory=list)


def write_sidecars(
    tags: Mapping[Path, Sequence[str]],
    tree: "TagTree | None" = None,
    *,
    progress: Progress = silent,
) -> Sidecars:
    """Add words to the sidecars of pictures; what fails is listed, and the others go on.

    A sidecar is replaced whole and keeps its mode. One that is damaged, foreign, a link or
    read-only is left as it is.

    Parameters
    ----------
    tags : mapping of Path to sequence of str
        The words of each picture; nothing is done where there are none.
    tree : TagTree, optional
        Where words have their levels from, see :func:`levels`.
    progress : callable
        Told how many pictures are done, and of how many.

    Returns
    -------
    Sidecars
    """
    done = Sidecars()
    for number, (picture, words) in enumerate(tags.items(), start=1):
        place = sidecar_of(picture)
        try:
            written = _add(place, picture, [levels(word, tree) for word in words])
        except LookalikeError as error:
            done.refused.append(Refused(place, str(error)))
        except OSError as error:
            done.refused.append(Refused(place, f"cannot be written: {why(error)}"))
        else:
            if written:
                done.written.append(place)
            elif words:
                done.unchanged += 1
        progress(number, len(tags))
    return done


def sidecar_of(picture: Path) -> Path:
    """Name the sidecar of a picture."""
    own = picture.with_name(f"{picture.name}.xmp")
    shared = picture.with_suffix(".xmp")
    return shared if os.path.lexists(shared) and not os.path.lexists(own) else own


def levels(word: str, tree: "TagTree | None" = None) -> Levels:
    """Return the levels of a word: as the tree has them, or where it does not, as ``/`` divides it.

    Examples
    --------
    >>> levels("animal/cat"), levels("cat")
    (('animal', 'cat'), ('cat',))
    """
    if tree is not None and word in tree:
        # A tree of words that are paths themselves names each with all that is above it.
        way = ("", *tree.path(word))
        steps = [below.removeprefix(f"{above}/") for above, below in pairwise(way)]
    else:
        steps = word.split("/")
    found = tuple(filter(None, map(xml_text, steps)))
    return found or tuple(filter(None, [xml_text(word)]))


def _add(place: Path, picture: Path, paths: Sequence[Levels]) -> bool:
    """Add to the sidecar at ``place``; say whether there was anything to add."""
    mode = _mode(place)
    content = EMPTY if mode is None else read_bytes(place, Limits(max_bytes=MAX_BYTES))
    packet = Packet(content)
    if not any(packet.subjects(kind) for kind in ALL):
        packet = Packet(packet.with_subjects(_embedded(picture)))
    missing = _missing(packet, [path for path in paths if path])
    if not any(missing.values()):
        return False
    write_whole(place, packet.with_subjects(missing))
    if mode is not None:
        place.chmod(mode)
    return True


def _mode(place: Path) -> int | None:
    """Return the mode of a sidecar that may be replaced; None where there is none yet."""
    try:
        mode = place.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        raise InvalidInput("a link, which is not followed; put a file in its place")
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EACCES, "it is read-only")
    return stat.S_IMODE(mode)


def _embedded(picture: Path) -> dict[Subjects, list[str]]:
    """Return the subjects in the packet that a picture carries, wherever its format puts it."""
    try:
        content = read_bytes(picture)
        start = max(0, content.find(_PACKET_BEGINS))
        end = content.find(_PACKET_ENDS, start) + len(_PACKET_ENDS)
        packet = Packet(content[start:end])
    except LookalikeError:
        return {}
    return {kind: [*filter(None, map(xml_text, packet.subjects(kind)))] for kind in ALL}


def _missing(packet: Packet, paths: Sequence[Levels]) -> dict[Subjects, list[str]]:
    """Return what is to be added to each list."""
    flat = packet.subjects(FLAT)
    words = {word_key(word): "" for word in flat}
    for path in paths:
        words.setdefault(word_key(path[-1]), path[-1])
    found = {FLAT: [*filter(None, words.values())]}
    kept = [kind for kind in _SIGNS if packet.subjects(kind)]
    wanted = paths if kept else [*((xml_text(word),) for word in flat), *paths]
    for kind in kept or _SIGNS:
        found[kind] = _missing_paths(packet.subjects(kind), wanted, *_SIGNS[kind])
    return found


def _missing_paths(
    listed: Sequence[str], wanted: Sequence[Levels], between: str, inside: str
) -> list[str]:
    there = [_keys(path.split(between)) for path in listed]
    new: dict[Levels, str] = {}
    for path in wanted:
        steps = [step.replace(between, inside) for step in path]
        if not _said(_keys(steps), there):
            new.setdefault(_keys(steps), between.join(steps))
    return [path for keys, path in new.items() if not _said(keys, [k for k in new if k != keys])]


def _said(path: Levels, others: Sequence[Levels]) -> bool:
    if len(path) == 1:
        return any(path[0] in other for other in others)
    return any(other[: len(path)] == path for other in others)


def _keys(steps: Sequence[str]) -> Levels:
    return tuple(word_key(step.strip()) for step in steps if step.strip())

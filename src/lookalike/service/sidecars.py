"""Write words to XMP sidecars next to pictures, as darktable, digiKam and immich read them.

The sidecar of ``photo.jpg`` is ``photo.jpg.xmp``, the name all three look for. If only
``photo.xmp`` exists, the name Lightroom uses, words are added to that file instead: immich reads
only one of the two, ``photo.jpg.xmp`` first, so a second file would hide the first.

A word is written to ``dc:subject`` by itself, and with the levels above it to
``lr:hierarchicalSubject`` (``animal|cat``) and ``digiKam:TagsList`` (``animal/cat``). If a level
itself contains the separator of a list, the other separator is written in its place, as immich
does.

Existing content is kept, and nothing is written twice: words are compared ignoring case and
Unicode form; a single word is already there if it is a level of some path, and a path if a longer
one begins with it. Programs read one list and ignore the others: digiKam and immich
``digiKam:TagsList``, then ``lr:hierarchicalSubject``; darktable the latter, then ``dc:subject``.
So that no word is hidden or goes stale,

- a sidecar with only one of the two lists of paths gets no other one, since its program would not
  keep that up to date;
- new lists of paths begin with the words of ``dc:subject``;
- a sidecar without any subject begins with those embedded in the picture.
"""

import errno
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from lookalike.core.arrays import write_whole
from lookalike.core.errors import InvalidInput, LookalikeError
from lookalike.core.progress import Progress, silent
from lookalike.core.text import word_key, xml_text
from lookalike.images import Limits, Refused, read_bytes
from lookalike.images.find import why
from lookalike.images.metadata import embedded_packet, sidecar_of
from lookalike.images.xmp import ALL, BY_BARS, BY_SLASHES, EMPTY, FLAT, LEARNED, Packet, Subjects
from lookalike.images.xmp_elements import MAX_BYTES

if TYPE_CHECKING:
    from lookalike.supervision import TagTree

Levels: TypeAlias = tuple[str, ...]
"""A word and those above it, from the top down."""

_SIGNS = {BY_BARS: ("|", "/"), BY_SLASHES: ("/", "|")}
"""The separator of levels, and its replacement inside a level."""


@dataclass(slots=True)
class Sidecars:
    """What :func:`write_sidecars` did.

    Attributes
    ----------
    written : list of Path
        Sidecars created or extended.
    unchanged : int
        Number of sidecars that already had every word.
    refused : list of Refused
        Sidecars left unchanged, each with the reason.
    """

    written: list[Path] = field(default_factory=list)
    unchanged: int = 0
    refused: list[Refused] = field(default_factory=list)


def write_sidecars(
    tags: Mapping[Path, Sequence[str]],
    tree: "TagTree | None" = None,
    *,
    learned: Mapping[Path, Collection[str]] | None = None,
    progress: Progress = silent,
) -> Sidecars:
    """Add words to the sidecars of pictures; failures are listed and do not stop the others.

    A sidecar is replaced atomically and keeps its mode. One that is damaged, not XMP, a link or
    read-only is left unchanged.

    Parameters
    ----------
    tags : mapping of Path to sequence of str
        The words of each picture; a picture without words is skipped.
    tree : TagTree, optional
        Gives the levels of words, see :func:`levels`.
    learned : mapping of Path to collection of str, optional
        Those of the words that nobody gave: what is added of them is also listed in
        ``lookalike:learned``, so that it is told apart.
    progress : callable
        Called with the number of pictures done and the total.

    Returns
    -------
    Sidecars
    """
    done = Sidecars()
    for number, (picture, words) in enumerate(tags.items(), start=1):
        place = sidecar_of(picture)
        try:
            result = frozenset(map(word_key, (learned or {}).get(picture, ())))
            written = _add(place, picture, [levels(word, tree) for word in words], result)
        except LookalikeError as error:
            done.refused.append(Refused(place, str(error)))
        except OSError as error:
            done.refused.append(Refused(place, f"cannot write it: {why(error)}"))
        else:
            if written:
                done.written.append(place)
            elif words:
                done.unchanged += 1
        progress(number, len(tags))
    return done


def levels(word: str, tree: "TagTree | None" = None) -> Levels:
    """Return the levels of a word: from the tree, or else by splitting it at ``/``.

    Examples
    --------
    >>> levels("animal/cat"), levels("cat")
    (('animal', 'cat'), ('cat',))
    """
    if tree is not None and word in tree:
        # In a tree whose words are paths, each word contains those above it.
        way = ("", *tree.path(word))
        steps = [below.removeprefix(f"{above}/") for above, below in pairwise(way)]
    else:
        steps = word.split("/")
    result = tuple(filter(None, map(xml_text, steps)))
    return result or tuple(filter(None, [xml_text(word)]))


def _add(place: Path, picture: Path, paths: Sequence[Levels], learned: Collection[str]) -> bool:
    """Add to the sidecar at ``place``; return whether there was anything to add."""
    mode = _mode(place)
    content = EMPTY if mode is None else read_bytes(place, Limits(max_bytes=MAX_BYTES))
    packet = Packet(content)
    if not any(packet.subjects(kind) for kind in ALL):
        packet = Packet(packet.with_subjects(_embedded(picture)))
    missing = _missing(packet, [path for path in paths if path])
    missing[LEARNED] = [
        path[-1] for path in paths if path and path[-1] in missing[FLAT] and _is_in(path, learned)
    ]
    if not any(missing.values()):
        return False
    write_whole(place, packet.with_subjects(missing))
    if mode is not None:
        place.chmod(mode)
    return True


def _is_in(path: Levels, words: Collection[str]) -> bool:
    return word_key("/".join(path)) in words or word_key(path[-1]) in words


def _mode(place: Path) -> int | None:
    """Return the mode of a sidecar that may be replaced; None if there is none yet."""
    try:
        mode = place.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        raise InvalidInput("it is a link, which is not followed; replace it by a file")
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EACCES, "it is read-only")
    return stat.S_IMODE(mode)


def _embedded(picture: Path) -> dict[Subjects, list[str]]:
    """Return the subjects embedded in a picture, wherever its format puts them."""
    try:
        packet = Packet(embedded_packet(BytesIO(read_bytes(picture))) or EMPTY)
    except LookalikeError:
        return {}
    return {kind: [*filter(None, map(xml_text, packet.subjects(kind)))] for kind in ALL}


def _missing(packet: Packet, paths: Sequence[Levels]) -> dict[Subjects, list[str]]:
    """Return what to add to each list."""
    flat = packet.subjects(FLAT)
    words = {word_key(word): "" for word in flat}
    for path in paths:
        words.setdefault(word_key(path[-1]), path[-1])
    result = {FLAT: [*filter(None, words.values())]}
    kept = [kind for kind in _SIGNS if packet.subjects(kind)]
    wanted = paths if kept else [*((xml_text(word),) for word in flat), *paths]
    for kind in kept or _SIGNS:
        result[kind] = _missing_paths(packet.subjects(kind), wanted, *_SIGNS[kind])
    return result


def _missing_paths(
    listed: Sequence[str], wanted: Sequence[Levels], between: str, inside: str
) -> list[str]:
    there = [_keys(path.split(between)) for path in listed]
    new: dict[Levels, str] = {}
    for path in wanted:
        steps = [step.replace(between, inside) for step in path]
        if not _is_implied(_keys(steps), there):
            new.setdefault(_keys(steps), between.join(steps))
    return [
        path for keys, path in new.items() if not _is_implied(keys, [k for k in new if k != keys])
    ]


def _is_implied(path: Levels, others: Sequence[Levels]) -> bool:
    if len(path) == 1:
        return any(path[0] in other for other in others)
    return any(other[: len(path)] == path for other in others)


def _keys(steps: Sequence[str]) -> Levels:
    return tuple(word_key(step.strip()) for step in steps if step.strip())

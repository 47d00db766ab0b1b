"""Describe files: paths come in; for each, in order, its records or the reason for failure."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lookalike.core.checks import check_whole
from lookalike.core.errors import CollectionError, InvalidInput, LookalikeError, UnreadablePicture
from lookalike.features.base import Feature
from lookalike.images import (
    Decode,
    Facts,
    Limits,
    Picture,
    Refused,
    content_hash,
    decode,
    read_bytes,
    thumbnail,
)

_AHEAD = 4  # files that each thread may be ahead of the reader

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Described:
    """A picture that was read and described."""

    path: Path
    facts: Facts
    records: tuple[bytes, ...]
    """The record of each feature, in the order of the features."""
    thumbnail: bytes | None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A picture whose content is already known; it was not decoded."""

    path: Path
    sha256: str


def never(sha256: str) -> bool:
    """Return False: no picture is known."""
    return False


def describe_files(
    paths: Iterable[str | Path],
    features: Sequence[Feature],
    *,
    limits: Limits | None = None,
    known: Callable[[str], bool] = never,
    thumbnail_side: int | None = None,
    threads: int | None = None,
    decode: Decode = decode,
) -> Iterator[Described | Unchanged | Refused]:
    """Read files, decode each once and describe it with all features, in the order of ``paths``.

    Files are processed by :func:`map_pictures`. If a feature raises a :class:`LookalikeError`, the
    result is a :class:`Refused`; any other exception ends the run.

    Parameters
    ----------
    paths : iterable of str or Path
        Consumed as needed.
    features : sequence of Feature
        A picture is decoded at the largest size that one of them, or the thumbnail, needs.
    limits : Limits, optional
        The limits on a picture's size.
    known : callable
        Given the SHA-256 of the content, returns whether the picture need not be described. It is
        called from several threads at once.
    thumbnail_side : int, optional
        The longer side of the thumbnails; none are made by default.
    threads : int, optional
        By default one per core.
    decode : callable
        What decodes pictures; by default in this process.

    Yields
    ------
    Described, Known or Refused
    """
    used = tuple(features)
    if not used:
        raise InvalidInput("describe_files: features must contain at least one feature; got none.")
    if thumbnail_side is not None:
        check_whole("describe_files", "thumbnail_side", thumbnail_side, 1)

    def describe(path: Path, picture: Picture) -> Described:
        records = tuple(feature.record(picture.image) for feature in used)
        preview = None if thumbnail_side is None else thumbnail(picture.image, thumbnail_side)
        return Described(path, picture.facts, records, preview)

    return map_pictures(
        paths,
        describe,
        side=decode_side(used, thumbnail_side),
        limits=limits,
        known=known,
        threads=threads,
        decode=decode,
    )


def map_pictures(
    paths: Iterable[str | Path],
    work: Callable[[Path, Picture], T],
    *,
    side: int | None = None,
    limits: Limits | None = None,
    known: Callable[[str], bool] = never,
    threads: int | None = None,
    decode: Decode = decode,
) -> Iterator[T | Unchanged | Refused]:
    """Read and decode files on all cores, and yield what ``work`` returns for each, in order.

    Each thread processes one file at a time from start to end, so no more than ``threads``
    pictures are decoded at any time, and only a few files are processed ahead of the reader. If a
    file is damaged, or ``work`` raises a :class:`LookalikeError`, the result is a :class:`Refused`
    and the run continues; any other exception of ``work``, any of ``known``, and a decoder that
    does not start or shuts down (CollectionError) end it. Closing the iterator stops the threads
    after their current files.

    Parameters
    ----------
    paths : iterable of str or Path
        Consumed as needed.
    work : callable
        Takes the path and the decoded picture, on one of several threads.
    side : int, optional
        The shortest side at which pictures may be decoded; by default full size.
    limits, known, threads, decode
        As for :func:`describe_files`.
    """
    workers = os.cpu_count() or 1
    if threads is not None:
        workers = check_whole("describe_files", "threads", threads, 1)
    allowed = limits or Limits()

    def outcome(path: Path) -> T | Unchanged | Refused:
        try:
            data = read_bytes(path, allowed)
            sha256 = content_hash(data)
        except UnreadablePicture as error:
            return Refused(path, str(error))
        if known(sha256):
            return Unchanged(path, sha256)
        try:
            return work(path, decode(data, allowed, side=side))
        except CollectionError:
            raise
        except LookalikeError as error:
            return Refused(path, str(error))

    return _in_order(outcome, map(Path, paths), workers)


def decode_side(features: Sequence[Feature], thumbnail_side: int | None) -> int | None:
    """Return the side at which features, and perhaps a thumbnail, need a picture; None for full."""
    sides = [feature.decode_side for feature in features]
    needed = [side for side in sides if side is not None]
    return max([*needed, thumbnail_side or 1]) if len(needed) == len(sides) else None


def _in_order(work: Callable[[Path], T], paths: Iterator[Path], threads: int) -> Iterator[T]:
    """Map on threads and yield in order, with a bounded number of results waiting."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="describe")
    waiting: deque[Future[T]] = deque()
    try:
        for path in paths:
            waiting.append(pool.submit(work, path))
            if len(waiting) > _AHEAD * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)

"""Describe files: paths come in, and for each, in order, its vector or the reason why not."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.core.errors import InvalidInput, LookalikeError, UnreadablePicture
from lookalike.features.base import Feature
from lookalike.images import (
    Facts,
    Limits,
    Refused,
    content_hash,
    decode,
    read_bytes,
    thumbnail,
)

_AHEAD = 4  # files a thread may be ahead of the reader


@dataclass(frozen=True, slots=True)
class Described:
    """A picture that was read and described."""

    path: Path
    facts: Facts
    vector: NDArray[np.float32] | sp.csr_matrix
    """One row: an array of shape (d,), or CSR of shape (1, d) where the feature is sparse."""
    thumbnail: bytes | None


@dataclass(frozen=True, slots=True)
class Known:
    """A picture whose content is known already; it was not decoded."""

    path: Path
    sha256: str


Outcome: TypeAlias = Described | Known | Refused


def never(sha256: str) -> bool:
    """Know no picture."""
    return False


def describe_files(
    paths: Iterable[str | Path],
    feature: Feature,
    *,
    limits: Limits | None = None,
    known: Callable[[str], bool] = never,
    thumbnail_side: int | None = None,
    threads: int | None = None,
) -> Iterator[Outcome]:
    """Read, decode and describe files on all cores, in the order of ``paths``.

    Each thread carries one file from its bytes to its vector, so no more than ``threads``
    pictures are decoded at any time, and only a few files are worked on ahead of the reader. A
    broken file, or one on which ``feature`` raises a :class:`LookalikeError`, becomes a
    :class:`Refused` and the run goes on; anything else that ``feature`` raises, and all that
    ``known`` does, ends it. Closing the iterator stops the threads after the files they are at.

    Parameters
    ----------
    paths : iterable of str or Path
        Taken as they are needed.
    feature : Feature
    limits : Limits, optional
        What a picture may cost before it is refused.
    known : callable
        Told the content's SHA-256, says whether the picture needs no description. It is called
        from several threads at once.
    thumbnail_side : int, optional
        The longer side of the thumbnails; none are made by default.
    threads : int, optional
        By default one a core.

    Yields
    ------
    Described, Known or Refused
    """
    workers = (os.cpu_count() or 1) if threads is None else threads
    if not isinstance(workers, int) or workers < 1:
        raise InvalidInput(f"describe_files: threads must be an integer above 0; got {threads!r}.")
    if thumbnail_side is not None and thumbnail_side < 1:
        raise InvalidInput(f"describe_files: thumbnail_side must be above 0; got {thumbnail_side}.")
    allowed = limits or Limits()

    def describe(path: Path) -> Outcome:
        try:
            data = read_bytes(path, allowed)
            sha256 = content_hash(data)
        except UnreadablePicture as error:
            return Refused(path, str(error))
        if known(sha256):
            return Known(path, sha256)
        try:
            picture = decode(data, allowed, side=_decode_side(feature, thumbnail_side))
            rows = feature.describe([picture.image])
        except LookalikeError as error:
            return Refused(path, str(error))
        preview = None if thumbnail_side is None else thumbnail(picture.image, thumbnail_side)
        return Described(path, picture.facts, rows if feature.sparse else rows[0], preview)

    return _in_order(describe, map(Path, paths), workers)


def _decode_side(feature: Feature, thumbnail_side: int | None) -> int | None:
    if feature.decode_side is None:
        return None
    return max(feature.decode_side, thumbnail_side or 1)


def _in_order(
    work: Callable[[Path], Outcome], paths: Iterator[Path], threads: int
) -> Iterator[Outcome]:
    """Map on threads, yielding in order, with a bounded number of results waiting."""
    pool = ThreadPoolExecutor(threads, thread_name_prefix="describe")
    waiting: deque[Future[Outcome]] = deque()
    try:
        for path in paths:
            waiting.append(pool.submit(work, path))
            if len(waiting) > _AHEAD * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)

"""Describe pictures of a collection by a feature that has not seen them yet."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lookalike.collection.store import pictures, queries, rankers
from lookalike.collection.store.database import Database
from lookalike.collection.store.pictures import PictureRow
from lookalike.core.errors import (
    CollectionError,
    DecoderFailed,
    LookalikeError,
    UnreadablePicture,
)
from lookalike.core.progress import Progress, silent
from lookalike.features import Feature
from lookalike.images import Decode, Limits, content_hash, decode, read_bytes

PICTURES_TO_FIT = 2000
BATCH_PICTURES, BATCH_SECONDS = 256, 5.0
"""How much is described before it is committed, and so how much a crash can cost."""


def fit_feature(
    feature: Feature,
    paths: Sequence[Path],
    limits: Limits | None,
    progress: Progress,
    decode: Decode = decode,
) -> None:
    """Fit a feature on a sample of the files that can be read, if there are any."""
    sample = readable_pictures(paths, feature, limits, PICTURES_TO_FIT, decode=decode)
    if len(sample):
        feature.fit(sample, progress)


def readable_pictures(
    paths: Sequence[Path],
    feature: Feature,
    limits: Limits | None = None,
    most: int = PICTURES_TO_FIT,
    progress: Progress = silent,
    *,
    decode: Decode = decode,
) -> "Decoded":
    """Return a sample of the files, as a feature needs them, without those that cannot be read.

    Parameters
    ----------
    paths : sequence of Path
    feature : Feature
        It says at what size pictures are decoded.
    limits : Limits, optional
        What a picture may cost before it is left out.
    most : int
        Files that are tried.
    progress : callable
    decode : callable
        What decodes pictures.
    """
    drawn = np.random.default_rng(0).permutation(len(paths))[:most]
    sample = Decoded([paths[place] for place in sorted(drawn.tolist())], feature, limits, decode)
    files = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        readable = pool.map(sample.is_readable, range(len(sample)))
        for done, (path, good) in enumerate(zip(sample.paths, readable, strict=True), start=1):
            files += [path] if good else []
            progress(done, len(sample))
    return Decoded(files, feature, limits, decode)


class Decoded(Sequence[Any]):
    """Pictures that are decoded when asked for."""

    def __init__(
        self, paths: list[Path], feature: Feature, limits: Limits | None, decode: Decode
    ) -> None:
        self.paths = paths
        self._decode = decode
        self._feature = feature
        self._limits = limits

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, place: Any) -> Any:
        data = read_bytes(self.paths[place], self._limits)
        return self._decode(data, self._limits, side=self._feature.decode_side).image

    def is_readable(self, place: int) -> bool:
        """Return whether a picture can be decoded."""
        try:
            self[place]
        except (UnreadablePicture, DecoderFailed):
            return False
        return True


def describe_missing(
    database: Database,
    ranker: int,
    feature: Feature,
    *,
    limits: Limits | None,
    threads: int | None,
    progress: Progress,
    decode: Decode,
) -> None:
    """Describe all pictures that a ranker has no record of, in batches that are kept.

    A picture whose file cannot be read as it was is noted with the reason and tried again the
    next time. Kept queries are described from their previews, which is all that is kept of them.
    """
    _describe_queries(database, ranker, feature)
    lacking = list(rankers.undescribed(database, ranker))
    progress(0, len(lacking))
    pending: list[tuple[int, bytes | str]] = []
    committed = time.monotonic()
    workers = threads or os.cpu_count() or 1
    with ThreadPoolExecutor(workers, thread_name_prefix="describe") as pool:
        for start in range(0, len(lacking), BATCH_PICTURES):
            some = lacking[start : start + BATCH_PICTURES]
            rows = {row.id: row for row in _rows(database, some)}

            def describe(number: int, known: Any = rows) -> bytes | str:
                row = known.get(number)
                return "" if row is None else _described(row, feature, limits, decode)

            try:
                for number, outcome in zip(some, pool.map(describe, some), strict=True):
                    pending.append((number, outcome))
                    if time.monotonic() - committed > BATCH_SECONDS:
                        _commit(database, ranker, pending)
                        pending, committed = [], time.monotonic()
            finally:
                _commit(database, ranker, pending)
                pending, committed = [], time.monotonic()
            progress(min(start + BATCH_PICTURES, len(lacking)), len(lacking))


def read_picture(row: PictureRow, limits: Limits | None) -> bytes:
    """Return the file of a picture, wherever it lies as it was when it was added.

    Raises
    ------
    UnreadablePicture
        If there is none.
    """
    trouble = "it has no file"
    for place in row.places:
        try:
            data = read_bytes(place, limits)
        except UnreadablePicture as error:
            trouble = str(error)
            continue
        if content_hash(data) == row.sha256:
            return data
        trouble = "it has changed since it was added"
    raise UnreadablePicture(trouble)


def _described(
    row: PictureRow, feature: Feature, limits: Limits | None, decode: Decode
) -> bytes | str:
    """Return the record of a picture, or why there is none."""
    try:
        data = read_picture(row, limits)
        return feature.record(decode(data, limits, side=feature.decode_side).image)
    except CollectionError:
        raise  # the decoder does not start, or shuts down: no fault of this picture
    except LookalikeError as error:
        return str(error)


def _rows(database: Database, numbers: Sequence[int]) -> Iterator[PictureRow]:
    wanted = set(numbers)
    return (
        row for row in pictures.pictures(database, min(wanted), max(wanted)) if row.id in wanted
    )


def _commit(database: Database, ranker: int, outcomes: Iterable[tuple[int, bytes | str]]) -> None:
    result = list(outcomes)
    if not result:
        return
    with database.transaction() as connection:
        for number, outcome in result:
            if isinstance(outcome, bytes):
                rankers.described(connection, ranker, number, outcome)
            elif outcome:
                rankers.note_undescribed(connection, ranker, number, outcome)


def _describe_queries(database: Database, ranker: int, feature: Feature) -> None:
    records = []
    for token, jpeg in queries.queries_without(database, ranker):
        with Image.open(BytesIO(jpeg)) as image:
            records.append((token, ranker, feature.record(image.convert("RGB"))))
    with database.transaction() as connection:
        queries.add_query_records(connection, records)

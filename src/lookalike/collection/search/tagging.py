"""Give words to files: paths come in, and for each, in order, its words or the reason why not."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

from lookalike.collection.search.lexicon import Lexicon, PictureTag
from lookalike.collection.store import pictures as rows
from lookalike.collection.vectors.queries import as_it_was
from lookalike.core.progress import Progress
from lookalike.features import Described, Unchanged, describe_files
from lookalike.images import Limits, Refused

BLOCK = 512
"""Pictures whose vectors are held at a time."""

_Picture: TypeAlias = int | bytes
"""A picture of the collection by its id, or the record of another."""


@dataclass(frozen=True, slots=True)
class TaggedPicture:
    """A picture with the words that suit it, best first."""

    path: Path
    tags: tuple[PictureTag, ...]


@dataclass(frozen=True, slots=True)
class Tagging:
    """What ``tag`` came back with.

    Attributes
    ----------
    pictures : list of TaggedPicture
        In the order of the sources and sorted within each.
    refused : list of Refused
        Files, folders and patterns that could not be used, each with the reason.
    ignored : int
        Hidden files and files of another ending that folders held.
    """

    pictures: list[TaggedPicture] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    ignored: int = 0


class FileTagging:
    """What gives words, with what it takes to know the vectors of files.

    A file that lies in the collection unchanged, or has the content of a picture there, is
    tagged by what is stored; any other is read and described.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._database = lexicon.database
        self._held = set(lexicon.ranker.plain.ids.tolist())

    def tag(
        self,
        paths: Sequence[Path],
        k: int,
        min_confidence: float | None,
        *,
        limits: Limits | None,
        threads: int | None,
        progress: Progress,
    ) -> Tagging:
        """Tag files, with no more than a block of vectors in memory."""
        least = self._lexicon.least if min_confidence is None else min_confidence
        # So that what is asked for is refused before any file is read.
        self._lexicon.tags(np.zeros(0, np.int64), [], k, least)
        tagging = Tagging()
        waiting: list[tuple[Path, _Picture]] = []
        progress(0, len(paths))
        with closing(self._pictures(paths, limits, threads)) as pictures:
            for done, (path, picture) in enumerate(pictures, start=1):
                if isinstance(picture, Refused):
                    tagging.refused.append(picture)
                else:
                    waiting.append((path, picture))
                if len(waiting) == BLOCK or done == len(paths):
                    tagging.pictures.extend(self._tagged(waiting, k, least))
                    waiting = []
                progress(done, len(paths))
        return tagging

    def _pictures(
        self, paths: Sequence[Path], limits: Limits | None, threads: int | None
    ) -> Generator[tuple[Path, _Picture | Refused]]:
        stored = {path: as_it_was(path, self._database) for path in paths}
        contents: dict[str, int] = {}

        def is_known(sha256: str) -> bool:
            number = rows.find_content(self._database, sha256)
            if number is None or number not in self._held:
                return False
            contents[sha256] = number
            return True

        strangers = (path for path in paths if stored[path] not in self._held)
        outcomes = describe_files(
            strangers,
            [self._lexicon.ranker.space.feature],
            limits=limits,
            known=is_known,
            threads=threads,
        )
        for path in paths:
            number = stored[path]
            if number is not None and number in self._held:
                yield path, number
                continue
            outcome = next(outcomes)
            if isinstance(outcome, Unchanged):
                yield path, contents[outcome.sha256]
            else:
                yield path, outcome.records[0] if isinstance(outcome, Described) else outcome

    def _tagged(
        self, pictures: Sequence[tuple[Path, _Picture]], k: int, min_confidence: float
    ) -> list[TaggedPicture]:
        if not pictures:
            return []
        stored = {place: n for place, (_, n) in enumerate(pictures) if isinstance(n, int)}
        foreign = {place: v for place, (_, v) in enumerate(pictures) if not isinstance(v, int)}
        ids = np.array([*stored.values()], np.int64)
        result = self._lexicon.tags(ids, [*foreign.values()], k, min_confidence)
        tags = dict(zip([*stored, *foreign], result, strict=True))
        return [TaggedPicture(path, tuple(tags[place])) for place, (path, _) in enumerate(pictures)]

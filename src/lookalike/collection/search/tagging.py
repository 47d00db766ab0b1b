"""Give words to files: paths come in, and for each, in order, its words or the reason why not."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.tag import Tag
from lookalike.collection.ranking.ranker import Ranker
from lookalike.collection.ranking.start_words import MIN_SURE
from lookalike.collection.search.matches import Source
from lookalike.collection.store import pictures as rows
from lookalike.collection.store import rankers
from lookalike.collection.store.database import Database
from lookalike.collection.vectors.queries import as_it_was
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress
from lookalike.core.vectors import Vectors, stack_rows
from lookalike.features import Described, StartWords, Unchanged, describe_files
from lookalike.images import Limits, Refused

if TYPE_CHECKING:
    from lookalike.annotation.base import Annotator

BLOCK = 512
"""Pictures whose vectors are held at a time."""

_Picture: TypeAlias = int | bytes
"""A picture of the collection by its id, or the record of another."""


@dataclass(frozen=True, slots=True)
class PictureTag(Tag):
    """A word for a picture, and whether it was learned or known from the start."""

    source: Source = "learned"


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


class Words(Protocol):
    """What gives words to pictures: an annotator, or start words."""

    @property
    def least(self) -> float:
        """The confidence of words that are given where none is asked for."""

    def tags(
        self, ids: NDArray[np.int64], records: Sequence[bytes], k: int, least: float
    ) -> list[list[PictureTag]]:
        """Return words for pictures of the collection, then for those of records."""


@dataclass(frozen=True)
class LearnedWords:
    """The words of an annotator."""

    annotator: Annotator
    ranker: Ranker

    @property
    def least(self) -> float:
        """A half, or 0 where too few pictures had words to learn how sure one is."""
        return 0.0 if self.annotator.confidence_ is None else MIN_SURE

    def tags(
        self, ids: NDArray[np.int64], records: Sequence[bytes], k: int, least: float
    ) -> list[list[PictureTag]]:
        """Return words for pictures of the collection, then for those of records."""
        parts: list[Vectors] = [self.ranker.vectors(ids)]
        if records:
            parts.append(self.ranker.space.vectors(records))
        result = self.annotator.annotate(stack_rows(parts), k, min_confidence=least)
        return [
            [PictureTag(tag.word, tag.score, tag.confidence) for tag in tags] for tags in result
        ]


@dataclass(frozen=True)
class KnownWords:
    """The start words of a ranker's feature."""

    start: StartWords
    ranker: Ranker
    database: Database

    @property
    def least(self) -> float:
        """A half."""
        return MIN_SURE

    def tags(
        self, ids: NDArray[np.int64], records: Sequence[bytes], k: int, least: float
    ) -> list[list[PictureTag]]:
        """Return words for pictures of the collection, then for those of records."""
        if not 0 <= least <= 1:
            raise InvalidInput(f"tag: min_confidence must be from 0 to 1; got {least!r}.")
        rising = np.unique(ids)
        stored = rankers.records(self.database, self.ranker.id, rising.tolist())
        every = [*(stored[at] for at in np.searchsorted(rising, ids)), *records]
        if not every:
            return []
        with self.database.parsing("a record"):
            likely = self.start.likely(self.ranker.space.feature.vectors(every))
        return [
            [PictureTag(word, sure, sure, "start") for word, sure in words[:k]]
            for words in self.start.words(likely, least)
        ]


class FileTagging:
    """What gives words, with what it takes to know the vectors of files.

    A file that lies in the collection unchanged, or has the content of a picture there, is
    tagged by what is stored; any other is read and described.
    """

    def __init__(self, words: Words, ranker: Ranker, database: Database) -> None:
        self._words = words
        self._ranker = ranker
        self._database = database
        self._held = set(ranker.plain.ids.tolist())

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
        least = self._words.least if min_confidence is None else min_confidence
        # So that what is asked for is refused before any file is read.
        self._words.tags(np.zeros(0, np.int64), [], k, least)
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
            [self._ranker.space.feature],
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
        result = self._words.tags(ids, [*foreign.values()], k, min_confidence)
        tags = dict(zip([*stored, *foreign], result, strict=True))
        return [TaggedPicture(path, tuple(tags[place])) for place, (path, _) in enumerate(pictures)]

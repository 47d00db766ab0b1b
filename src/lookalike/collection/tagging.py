"""Name what files show: paths come in, and for each, in order, its tags or the reason why not."""

from collections.abc import Generator, Sequence
from contextlib import closing
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from lookalike.annotation import WSABIE
from lookalike.collection import rows
from lookalike.collection.database import Database
from lookalike.collection.querying import as_it_was
from lookalike.collection.records import TaggedPicture, Tagging
from lookalike.collection.serving import Serving
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress
from lookalike.core.text import word_key
from lookalike.features import Described, Known, Vectors, describe_files
from lookalike.images import Limits, Refused

SURE_ENOUGH = 0.5
"""The confidence of words that are given where none is asked for."""

BLOCK = 512
"""Pictures whose vectors are held at a time."""

_Picture: TypeAlias = int | Vectors
"""A picture of the collection by its id, or the vector of another."""


class Tagger:
    """A model that names pictures, with what it takes to know their vectors.

    A file that lies in the collection unchanged, or has the content of a picture there, is
    tagged by the vector stored; any other is read and described.
    """

    def __init__(self, model: WSABIE, serving: Serving, database: Database) -> None:
        self._model = model
        self._serving = serving
        self._database = database
        self._held = set(serving.plain.ids.tolist())

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
        least = min_confidence
        if least is None:
            least = 0.0 if self._model.confidence_ is None else SURE_ENOUGH
        # So that what is asked for is refused before any file is read.
        self._model.annotate(self._serving.plain.vectors[:0], min_confidence=least)
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

        feature = self._serving.space.feature
        strangers = (path for path in paths if stored[path] not in self._held)
        outcomes = describe_files(
            strangers,
            [feature],
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
            if isinstance(outcome, Known):
                yield path, contents[outcome.sha256]
            elif isinstance(outcome, Described):
                yield path, feature.vectors(outcome.records)
            else:
                yield path, outcome

    def _tagged(
        self, pictures: Sequence[tuple[Path, _Picture]], k: int, min_confidence: float
    ) -> list[TaggedPicture]:
        if not pictures:
            return []
        stored = {place: n for place, (_, n) in enumerate(pictures) if isinstance(n, int)}
        foreign = {place: v for place, (_, v) in enumerate(pictures) if not isinstance(v, int)}
        parts = []
        if stored:
            parts.append(self._serving.vectors(np.array([*stored.values()], np.int64)))
        if foreign:
            parts.append(self._serving.space.place(_rows([*foreign.values()])))
        X = _rows(parts)[np.argsort([*stored, *foreign])]
        found = self._model.annotate(X, k, min_confidence=min_confidence)
        return [
            TaggedPicture(path, tuple(tags))
            for (path, _), tags in zip(pictures, found, strict=True)
        ]


def _rows(parts: Sequence[Any]) -> Vectors:
    """Put vectors, or matrices of them, one below the other."""
    return sp.csr_matrix(sp.vstack(parts)) if sp.issparse(parts[0]) else np.vstack(parts)


def unknown_word(path: Path, word: str, words: Sequence[str]) -> InvalidInput:
    """Say that a word was never learned, and which are close to it."""
    spelled = {word_key(known): known for known in words}
    close = [spelled[key] for key in get_close_matches(word_key(word), spelled)]
    near = f"Did you mean {' or '.join(map(repr, close))}?" if close else "Learn it from pictures."
    return InvalidInput(
        f"{path} never learned the word {word!r:.80}, only {len(words):,} others. {near}"
    )

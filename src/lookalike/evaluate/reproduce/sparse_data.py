"""Describe a set of sights by regions, keep what was done, and rank it for its queries."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lookalike.core import sparse as sp
from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import LookalikeError
from lookalike.core.fingerprint import fingerprint
from lookalike.core.progress import Progress, silent
from lookalike.core.vectors import Vectors
from lookalike.evaluate.landmarks import LandmarkQuery, Landmarks
from lookalike.evaluate.objects import Truth, object_average_precision
from lookalike.evaluate.reproduce.vectors import Pictures
from lookalike.features._fast.kmeans import in_threads
from lookalike.features.regions import Regions
from lookalike.index import Hits, Reranker, SparseIndex
from lookalike.similarity import Cosine, Similarity

RECORDS_A_FILE = 100
KIND = "experiment-records/1"


@dataclass(frozen=True)
class Sights:
    """Pictures of sights with the records and vectors of their regions.

    Attributes
    ----------
    landmarks : Landmarks
    feature : Regions
    records : list of bytes
    """

    landmarks: Landmarks
    feature: Regions
    records: list[bytes]

    @classmethod
    def described(
        cls, landmarks: Landmarks, feature: Regions, folder: Path, progress: Progress = silent
    ) -> Self:
        """Learn a vocabulary and describe the pictures; what ``folder`` has is not done again."""
        pictures = Pictures(landmarks.files, feature.decode_side)
        facts = [(str(file), file.stat().st_size) for file in landmarks.files]
        key = fingerprint({"files": facts, "settings": feature.settings()}, {})
        place = folder / key
        half = 2 * len(pictures)

        def first(done: int, total: int) -> None:
            progress(len(pictures) * done // total, half)

        try:
            fitted = Regions.load(place / "vocabulary")
        except LookalikeError:
            place.mkdir(parents=True, exist_ok=True)
            fitted = feature.fit(pictures, first, checkpoint=place / "unfinished")
            fitted.save(place / "vocabulary")
        records: list[bytes] = []
        for start in range(0, len(pictures), RECORDS_A_FILE):
            records += _records(fitted, pictures, start, place)
            progress(len(pictures) + len(records), half)
        return cls(landmarks, fitted, records)

    @cached_property
    def vectors(self) -> sp.csr_matrix:
        """The tf-idf rows of all pictures."""
        return sp.csr_matrix(self.feature.vectors(self.records))

    @cached_property
    def query_records(self) -> list[bytes]:
        """The regions in the box of each query."""
        return [self._cut(query) for query in self.landmarks.queries]

    def _cut(self, query: LandmarkQuery) -> bytes:
        record = self.records[query.picture]
        with Image.open(self.landmarks.files[query.picture]) as image:
            # Large pictures are decoded smaller than they are; the box is for the whole size.
            scale = max(self.feature.regions(record).size) / max(image.size)
        left, top, right, bottom = (side * scale for side in query.box)
        return self.feature.crop(record, (left, top, right - left, bottom - top))


def _records(feature: Regions, pictures: Pictures, start: int, folder: Path) -> list[bytes]:
    file = folder / f"records-{start:06}"
    try:
        arrays, manifest = load_arrays(file, kind=KIND)
        if manifest["fingerprint"] == feature.fingerprint:
            parts = np.split(np.asarray(arrays["bytes"]), arrays["ends"][:-1])
            return [part.tobytes() for part in parts]
    except (LookalikeError, KeyError):
        pass
    count = min(RECORDS_A_FILE, len(pictures) - start)
    records = list(in_threads(lambda at: feature.record(pictures[start + at]), count))
    ends = np.cumsum([len(record) for record in records])
    arrays_now: dict[str, Any] = {"bytes": np.frombuffer(b"".join(records), np.uint8), "ends": ends}
    save_arrays(file, arrays_now, kind=KIND, manifest={"fingerprint": feature.fingerprint})
    return records


@dataclass(frozen=True)
class Search:
    """A similarity over the pictures: rankings for each query, with rerankers or without."""

    sights: Sights
    similarity: Similarity
    index: SparseIndex
    queries: Vectors

    @classmethod
    def of(cls, sights: Sights, similarity: Similarity | None = None) -> Self:
        """Return a search by tf-idf, or by a similarity that was learned."""
        model = Cosine() if similarity is None else similarity
        index = SparseIndex(sights.vectors.shape[1])
        index.add(model.stored_vectors(sights.vectors), scales=model.item_scales(sights.vectors))
        return cls(sights, model, index, sights.feature.vectors(sights.query_records))

    def rankings(self, reranker: Reranker | None = None) -> list[NDArray[np.int64]]:
        """Return all pictures for each query, best first."""
        turned = self.similarity.query_vectors(self.queries)
        hits = self.index.search(turned, len(self.sights.records))
        if reranker is None:
            return list(hits.ids)
        return [
            reranker.rerank(_Query(self, place), Hits(ids[None], scores[None])).ids[0]
            for place, (ids, scores) in enumerate(zip(hits.ids, hits.scores, strict=True))
        ]

    def judged(
        self, reranker: Reranker | None = None, query_in_database: bool = True
    ) -> NDArray[np.float64]:
        """Return the average precision of each query, by Oxford's rule."""
        queries = self.sights.landmarks.queries
        values = []
        for query, ranked in zip(queries, self.rankings(reranker), strict=True):
            positive, junk = _lists(query.truth, query.picture, query_in_database)
            values.append(object_average_precision(ranked, positive, junk))
        return np.array(values)

    def milliseconds(self) -> float:
        """Return the mean time of a search among all pictures, with the query's expansion."""
        start = time.perf_counter()
        for row in range(self.queries.shape[0]):
            turned = self.similarity.query_vectors(self.queries[row : row + 1])
            self.index.search(turned, 10)
        return 1000 * (time.perf_counter() - start) / int(self.queries.shape[0])


def _lists(truth: Truth, own: int, with_own: bool) -> tuple[frozenset[int], frozenset[int]]:
    positive, junk = truth.positive(), truth.ignored()
    return (positive, junk) if with_own else (positive - {own}, junk | {own})


class _Query:
    """A query as rerankers see it."""

    def __init__(self, search: Search, place: int) -> None:
        self._search = search
        self.vector: Vectors = search.queries[place : place + 1]
        self.record: bytes | None = search.sights.query_records[place]

    def vectors(self, ids: NDArray[np.int64]) -> Vectors:
        return sp.csr_matrix(self._search.sights.vectors[ids])

    def records(self, ids: NDArray[np.int64]) -> Sequence[bytes]:
        return [self._search.sights.records[number] for number in ids]

    def scores(self, vectors: Vectors, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        return self._search.index.scores(self._search.similarity.query_vectors(vectors), ids)

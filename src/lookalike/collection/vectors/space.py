"""The space that a ranker compares pictures in, and the index of their vectors there."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.store import rankers
from lookalike.collection.store.database import Database
from lookalike.core.errors import DamagedFile
from lookalike.core.vectors import Vectors
from lookalike.features import Feature, Reduction
from lookalike.index.base import Index
from lookalike.index.dense import MappedIndex
from lookalike.index.registry import INDEXES
from lookalike.similarity.base import Similarity
from lookalike.similarity.cosine import Cosine

REDUCED = 256
"""The length of the vectors that are searched, where the feature's are dense and longer."""

MIN_TO_REDUCE = 512
"""Pictures from which a reduction is fitted."""

MAX_TO_FIT = 20_000
"""Pictures a reduction is fitted on at most."""

REGROWTH = 4
"""A reduction fitted on fewer is fitted again when the collection is this many times as large."""

MIN_DRIFT = 1024
"""Vectors that may be missing in the cache, besides a twentieth of it."""

_BLOCK = 4096

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Space:
    """The space pictures are compared in: a feature's own, or its reduction.

    ``ranker`` is the id of the ranker whose records are turned into its vectors, and
    ``index_kind`` the index that holds them.
    """

    ranker: int
    feature: Feature
    reduction: Reduction | None = None
    index_kind: str | None = None

    @property
    def fingerprint(self) -> str:
        """The name of the way vectors of this space are made."""
        return (self.reduction or self.feature).fingerprint

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return (self.reduction or self.feature).dimension

    def vectors(self, records: Sequence[bytes]) -> Vectors:
        """Return the vectors of records, a row each; ValueError for one that is damaged."""
        return self.reduced(self.feature.vectors(records))

    def reduced(self, vectors: Vectors) -> Vectors:
        """Return vectors of the feature as this space has them."""
        if self.reduction is None:
            return vectors
        # Only dense vectors are reduced.
        return self.reduction.apply(np.asarray(vectors))

    def text_queries(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what ranks pictures by texts that a pair gives vectors, a row each.

        ⟨t, u⟩ of the whole vectors is ⟨Ct, x⟩ of the reduced ones but for a constant, the length of
        x and what the components C leave out.
        """
        if self.reduction is None:
            return vectors
        return np.asarray(vectors @ self.reduction.components_.T, np.float32)

    def new_index(self, vectors: Vectors, kind: str | None = None) -> Index:
        """Return an empty index for vectors like these, of some kind or of that which suits."""
        suits = self._kind(sparse=not isinstance(vectors, np.ndarray))
        made = suits if kind is None else INDEXES.get(kind)
        return made(vectors.shape[1], fingerprint=self.fingerprint)

    def load_index(self, database: Database, cache: Path, *, mapped: bool = False) -> Index:
        """Return the index of all pictures, from the cache as far as that goes.

        With ``mapped``, dense vectors stay in the cache and are read as they are needed; where
        there is no cache that can be used, it is written first.
        """
        kind = self._kind(sparse=self.feature.sparse)
        if mapped and kind.name == "dense":
            kind = MappedIndex
        index = self._cached(cache, kind, database)
        if index is not None:
            self.update(index, database)
            return index
        index = kind(self.dimension, fingerprint=self.fingerprint)
        self.update(index, database)
        if kind is not MappedIndex or database.read_only:
            return index
        self.save_index(index, cache)
        return self._cached(cache, kind, database) or index

    def update(self, index: Index, database: Database) -> bool:
        """Make the index hold what the database does: drop the removed, add the missing.

        Returns whether anything was to be done. Ids are never used again and a picture's vector
        never changes, so the ids tell all.
        """
        wanted = rankers.described_ids(database, self.ranker)
        gone = np.setdiff1d(index.ids, wanted, assume_unique=True)
        missing = np.setdiff1d(wanted, index.ids, assume_unique=True)
        if gone.size:
            index.remove(gone)
        for some in blocks(missing):
            sound, vectors = self.stored(database, some)
            if sound.size:
                index.add(vectors, sound, scales=Cosine().item_scales(vectors))
        return bool(gone.size or missing.size)

    def stored(
        self, database: Database, ids: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Vectors]:
        """Return the vectors of pictures from their records, with the rising ids of those.

        Pictures whose records are damaged are left out.
        """
        sound, result = rankers.sound_records(database, self.ranker, ids.tolist())
        with database.parsing("a record"):
            return np.array(sound, np.int64), self.vectors(result)

    def save_index(self, index: Index, cache: Path) -> None:
        """Write the cache anew if it holds what is gone or lacks too much."""
        held = self._cached_ids(cache)
        lacking = np.setdiff1d(index.ids, held, assume_unique=True).size
        gone = np.setdiff1d(held, index.ids, assume_unique=True).size
        if gone or lacking > MIN_DRIFT + len(held) // 20:
            try:
                index.save(cache)
            except OSError as error:
                cache.unlink(missing_ok=True)
                _log.warning("%s was not written, so opening takes longer: %s", cache, error)

    def _kind(self, *, sparse: bool) -> type[Index]:
        return INDEXES.get(self.index_kind or ("sparse" if sparse else "dense"))

    def _cached(self, cache: Path, kind: type[Index], database: Database) -> Index | None:
        if not cache.exists():
            return None

        is_reported = False

        def mended(ids: NDArray[np.int64], error: DamagedFile) -> NDArray[np.float32]:
            nonlocal is_reported
            if not is_reported:
                _forget(cache, error, database)
            is_reported = True
            rising, order = np.unique(ids, return_inverse=True)
            sound, vectors = self.stored(database, rising)
            if len(sound) < len(rising):
                raise error
            return np.asarray(vectors, np.float32)[order]

        try:
            if issubclass(kind, MappedIndex):
                index: Index = kind.open(cache, mended)
            else:
                index = kind.open(cache)
        except DamagedFile as error:
            _forget(cache, error, database)
            return None
        fits = (index.fingerprint, index.dimension) == (self.fingerprint, self.dimension)
        return index if fits else None

    def _cached_ids(self, cache: Path) -> NDArray[np.int64]:
        try:
            return self._kind(sparse=self.feature.sparse).saved_ids(
                cache, fingerprint=self.fingerprint
            )
        except DamagedFile:
            return np.zeros(0, np.int64)


def _forget(cache: Path, error: DamagedFile, database: Database) -> None:
    """Delete a damaged cache, so that it is made again, and say so."""
    _log.warning("%s; it is made again from the database", error)
    if not database.read_only:
        with suppress(OSError):
            cache.unlink()


def reduction_is_due(feature: Feature, pictures: int, fitted_at: int | None) -> bool:
    """Return whether the vectors of so many pictures should be reduced, or reduced anew."""
    if feature.sparse or feature.dimension <= REDUCED or pictures < MIN_TO_REDUCE:
        return False
    if feature.blocks is not None:
        # Each view was reduced on its own, and a similarity is to find it at its columns.
        return False
    return fitted_at is None or (fitted_at < MAX_TO_FIT and pictures >= REGROWTH * fitted_at)


def fit_reduction(space: Space, database: Database) -> Reduction:
    """Return a reduction fitted on the pictures of a collection, or on a sample of them."""
    own = Space(space.ranker, space.feature)
    ids = rankers.described_ids(database, space.ranker)
    if len(ids) > MAX_TO_FIT:
        ids = np.sort(np.random.default_rng(0).choice(ids, MAX_TO_FIT, replace=False))
    parts: list[Any] = [own.stored(database, some)[1] for some in blocks(ids)]
    return Reduction(dimension=REDUCED).fit(np.concatenate(parts), parent=own.fingerprint)


def served_index(plain: Index, similarity: Similarity, space: Space) -> Index:
    """Return the index that a similarity searches, over the pictures of another.

    Where it stores vectors as they are, both share them.
    """
    if stores_as_given(plain, similarity):
        index = plain.copy()
        parts = [similarity.item_scales(plain.take(some)) for some in blocks(plain.ids)]
        index.set_scales(np.concatenate([np.zeros(0, np.float32), *parts]))
        return index
    vectors = plain.vectors
    stored = similarity.stored_vectors(vectors)
    index = space.new_index(stored, similarity.index_kind)
    index.add(stored, plain.ids, scales=similarity.item_scales(vectors))
    return index


def followed_index(before: Index, plain: Index, similarity: Similarity) -> Index:
    """Return what :func:`served_index` gave, with what came to and went from ``plain`` since.

    What stays keeps its order and what is new comes last, in both.
    """
    new = plain.ids[~np.isin(plain.ids, before.ids)]
    vectors = plain.take(new)
    scales = similarity.item_scales(vectors)
    if stores_as_given(plain, similarity):
        index = plain.copy()
        stays = np.isin(before.ids, plain.ids)
        index.set_scales(np.concatenate([before.scales[stays], scales]))
        return index
    index = before.copy()
    gone = before.ids[~np.isin(before.ids, plain.ids)]
    if gone.size:
        index.remove(gone)
    if new.size:
        index.add(similarity.stored_vectors(vectors), new, scales=scales)
    return index


def stores_as_given(plain: Index, similarity: Similarity) -> bool:
    """Return whether a similarity stores vectors like those of an index as they are."""
    one: Any = plain.take(plain.ids[:1])
    stored: Any = similarity.stored_vectors(one)
    if one.shape != stored.shape or type(one) is not type(stored):
        return False
    first, second = (it if isinstance(it, np.ndarray) else it.data for it in (one, stored))
    return first.size == second.size == 0 or np.may_share_memory(first, second)


def blocks(ids: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Go over ids, as many at a time as their records are read at once."""
    for start in range(0, len(ids), _BLOCK):
        yield ids[start : start + _BLOCK]

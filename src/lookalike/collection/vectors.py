"""Vectors of a collection: as rows of the database, and reduced in an index to be searched."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.collection.database import Database, numbers
from lookalike.core.arrays import load_arrays
from lookalike.core.errors import DamagedFile
from lookalike.features import Feature, Reduction, Vectors
from lookalike.index import DenseIndex, SparseIndex

REDUCED = 256
"""The length of the vectors that are searched, where the feature's are dense and longer."""

LEAST_TO_REDUCE = 512
"""Pictures from which a reduction is fitted."""

MOST_TO_FIT = 20_000
"""Pictures a reduction is fitted on at most."""

REGROWTH = 4
"""A reduction fitted on fewer is fitted again when the collection is this many times as large."""

LEAST_DRIFT = 1024
"""Vectors that may be missing in the cache, besides a twentieth of it."""

_BLOCK = 4096

_log = logging.getLogger(__name__)

AnyIndex: TypeAlias = DenseIndex | SparseIndex


@dataclass(frozen=True)
class Space:
    """The space pictures are compared in: a feature's own, or its reduction."""

    feature: Feature
    reduction: Reduction | None = None

    @property
    def fingerprint(self) -> str:
        """Name the way vectors of this space are made."""
        return (self.reduction or self.feature).fingerprint

    @property
    def dimension(self) -> int:
        """Return the length of a vector."""
        return (self.reduction or self.feature).dimension

    def place(self, raw: Vectors) -> Vectors:
        """Bring vectors of the feature into this space."""
        if self.reduction is None or sp.issparse(raw):
            return raw
        return self.reduction.apply(raw)

    def save(self, path: Path) -> None:
        """Write the reduction, if there is one."""
        if self.reduction is not None:
            self.reduction.save(path)

    def empty_index(self) -> AnyIndex:
        """Make an index without pictures."""
        kind = SparseIndex if self.feature.sparse else DenseIndex
        return kind(self.dimension, fingerprint=self.fingerprint)


def raw_vectors(database: Database, feature: Feature, ids: Sequence[int]) -> Vectors:
    """Read the vectors of pictures as the feature made them, in the order of rising ids."""
    found = database.rows(
        "SELECT raw FROM vectors WHERE picture IN (SELECT value FROM json_each(?)) "
        "ORDER BY picture",
        numbers(ids),
    )
    if len(found) != len(ids):
        raise DamagedFile(
            f"the database lacks the vectors of {len(ids) - len(found)} pictures. Put back a copy "
            f"of the collection, or index again."
        )
    with database.parsing("a vector"):
        return feature.vectors([record for (record,) in found])


def update(index: AnyIndex, space: Space, database: Database) -> bool:
    """Let the index hold what the database does: drop the removed, add the missing.

    Returns whether anything was to be done. Ids are never used again and a picture's vector
    never changes, so the ids tell all.
    """
    wanted = np.array(
        [number for (number,) in database.rows("SELECT id FROM pictures ORDER BY id")], np.int64
    )
    gone = np.setdiff1d(index.ids, wanted)
    missing = np.setdiff1d(wanted, index.ids)
    if gone.size:
        index.remove(gone)
    for some in _blocks(missing):
        index.add(space.place(raw_vectors(database, space.feature, some.tolist())), some)
    return bool(gone.size or missing.size)


def load_index(space: Space, database: Database, cache: Path) -> AnyIndex:
    """Make the index of a space, from the cache as far as that goes."""
    index = _cached(space, cache) or space.empty_index()
    update(index, space, database)
    return index


def save_index(index: AnyIndex, space: Space, cache: Path) -> None:
    """Write the cache anew if it holds what is gone or lacks too much."""
    held = _cached_ids(space, cache)
    lacking = np.setdiff1d(index.ids, held).size
    gone = np.setdiff1d(held, index.ids).size
    if gone or lacking > LEAST_DRIFT + len(held) // 20:
        try:
            index.save(cache)
        except OSError as error:
            cache.unlink(missing_ok=True)
            _log.warning("%s was not written, so opening takes longer: %s", cache, error)


def reduction_is_due(feature: Feature, pictures: int, fitted_at: int | None) -> bool:
    """Return whether the pictures' vectors should be reduced, or reduced anew."""
    if feature.sparse or feature.dimension <= REDUCED or pictures < LEAST_TO_REDUCE:
        return False
    return fitted_at is None or (fitted_at < MOST_TO_FIT and pictures >= REGROWTH * fitted_at)


def fit_reduction(feature: Feature, database: Database) -> Reduction:
    """Fit a reduction on the pictures of a collection, or on a sample of them."""
    ids = np.array([number for (number,) in database.rows("SELECT id FROM pictures ORDER BY id")])
    if len(ids) > MOST_TO_FIT:
        ids = np.sort(np.random.default_rng(0).choice(ids, MOST_TO_FIT, replace=False))
    parts: list[Any] = [raw_vectors(database, feature, some.tolist()) for some in _blocks(ids)]
    return Reduction(dimension=REDUCED).fit(np.concatenate(parts), parent=feature.fingerprint)


def _cached_ids(space: Space, cache: Path) -> NDArray[np.int64]:
    """Return the ids in the cache, without reading its vectors."""
    kind = SparseIndex if space.feature.sparse else DenseIndex
    try:
        arrays, manifest = load_arrays(cache, kind=kind.kind, names=["ids"])
    except DamagedFile:
        return np.zeros(0, np.int64)
    fits = (manifest.get("fingerprint"), manifest.get("dimension"))
    if fits != (space.fingerprint, space.dimension) or arrays["ids"].dtype != np.int64:
        return np.zeros(0, np.int64)
    return arrays["ids"]


def _cached(space: Space, cache: Path) -> AnyIndex | None:
    kind = SparseIndex if space.feature.sparse else DenseIndex
    if not cache.exists():
        return None
    try:
        index = kind.open(cache)
    except DamagedFile as error:
        _log.warning("%s; it is made again from the database", error)
        return None
    fits = (index.fingerprint, index.dimension) == (space.fingerprint, space.dimension)
    return index if fits else None


def _blocks(ids: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(ids), _BLOCK):
        yield ids[start : start + _BLOCK]

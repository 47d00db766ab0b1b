"""The base class of indexes: stable ids, scales, search, scores, save and open."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.vectors import Vectors

Matrix: TypeAlias = "ArrayLike | sp.spmatrix | sp.sparray"
"""Vectors as a caller may give them, one row per picture."""


@dataclass(frozen=True)
class Hits:
    """What a search found, best first.

    Attributes
    ----------
    ids : int64 array of shape (q, k)
        One row per query; -1 where fewer than k pictures were found.
    scores : float32 array of shape (q, k)
        Decreasing along each row, ties by id; -inf where the id is -1.
    """

    ids: NDArray[np.int64]
    scores: NDArray[np.float32]

    @classmethod
    def best_first(cls, ids: NDArray[np.int64], scores: NDArray[np.float32]) -> Self:
        """Return hits sorted by decreasing score, then by id, with -1 last.

        Examples
        --------
        >>> Hits.best_first(np.array([[5, -1, 2, 7]]), np.array([[1, 9, 1, 3]], np.float32)).ids
        array([[ 7,  2,  5, -1]])
        """
        none = ids < 0
        select = np.where(none, np.float32(-np.inf), scores)
        order = np.lexsort((ids, -select, none), axis=-1)
        return cls(np.take_along_axis(ids, order, axis=-1), np.take_along_axis(select, order, -1))


class Index(ABC):
    """Find the nearest pictures by inner product, over vectors with stable ids.

    Searches may run in any number of threads while one adds or removes: each sees the index
    either before or after a change. Every change is all or nothing.

    The constructor of a subclass takes the length of its vectors and the fingerprint of the
    feature they come from, ``Index(dimension, fingerprint=...)``.

    Attributes
    ----------
    name : str
        The index's name in its registry.
    dimension : int
        The length of every vector.
    fingerprint : str
        The fingerprint of the feature the vectors come from; ``add`` and ``search`` raise
        FingerprintMismatch if they are given another.
    """

    name: ClassVar[str]

    dimension: int
    fingerprint: str

    @abstractmethod
    def __init__(self, dimension: int, *, fingerprint: str = "") -> None: ...

    def __len__(self) -> int:
        return len(self.ids)

    @property
    @abstractmethod
    def ids(self) -> NDArray[np.int64]:
        """The ids in the order in which they were added; read-only."""

    @property
    @abstractmethod
    def scales(self) -> NDArray[np.float32]:
        """The factor of each picture's scores, in the order of ``ids``."""

    @abstractmethod
    def add(
        self,
        vectors: Matrix,
        ids: ArrayLike | None = None,
        *,
        scales: ArrayLike | None = None,
        fingerprint: str | None = None,
    ) -> NDArray[np.int64]:
        """Add vectors, all or none of them, and return their ids.

        Parameters
        ----------
        vectors : matrix of shape (n, dimension)
            One row per picture; a single vector is also accepted.
        ids : int array of shape (n,), optional
            Their ids, from 0 and not in use. By default new ones, above every id this index ever
            had.
        scales : array of shape (n,), optional
            The factor of each picture's scores; by default 1.
        fingerprint : str, optional
            If given, it must be the index's own.

        Returns
        -------
        int64 array of shape (n,)
        """

    @abstractmethod
    def remove(self, ids: ArrayLike) -> None:
        """Remove pictures, all or none of them; raise InvalidInput if an id is unknown."""

    @abstractmethod
    def set_scales(self, scales: ArrayLike | None) -> None:
        """Set the factor of each picture's scores, in the order of ``ids``; None sets all to 1.

        A normalised similarity divides by the item's self-score, which changes as it learns: these
        factors change, the vectors do not.
        """

    @abstractmethod
    def search(
        self,
        queries: Matrix,
        k: int = 10,
        *,
        exclude: ArrayLike | None = None,
        among: ArrayLike | None = None,
        fingerprint: str | None = None,
    ) -> Hits:
        """Return the ``k`` pictures with the highest scores for each query.

        The score is the inner product, summed in float64, times the picture's scale, rounded to
        float32; it does not depend on the rest of the batch, the index or ``among``.

        Parameters
        ----------
        queries : matrix of shape (q, dimension)
            One row per query; a single vector is a batch of one.
        k : int
            How many to find, at least 1. If there are fewer, rows are padded with id -1 and score
            -inf.
        exclude : int array of shape (q,) or (q, m), optional
            Ids to leave out of each query's hits, such as the query's own; -1 excludes nothing.
        among : int array of shape (m,), optional
            The ids to search among, in any order; unknown ones are ignored. By default all.
        fingerprint : str, optional
            If given, it must be the index's own.
        """

    @abstractmethod
    def scores(self, queries: Matrix, ids: ArrayLike) -> NDArray[np.float32]:
        """Return the scores of :meth:`search` for these pictures, of shape (queries, ids).

        Raise InvalidInput if an id is unknown.
        """

    @abstractmethod
    def take(self, ids: ArrayLike) -> Vectors:
        """Return the vectors with these ids, in that order, or raise InvalidInput."""

    @property
    def vectors(self) -> Vectors:
        """All vectors, in the order of ``ids``; read-only."""
        return self.take(self.ids)

    @property
    def damaged(self) -> bool:
        """Whether what was read from its file since it was opened is not as it was written."""
        return False

    @abstractmethod
    def copy(self) -> Self:
        """Return a copy that shares memory with this index until one of them changes."""

    @abstractmethod
    def save(self, path: Path | str) -> None:
        """Save the index to ``path``, all or nothing."""

    @classmethod
    @abstractmethod
    def open(cls, path: Path | str) -> Self:
        """Open an index that :meth:`save` wrote, or raise DamagedFile."""

    @classmethod
    def saved_ids(cls, path: Path | str, *, fingerprint: str) -> NDArray[np.int64]:
        """Return the ids in a file that :meth:`save` wrote, or raise DamagedFile.

        Return none if its vectors have another fingerprint.
        """
        index = cls.open(path)
        return index.ids if index.fingerprint == fingerprint else np.zeros(0, np.int64)

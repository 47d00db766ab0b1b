"""What every index offers: stable ids, scales, search, scores, and a place on disk."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.core.vectors import Vectors

Matrix: TypeAlias = ArrayLike | sp.spmatrix | sp.sparray
"""Vectors as a caller may give them, a row a picture."""


@dataclass(frozen=True)
class Hits:
    """What a search found, best first.

    Attributes
    ----------
    ids : int64 array of shape (q, k)
        A row a query; -1 where fewer than k pictures could be found.
    scores : float32 array of shape (q, k)
        Falling along each row, the lower id first among equals; -inf beside an id of -1.
    """

    ids: NDArray[np.int64]
    scores: NDArray[np.float32]

    @classmethod
    def best_first(cls, ids: NDArray[np.int64], scores: NDArray[np.float32]) -> Self:
        """Return hits in their order: by falling score, then by rising id, -1 last.

        Examples
        --------
        >>> Hits.best_first(np.array([[5, -1, 2, 7]]), np.array([[1, 9, 1, 3]], np.float32)).ids
        array([[ 7,  2,  5, -1]])
        """
        none = ids < 0
        kept = np.where(none, np.float32(-np.inf), scores)
        order = np.lexsort((ids, -kept, none), axis=-1)
        return cls(np.take_along_axis(ids, order, axis=-1), np.take_along_axis(kept, order, -1))


class Index(ABC):
    """The nearest pictures by inner product, over vectors with stable ids.

    Searches may run in any number of threads while one adds or removes: each sees the index as
    it was before a change or after it, whole. Every change is made whole or not at all.

    A subclass is made with the length of its vectors and the fingerprint of the feature they
    come from, ``Index(dimension, fingerprint=...)``.

    Attributes
    ----------
    name : str
        What the index is called in its registry.
    dimension : int
        The length of every vector.
    fingerprint : str
        The fingerprint of the feature the vectors come from; ``add`` and ``search`` refuse
        vectors said to have another.
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
        """The ids in the order they were added; read-only."""

    @property
    @abstractmethod
    def scales(self) -> NDArray[np.float32]:
        """The number each picture's scores are multiplied by, in the order of ``ids``."""

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
            A row a picture; one vector alone is also taken.
        ids : int array of shape (n,), optional
            Names for them, from 0 and not in use. By default fresh ones, above every id this
            index ever held.
        scales : array of shape (n,), optional
            The number each one's scores are multiplied by; by default 1.
        fingerprint : str, optional
            Where given, it must be the index's own.

        Returns
        -------
        int64 array of shape (n,)
        """

    @abstractmethod
    def remove(self, ids: ArrayLike) -> None:
        """Remove pictures, all or none of them; raise InvalidInput for an unknown id."""

    @abstractmethod
    def set_scales(self, scales: ArrayLike | None) -> None:
        """Set the number each picture's scores are multiplied by, in the order of ``ids``.

        A normalised similarity divides by the item's self-score, which moves as it learns: these
        numbers change, the vectors do not. None sets all to 1.
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
        """Return the ``k`` pictures of the highest score for each query.

        The score is the inner product, summed in float64, times the picture's scale, rounded to
        float32; it does not depend on what else is in the batch, the index or ``among``.

        Parameters
        ----------
        queries : matrix of shape (q, dimension)
            A row a query; one vector alone is a batch of one.
        k : int
            How many to find, from 1. Rows are filled up with id -1 and score -inf where there
            are fewer.
        exclude : int array of shape (q,) or (q, m), optional
            Ids to leave out of each query's hits, as the query's own; -1 leaves out nothing.
        among : int array of shape (m,), optional
            The ids to search among, in any order; those the index does not hold are ignored. By
            default all.
        fingerprint : str, optional
            Where given, it must be the index's own.
        """

    @abstractmethod
    def scores(self, queries: Matrix, ids: ArrayLike) -> NDArray[np.float32]:
        """Return what :meth:`search` scores these pictures, of shape (queries, ids).

        Raise InvalidInput for an unknown id.
        """

    @abstractmethod
    def take(self, ids: ArrayLike) -> Vectors:
        """Return the vectors with these ids, in that order; InvalidInput for an unknown one."""

    @property
    def vectors(self) -> Vectors:
        """All vectors, in the order of ``ids``; read-only."""
        return self.take(self.ids)

    @abstractmethod
    def copy(self) -> Self:
        """Return a second index that shares what both hold until one of them changes."""

    @abstractmethod
    def save(self, path: Path | str) -> None:
        """Write the index to ``path``, all or nothing."""

    @classmethod
    @abstractmethod
    def open(cls, path: Path | str) -> Self:
        """Open what :meth:`save` wrote, or raise DamagedFile."""

    @classmethod
    def saved_ids(cls, path: Path | str, *, fingerprint: str) -> NDArray[np.int64]:
        """Return the ids in a file that :meth:`save` wrote, or raise DamagedFile.

        There are none where its vectors have another fingerprint.
        """
        index = cls.open(path)
        return index.ids if index.fingerprint == fingerprint else np.zeros(0, np.int64)

"""The base class of rerankers, and what they can ask about a query and its hits."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from lookalike.core.stored import Arrays, Learned, Stored
from lookalike.core.vectors import Vectors
from lookalike.index.base import Hits


class Query(Protocol):
    """One query, and what a reranker can ask about the items it found."""

    @property
    def vector(self) -> Vectors:
        """The query's own vector, before the similarity; one row."""

    @property
    def record(self) -> bytes | None:
        """The query's feature record; None if it is not a picture but, for example, a word."""

    def vectors(self, ids: NDArray[np.int64]) -> Vectors:
        """Return the vectors of items, one row each."""

    def records(self, ids: NDArray[np.int64]) -> Sequence[bytes]:
        """Return the feature records of items, which only the feature can interpret."""

    def scores(self, vectors: Vectors, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the scores of items by the current similarity, one row per query vector."""


class Reranker(Stored):
    """Improve the order of the hits of a search.

    The result has the same items, best first by their new scores. A subclass that learns also
    implements ``_state`` and ``_restore``.

    Attributes
    ----------
    needs_record : bool
        Whether it works only for queries that have a record.
    depth : int
        How many hits it looks at, where a search asks for fewer.
    """

    needs_record: ClassVar[bool] = False

    @property
    def depth(self) -> int:
        """How many hits it looks at; by default those that were asked for."""
        return 0

    @abstractmethod
    def rerank(self, query: Query, hits: Hits) -> Hits:
        """Return the hits of one query in a new order; see :meth:`Hits.best_first`.

        Parameters
        ----------
        query : Query
            The query, and what can be asked about its hits.
        hits : Hits
            The hits of one query, in one row; ids of -1 stay at its end.
        """

    def _state(self) -> tuple[Arrays, Learned]:
        return {}, {}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        return

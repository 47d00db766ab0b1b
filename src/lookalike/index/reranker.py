"""What every reranker offers, and what it may ask about a query and its hits."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lookalike.core.stored import Arrays, Learned, Stored
from lookalike.core.vectors import Vectors
from lookalike.index.base import Hits


class Query(Protocol):
    """One query, and what a reranker may ask about the items it found."""

    @property
    def vector(self) -> Vectors:
        """The query's vector as items have theirs, before the similarity; one row."""

    @property
    def record(self) -> bytes | None:
        """The query's feature record; None where it is no picture, but a word say."""

    def vectors(self, ids: NDArray[np.int64]) -> Vectors:
        """Return the vectors of items, a row each."""

    def records(self, ids: NDArray[np.int64]) -> Sequence[bytes]:
        """Return the feature records of items, opaque to all but their feature."""

    def scores(self, vectors: Vectors, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the scores of items by the similarity in use, a row for each query vector."""


class Reranker(Stored):
    """Put the hits of a search into a better order.

    What comes back are the same items, best first by their new scores. A subclass that learns
    also says what is kept, in ``_state`` and ``_restore``.
    """

    @abstractmethod
    def rerank(self, query: Query, hits: Hits) -> Hits:
        """Return the hits of one query in a new order; see :meth:`Hits.best_first`.

        Parameters
        ----------
        query : Query
            What was asked, and what may be asked about the hits.
        hits : Hits
            Of one query, so of one row; ids of -1 stay at its end.
        """

    def _state(self) -> tuple[Arrays, Learned]:
        return {}, {}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        return

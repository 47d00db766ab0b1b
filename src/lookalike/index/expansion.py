"""Score hits again by the mean of a query and its first hits."""

from __future__ import annotations

import numpy as np

from lookalike.core import sparse as sp
from lookalike.core.checks import check_whole
from lookalike.core.vectors import Vectors, stack_rows
from lookalike.index.base import Hits
from lookalike.index.reranker import Query, Reranker


class QueryExpansion(Reranker):
    """Score hits again by the mean of the query and its first hits.

    Average query expansion of Chum, Philbin, Sivic, Isard and Zisserman, *Total Recall:
    Automatic Query Expansion with a Generative Feature Model for Object Retrieval* (2007),
    section 4.4: with the first m hits d_1, ..., d_m of the query d_0,

        d_avg = (d_0 + d_1 + ... + d_m) / (m + 1)

    Parameters
    ----------
    neighbours : int
        m; all hits if there are fewer.

    Notes
    -----
    *Departure.* The paper averages over hits that passed spatial verification, and searches
    everything again; here the first hits are used unverified, and only the hits themselves are
    scored again. After spatial verification, the first hits are those that passed.

    Examples
    --------
    >>> QueryExpansion(neighbours=3).name
    'expansion'
    """

    name = "expansion"

    def __init__(self, *, neighbours: int = 5) -> None:
        self.neighbours = neighbours

    def rerank(self, query: Query, hits: Hits) -> Hits:
        """Return the hits sorted by their scores for the mean of the query and the first hits."""
        self._check_parameters()
        result = hits.ids[0][hits.ids[0] >= 0]
        if not result.size:
            return hits
        together = stack_rows([query.vector, query.vectors(result[: self.neighbours])])
        average = np.full((1, together.shape[0]), 1 / together.shape[0], np.float32)
        is_sparse: bool = sp.issparse(together)
        mean: Vectors = (sp.csr_matrix(average) if is_sparse else average) @ together
        scores = np.full(hits.ids.shape, -np.inf, np.float32)
        scores[0, hits.ids[0] >= 0] = query.scores(mean, result)[0]
        return Hits.best_first(hits.ids, scores)

    def _check_parameters(self) -> None:
        check_whole("QueryExpansion", "neighbours", self.neighbours, 1)

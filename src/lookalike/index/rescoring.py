"""Score hits again by the similarity in use: the second stage after codes."""

import numpy as np

from lookalike.index.base import Hits
from lookalike.index.reranker import Query, Reranker


class Rescoring(Reranker):
    """Score hits again by the similarity in use.

    Codes find candidates, quickly and roughly; this puts them in the order that an exact search
    would have them in. What the codes missed stays missed: the more candidates, the less.

    Examples
    --------
    >>> Rescoring().name
    'exact'
    """

    name = "exact"

    def rerank(self, query: Query, hits: Hits) -> Hits:
        """Return the hits sorted by their scores for the query."""
        is_found = hits.ids[0] >= 0
        scores = np.full(hits.ids.shape, -np.inf, np.float32)
        if is_found.any():
            scores[0, is_found] = query.scores(query.vector, hits.ids[0][is_found])[0]
        return Hits.best_first(hits.ids, scores)

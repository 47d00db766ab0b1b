"""Put what shows the same object before what only looks alike: one ranking of two."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lookalike.collection.ranking.ranker import Ranker
from lookalike.core.vectors import Vectors
from lookalike.similarity.cosine import Cosine

DEPTH = 200
"""Pictures whose regions count: the best by object."""

WEIGHT, HALF = 0.8, 20.0
"""How much an object counts beside the best look, and with how many regions half of that.

Chosen on half of UKBench's pictures here, with sights and classes beside them, among r/(r + h),
r²/(r² + h²) and steps: the first gives sights up, whose wrong matches have six to ten regions.
"""


def raised(
    ranker: Ranker,
    vector: Vectors,
    by_look: Sequence[tuple[int, float]],
    by_object: Sequence[tuple[int, float]],
    *,
    learned: bool,
) -> list[tuple[int, float]]:
    """Return hits by look with those found by object moved up, best first.

    A score is (s + w·t·r²/(r² + h²)) / (1 + w), with s the score by look, t the best of these, and
    r how many regions lie alike. So few regions hardly move a picture, words in common do not, and
    some twenty regions that lie alike put it first. Of several examples places are not compared, so
    that only their look counts.

    Parameters
    ----------
    ranker : Ranker
        By look.
    vector : matrix of one row
        The query, as the ranker's space has it.
    by_look, by_object : sequence of (int, float)
        Ids and scores; of the latter at most ``DEPTH`` are of use.
    learned : bool
        Whether scores by look are those of what was learned.
    """
    # Only a search by both needs OpenCV.
    from lookalike.index.spatial import agreeing_regions

    scores = dict(by_look)
    missing = np.array([number for number, _ in by_object if number not in scores], np.int64)
    scores |= _looks(ranker, vector, missing, learned)
    top = max(0.0, max(scores.values(), default=0.0))
    for number, score in by_object:
        if number in scores:
            squared = agreeing_regions(score) ** 2
            scores[number] += WEIGHT * top * squared / (squared + HALF**2)
    shares = ((number, score / (1 + WEIGHT)) for number, score in scores.items())
    return sorted(shares, key=lambda hit: (-hit[1], hit[0]))


def _looks(
    ranker: Ranker, vector: Vectors, ids: NDArray[np.int64], learned: bool
) -> Mapping[int, float]:
    """Return the scores by look of pictures that the ranker has."""
    held = ids[np.isin(ids, ranker.plain.ids)]
    if not held.size:
        return {}
    if learned:
        scores = ranker.index.scores(ranker.query(vector), held)[0]
    else:
        scores = ranker.plain.scores(Cosine().query_vectors(vector), held)[0]
    return dict(zip(held.tolist(), scores.tolist(), strict=True))

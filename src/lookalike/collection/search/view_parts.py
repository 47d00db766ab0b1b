"""How much each view counts for a ranker of several views, and which of them made a match."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lookalike.collection.ranking.ranker import Ranker
from lookalike.core.vectors import Vectors, dense

SAMPLE = 256
"""Pictures that a match is compared with."""


def view_weights(ranker: Ranker) -> dict[str, float]:
    """Return the share of each view in the scores, the largest first.

    Where nothing was learned, they are what the feature gives to each. Empty for a feature of one
    view, or a similarity that has no weights for views.
    """
    blocks = ranker.space.feature.blocks
    if blocks is None:
        return {}
    weights: Mapping[str, float] = ranker.similarity.view_weights_
    if not ranker.similarity.learned:
        some = dense(_some(ranker))
        squares = {name: float((some[:, at] ** 2).sum()) for name, at in _columns(blocks).items()}
        weights = {name: square / (sum(squares.values()) or 1) for name, square in squares.items()}
    return _largest_first(weights) if weights.keys() <= blocks.keys() else {}


def view_parts(ranker: Ranker, queries: Vectors, items: Vectors) -> dict[str, float]:
    """Return how far each view lifts a match above the average picture, the largest first.

    They are shares of all that the views do: negative for those that lower it, and 1 together
    without their signs. A similarity without parts for views counts their cosines instead. Empty
    for a feature of one view, or if no view makes a difference.
    """
    blocks = ranker.space.feature.blocks
    if blocks is None:
        return {}
    others = _some(ranker)
    parts: Mapping[str, Any] = ranker.similarity.view_parts(queries, items)
    if parts and parts.keys() <= blocks.keys():
        usual: Mapping[str, Any] = ranker.similarity.view_parts(queries, others)
    else:
        parts, usual = (_cosines(blocks, queries, it) for it in (items, others))
    lifts = {name: float(parts[name][0, 0] - usual[name].mean()) for name in parts}
    total = sum(map(abs, lifts.values()))
    return _largest_first({name: lift / total for name, lift in lifts.items()}) if total else {}


def _cosines(blocks: Mapping[str, int], query_vectors: Vectors, result: Vectors) -> dict[str, Any]:
    """Return what each block adds to the inner products."""
    queries, items = dense(query_vectors), dense(result)
    return {name: queries[:, at] @ items[:, at].T for name, at in _columns(blocks).items()}


def _columns(blocks: Mapping[str, int]) -> dict[str, slice]:
    ends = np.cumsum([*blocks.values()]).tolist()
    return {
        name: slice(end - width, end)
        for (name, width), end in zip(blocks.items(), ends, strict=True)
    }


def _some(ranker: Ranker) -> Vectors:
    """Return the vectors of pictures spread over the collection."""
    ids = ranker.plain.ids
    return ranker.vectors(ids[:: max(1, len(ids) // SAMPLE)])


def _largest_first(values: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(values.items(), key=lambda it: -it[1]))

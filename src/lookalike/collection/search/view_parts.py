"""How much each view counts for a ranker of several views, and which of them made a match."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lookalike.collection.search.ranker import Ranker
from lookalike.core.vectors import Vectors, dense

SAMPLE = 256
"""Pictures that a match is compared with."""


def view_weights(ranker: Ranker) -> dict[str, float]:
    """Return the share of each view in the scores, the largest first.

    All are the same where nothing was learned. Empty for a feature of one view, or a similarity
    that has no weights for views.
    """
    blocks = ranker.space.feature.blocks
    if blocks is None:
        return {}
    weights: Mapping[str, float] = ranker.similarity.view_weights_
    if not ranker.similarity.learned:
        weights = dict.fromkeys(blocks, 1 / len(blocks))
    return _largest_first(weights) if weights.keys() <= blocks.keys() else {}


def view_parts(ranker: Ranker, asked: Vectors, found: Vectors) -> dict[str, float]:
    """Return how far each view lifts a match above the average picture, the largest first.

    They are shares of all that the views do: negative for those that lower it, and 1 together
    without their signs. A similarity without parts for views counts their cosines instead. Empty
    for a feature of one view, or if no view makes a difference.
    """
    blocks = ranker.space.feature.blocks
    if blocks is None:
        return {}
    vectors: Any = ranker.plain.vectors
    others = vectors[:: max(1, vectors.shape[0] // SAMPLE)]
    parts: Mapping[str, Any] = ranker.similarity.view_parts(asked, found)
    if parts and parts.keys() <= blocks.keys():
        usual: Mapping[str, Any] = ranker.similarity.view_parts(asked, others)
    else:
        parts, usual = (_cosines(blocks, asked, it) for it in (found, others))
    lifts = {name: float(parts[name][0, 0] - usual[name].mean()) for name in parts}
    total = sum(map(abs, lifts.values()))
    return _largest_first({name: lift / total for name, lift in lifts.items()}) if total else {}


def _cosines(blocks: Mapping[str, int], asked: Vectors, found: Vectors) -> dict[str, Any]:
    """Return what each block adds to the inner products."""
    queries, items = dense(asked), dense(found)
    ends = np.cumsum([*blocks.values()])
    return {
        name: queries[:, end - width : end] @ items[:, end - width : end].T
        for (name, width), end in zip(blocks.items(), ends, strict=True)
    }


def _largest_first(values: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(values.items(), key=lambda it: -it[1]))

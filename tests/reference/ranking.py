"""Average precision and precision at top k by the book: sort everything, walk down."""

import math


def judge_slowly(scores, relevant, own, cutoffs):
    """Return (average precision, precisions) for one query's row."""
    order = [column for column in range(len(scores)) if column != own]
    order.sort(key=lambda column: (-scores[column], column))
    hits = [bool(relevant[column]) for column in order]
    if not any(hits):
        return math.nan, [math.nan] * len(cutoffs)
    precisions = [sum(hits[: k + 1]) / (k + 1) for k in range(len(hits))]
    at_hits = [precision for precision, hit in zip(precisions, hits, strict=True) if hit]
    return sum(at_hits) / len(at_hits), [sum(hits[:k]) / k for k in cutoffs]

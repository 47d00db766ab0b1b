"""Log: what people say comes in as typed events; each is recorded once, and can be undone."""

from lookalike.collection.log import (
    albums,
    duplicates,
    labels,
    models,
    ratings,
    removals,
    undo,
    votes,
)

__all__ = ["albums", "duplicates", "labels", "models", "ratings", "removals", "undo", "votes"]

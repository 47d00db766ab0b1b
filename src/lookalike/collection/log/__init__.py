"""Log: what people say comes in as typed events; each is recorded once, and can be undone."""

from lookalike.collection.log import duplicates, labels, models, ratings, removals, undo, votes

__all__ = ["duplicates", "labels", "models", "ratings", "removals", "undo", "votes"]

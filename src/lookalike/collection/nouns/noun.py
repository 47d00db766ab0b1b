"""The base of all nouns."""

from lookalike.collection.ranking.opened import Opened


class Noun:
    """A part of the face of a collection."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened

"""The base of all nouns."""

from lookalike.collection.ranking.session import Session


class Noun:
    """A part of the face of a collection."""

    def __init__(self, session: Session) -> None:
        self._session = session

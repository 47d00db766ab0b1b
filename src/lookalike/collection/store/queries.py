"""What is searched with: pictures by id, and pictures from elsewhere by their tokens."""

from dataclasses import dataclass
from typing import TypeAlias

from lookalike.collection.store.database import Database

Ref: TypeAlias = int | str
"""A picture of the collection by its id, or a kept query by its token."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is searched for: to be like some pictures, and unlike others.

    Pictures are named by their ids, kept queries by their tokens
    (:meth:`~lookalike.Collection.keep_query`).
    """

    like: tuple[Ref, ...]
    unlike: tuple[Ref, ...] = ()

    def __str__(self) -> str:
        sides = (",".join(map(str, side)) for side in (self.like, self.unlike))
        return " not ".join(side for side in sides if side)


def is_usable(database: Database, token: str) -> bool:
    """Return whether a query is kept, and its picture not in the bin."""
    return database.row("SELECT 1 FROM usable_queries WHERE token = ?", token) is not None

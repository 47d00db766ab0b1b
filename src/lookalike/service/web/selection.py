"""Which pictures a request is about: some by their ids, or all of a list but some."""

from typing import Annotated

import numpy as np
from pydantic import ConfigDict, Field

from lookalike.collection import Collection, SavedSearch
from lookalike.core.errors import InvalidInput
from lookalike.service.web.api.parameters import MAX_PICTURES, PictureId, Search, Statement

Ids = Annotated[list[PictureId], Field(default_factory=list, max_length=MAX_PICTURES)]


class PictureList(Search):
    """A list of pictures: a search, or all pictures that pass the filters."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    def saved(self) -> SavedSearch:
        """Return the list as the collection understands it."""
        if self.like or self.word or self.unlike:
            self.check()
        return SavedSearch(
            ask=self.ask(),
            word=self.word,
            where=self.where(),
            by=self.by,
            learned=self.learned,
            min_score=self.min_score,
        )


class Selection(Statement):
    """Pictures that something is done with: those named, or all of a list but some."""

    pictures: Ids
    all_of: PictureList | None = Field(
        None, description="A list all of whose pictures are meant; an empty object for all."
    )
    without: Ids = Field(description="Pictures of that list that are not meant.")

    def ids(self, collection: Collection, who: str) -> list[int]:
        """Return the pictures that are meant, of a list as that person sees it.

        Raise InvalidInput if there are none.
        """
        if bool(self.pictures) == (self.all_of is not None):
            raise InvalidInput("selection: give either pictures, or all_of a list.")
        if self.all_of is None:
            return list(dict.fromkeys(self.pictures))
        if self.all_of.strike:
            raise InvalidInput(
                "selection: a text with words struck out has no list of all it finds. "
                "Name the pictures."
            )
        viewer = who if self.all_of.layers == "mine" else ""
        result = collection.queries.all_of(self.all_of.saved(), who=viewer)[: self.all_of.most]
        left = result[~np.isin(result, np.array(self.without, np.int64))]
        if not left.size:
            raise InvalidInput("selection: no pictures are selected.")
        ids: list[int] = left.tolist()
        return ids

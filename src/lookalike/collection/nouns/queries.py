"""Pictures from elsewhere to search with, and why a search found what it found."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lookalike.collection.nouns.noun import Noun
from lookalike.collection.nouns.selection import matching
from lookalike.collection.pictures.describing import read_picture
from lookalike.collection.search import albums, searching
from lookalike.collection.store.albums import SavedSearch
from lookalike.collection.store.people import OWNER
from lookalike.collection.store.queries import Ask, Ref, query_thumbnail
from lookalike.collection.vectors import queries
from lookalike.collection.vectors.queries import Box, Query
from lookalike.images import Limits

if TYPE_CHECKING:
    from lookalike.collection.search.object_match import ObjectMatch


class Queries(Noun):
    """Pictures from elsewhere to search with, and why a search found what it found."""

    def reach(self, ask: Ask, *, by: str | None = None, who: str = OWNER) -> float | None:
        """Return the share of what was learned from labels or clicks that a search uses.

        From 0 to 1, the more the nearer the query is to what was taught; None if nothing was
        learned. Votes count besides.
        """
        ranker, ledger = self._session.rankers.get(by, who=who), self._session.rankers.layer(who)
        return searching.reach(self._session.database, ranker, ledger, ask)

    def keep(
        self,
        picture: bytes | Image.Image,
        *,
        box: Box | None = None,
        content: bytes | None = None,
        limits: Limits | None = None,
    ) -> str:
        """Keep a picture to search with that is not in the collection, and return its token.

        Parameters
        ----------
        picture : bytes or Image
            The content of a file, or a decoded picture.
        box : (float, float, float, float), optional
            The part of it that matters.
        content : bytes, optional
            The file that a decoded picture was made of: the same file gets the same token.
        limits : Limits, optional
            What it may cost to decode before it is refused.
        """
        return searching.keep_query(self._session, picture, box=box, content=content, limits=limits)

    def keep_region(self, picture: int, box: Box, *, limits: Limits | None = None) -> str:
        """Keep a part of a picture of the collection to search with, and return its token."""
        data = read_picture(self._session.picture(picture), limits)
        return self.keep(data, box=box, limits=limits)

    def thumbnail(self, token: str) -> bytes:
        """Return a small JPEG of a kept query."""
        content = query_thumbnail(self._session.database, token)
        if content is None:
            raise self._session.unknown(token)
        return content

    def reasons(
        self,
        ask: Ask,
        picture: int,
        k: int = 5,
        *,
        by: str | None = None,
        named: Callable[[Ref], str] | None = None,
        who: str = OWNER,
    ) -> list[str]:
        """Explain why a picture was found for a query, in sentences, the most telling first.

        Other pictures are named by their files, or as ``named`` says.
        """
        from lookalike.collection.search.explaining import reasons

        queries.check_ask(ask)
        ranker = self._session.rankers.get(by, who=who)
        annotator = self._session.rankers.sound_annotator(ranker)
        return reasons(ranker, annotator, self._session.database, ask, picture, k, named)

    def view_parts(self, ask: Ask, picture: int, *, by: str | None = None) -> dict[str, float]:
        """Return how far each view lifts a match above the average picture, the largest first.

        They are shares, negative for views that lower it, and 1 together without their signs.
        Empty for a feature of one view.
        """
        from lookalike.collection.search.explaining import Case

        queries.check_ask(ask)
        return Case(
            self._session.rankers.get(by), None, self._session.database, ask, picture
        ).views()

    def all_of(self, search: SavedSearch, *, who: str = OWNER) -> NDArray[np.int64]:
        """Return the ids of all that a search finds, best first, or a filter lets pass, rising.

        Whose votes and labels count is as for :meth:`Collection.search`.
        """
        return albums.search_ids(self._session, search, partial(matching, self._session), who)

    def object_match(
        self,
        query: Query | Ask,
        picture: int,
        *,
        by: str | None = None,
        limits: Limits | None = None,
    ) -> ObjectMatch:
        """Say by which regions a picture matches a query: where they lie, and what each adds.

        Parameters
        ----------
        query : int, str, Path, bytes, Image or Ask
            As for :meth:`Collection.search`; of several examples the most alike counts.
        picture : int
        by : str, optional
            A ranker of regions; by default, and for a ranker of another feature, the first.
        limits : Limits, optional
            What the query may cost to decode before it is refused.
        """
        from lookalike.collection.search import object_match

        ranker = object_match.ranker_of_objects(self._session, by)
        return object_match.object_match(self._session, ranker, query, picture, limits)

    def object_picture(
        self,
        query: Query | Ask,
        picture: int,
        *,
        by: str | None = None,
        limits: Limits | None = None,
    ) -> Image.Image:
        """Return a query and a picture side by side, the regions they share joined by lines.

        The parameters are those of :meth:`object_match`.
        """
        from lookalike.collection.search import object_match

        ranker = object_match.ranker_of_objects(self._session, by)
        return object_match.object_picture(self._session, ranker, query, picture, limits)

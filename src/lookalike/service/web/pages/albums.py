"""The pages of albums: all of them, and one with what is new in it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi import Path as InPath

from lookalike.collection import Album, Filter
from lookalike.service.client_parameters import filters
from lookalike.service.web.api.parameters import MAX_ID, Search
from lookalike.service.web.pages.results import by_pairs
from lookalike.service.web.pages.routes import PageRoute, page, results_page, templates
from lookalike.service.web.pages.views import Pairs, tiles
from lookalike.service.web.state import collection_of

if TYPE_CHECKING:
    from lookalike.collection import Collection, PictureRow

COVERS, NEW, MEMBERS = 4, 24, 60
"""Pictures on the card of an album, among its new ones, and of an album without a search."""


class AlbumRoute(PageRoute):
    """A route of albums that reports errors as a page."""

    not_found = "There is no such album. It may have been deleted."


router = APIRouter(route_class=AlbumRoute, include_in_schema=False)

Number = Annotated[int, InPath(ge=1, le=MAX_ID)]


@dataclass(frozen=True, slots=True)
class Card:
    """An album on the page of all albums."""

    album: Album
    covers: tuple[int, ...]


@router.get("/albums")
def albums(request: Request) -> Response:
    """Show all albums."""
    result = collection_of(request).albums.all()
    cards = [Card(album, (*album.new, *album.members)[:COVERS]) for album in result]
    return page(request, "albums.html", albums=cards)


@router.get("/album/{number}")
def album(request: Request, number: Number) -> Response:
    """Show an album: what is new in it, what was saved in it, and what its search finds."""
    collection = collection_of(request)
    result = collection.albums.get(number)
    search = result.search
    # An album is the same for everybody.
    saved = search_of(result).model_copy(update={"layers": "shared"})
    searched = bool(saved.like or saved.word)
    return results_page(
        request,
        "album.html",
        saved,
        room="albums",
        chips=[],
        searched=searched,
        **content(collection, result),
        by_pairs=by_pairs(search.by),
    )


@router.get("/part/members/{number}")
def members(request: Request, number: Number) -> Response:
    """Return what is in an album."""
    collection = collection_of(request)
    answer = {**content(collection, collection.albums.get(number)), "by_pairs": []}
    return templates.TemplateResponse(request, "parts/members.html", answer)


def content(collection: "Collection", album: Album) -> dict[str, Any]:
    """Return what the page of an album shows above what its search finds."""
    own = is_own(album)
    inside: Pairs = [("album", album.name)]
    new = _rows(collection, album.new[:NEW])
    rows = [] if album.most and not own else _listed(collection, album)
    return {
        "album": album,
        "own": own,
        "inside": inside,
        "new": tiles(collection, new, 0),
        "members": tiles(collection, rows, 0),
    }


def is_own(album: Album) -> bool:
    """Return whether an album has only what people said; what its search finds stands below it."""
    return not album.most and bool(album.pictures or album.search.word)


def search_of(album: Album) -> Search:
    """Return the search of an album; of one of pictures alone, for what is not in it yet."""
    saved = album.search
    where = saved.where or Filter()
    given: dict[str, Any] = {
        "like": [] if saved.ask is None else [str(ref) for ref in saved.ask.like],
        "unlike": [] if saved.ask is None else [str(ref) for ref in saved.ask.unlike],
        "word": saved.word,
        "by": saved.by,
        "learned": saved.learned,
        "min_score": saved.min_score,
        **filters(replace(where, pictures=None)),
    }
    if is_own(album):
        given["without_album"] = album.name
    return Search.model_validate(given)


def _listed(collection: "Collection", album: Album) -> "list[PictureRow]":
    where = Filter(pictures=tuple(sorted(album.members)))
    return collection.pictures.browse(MEMBERS, where=where) if album.members else []


def _rows(collection: "Collection", ids: Sequence[int]) -> "list[PictureRow]":
    """Return pictures in the order of their ids."""
    if not ids:
        return []
    rows = collection.pictures.browse(len(ids), where=Filter(pictures=tuple(ids)))
    return sorted(rows, key=lambda row: ids.index(row.id))

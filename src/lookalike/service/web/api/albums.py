"""The API: albums, which are saved searches that go on learning."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from lookalike.collection import Album
from lookalike.service.album_export import album_content, album_rows, album_table
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import MAX_ID, MAX_WORD
from lookalike.service.web.selection import PictureList, Selection
from lookalike.service.web.state import collection_of, speaker

router = APIRouter(prefix="/albums", tags=["albums"], route_class=Route)

Number = Annotated[int, InPath(alias="id", ge=1, le=MAX_ID, description="An album's id.")]


class NewAlbum(Selection):
    """A search, a filter or pictures to save under a name."""

    name: str = Field(max_length=MAX_WORD)
    search: PictureList | None = Field(
        None, description="What to search for or filter by; the album follows what is learned."
    )
    most: int | None = Field(
        None, ge=0, le=MAX_ID, description="How many pictures its best matches may bring it to."
    )


class AlbumName(BaseModel):
    """Another name for an album."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=MAX_WORD)


@router.get("", summary="List the albums")
def albums(request: Request) -> list[Album]:
    """Return the albums by name, with the pictures in each and those that are new."""
    return collection_of(request).albums.all()


@router.post("", summary="Save an album", status_code=201)
def save(request: Request, body: NewAlbum) -> Album:
    """Save a search or filter under a name, or exactly the pictures given, or both."""
    collection, who = collection_of(request), speaker(request)
    pictures = body.ids(collection, who) if body.pictures or body.all_of is not None else []
    search = None if body.search is None else body.search.saved()
    return collection.albums.save(body.name, search, pictures=pictures, most=body.most, who=who)


@router.get("/{id}", summary="Get an album")
def album(request: Request, number: Number) -> Album:
    """Return what is in an album, and what is new in it; it does not count as opened."""
    return collection_of(request).albums.get(number)


@router.post("/{id}/opened", summary="Open an album")
def opened(request: Request, number: Number) -> Album:
    """Return an album, and count all that is in it as seen from now on."""
    return collection_of(request).albums.open(number)


@router.patch("/{id}", summary="Rename an album")
def rename(request: Request, number: Number, body: AlbumName) -> Album:
    """Give an album another name."""
    return collection_of(request).albums.rename(number, body.name, who=speaker(request))


@router.post("/{id}/pictures", summary="Add pictures to an album")
def add(request: Request, number: Number, body: Selection) -> Album:
    """Add the pictures given, by hand, and return the album."""
    collection, who = collection_of(request), speaker(request)
    return collection.albums.add(number, body.ids(collection, who), who=who)


@router.post("/{id}/take-out", summary="Take pictures out of an album")
def take_out(request: Request, number: Number, body: Selection) -> Album:
    """Take out pictures that were added by hand; what its search finds is rejected by a vote."""
    collection, who = collection_of(request), speaker(request)
    return collection.albums.take_out(number, body.ids(collection, who), who=who)


@router.delete("/{id}", summary="Delete an album")
def delete(request: Request, number: Number) -> Album:
    """Delete an album; its pictures, their labels and votes stay."""
    collection, who = collection_of(request), speaker(request)
    deleted = collection.albums.get(number)
    collection.albums.delete(number, who=who)
    return deleted


@router.get("/{id}/export", summary="Export an album", response_class=Response)
def export(
    request: Request,
    number: Number,
    form: Annotated[Literal["csv", "json"], Query(alias="format")] = "csv",
) -> Response:
    """Return the pictures of an album with their paths and labels, as CSV or JSON."""
    collection = collection_of(request)
    exported = collection.albums.get(number)
    rows = album_rows(collection, exported)
    name = {"Content-Disposition": f'attachment; filename="album-{number}.{form}"'}
    if form == "json":
        return JSONResponse(album_content(exported, rows), headers=name)
    return Response(album_table(rows), media_type="text/csv; charset=utf-8", headers=name)

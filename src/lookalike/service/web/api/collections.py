"""The API: which collections the server may open, and opening another in place of this one."""

from pathlib import Path
from typing import Annotated, cast

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field

from lookalike.core.errors import CollectionError
from lookalike.service.answers import CollectionView
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import MAX_PATH
from lookalike.service.web.settings import is_loopback
from lookalike.service.web.shelf import Shelf
from lookalike.service.web.state import collection_of, jobs_of, speaker

router = APIRouter(tags=["collection"], route_class=Route)


class Place(BaseModel):
    """A collection that is listed."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(min_length=1, max_length=MAX_PATH)


class NewCollection(BaseModel):
    """The name of a collection to make."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=1000)]


def may_change(request: Request) -> bool:
    """Return whether who asks may have another collection opened.

    Only where there are no keys and the server listens to this computer alone: a key is for one
    collection.
    """
    state, settings = request.app.state, request.app.state.settings
    is_own = settings.key is None and is_loopback(settings.host) and not settings.read_only
    has_role = getattr(request.state, "role", "write") == "write"
    return state.shelf is not None and is_own and has_role


def shelf_of(request: Request) -> Shelf:
    """Return the collections that the server may open, or refuse."""
    if not may_change(request):
        raise HTTPException(
            403,
            "This server shows one collection only. Without keys, on your own computer, "
            "lookalike serve can open others from the page.",
        )
    return cast("Shelf", request.app.state.shelf)


def change(request: Request, place: Path) -> CollectionView:
    """Open another collection once this request is answered; refuse while a job runs."""
    shelf = shelf_of(request)
    if place == collection_of(request).path.resolve():
        raise CollectionError(f"collections: {place.name} is open already.")
    if any(not job.over for job in jobs_of(request).all()):
        raise CollectionError(
            "collections: a job is running or waiting. Wait until it is over, or stop it."
        )
    shelf.change_to(place)
    return CollectionView(place.name, place, is_open=False)


@router.get("/collections", summary="List the collections the server may open")
def collections(request: Request) -> list[CollectionView]:
    """Return the collections in the folder where the server was started; needs the full role."""
    here = collection_of(request).path.resolve()
    return [
        CollectionView(place.name, place, is_open=place == here)
        for place in shelf_of(request).collections()
    ]


@router.post("/collections/open", status_code=202, summary="Open another collection")
def open_other(request: Request, body: Place) -> CollectionView:
    """Open a collection of the list in place of this one; `/api/status` tells when it is."""
    speaker(request)
    return change(request, shelf_of(request).find(body.path))


@router.post("/collections", status_code=202, summary="Make a collection, and open it")
def make(request: Request, body: NewCollection) -> CollectionView:
    """Make an empty collection beside the others, and open it in place of this one."""
    speaker(request)
    shelf = shelf_of(request)
    if any(not job.over for job in jobs_of(request).all()):
        raise CollectionError(
            "collections: a job is running or waiting. Wait until it is over, or stop it."
        )
    return change(request, shelf.make(body.name))

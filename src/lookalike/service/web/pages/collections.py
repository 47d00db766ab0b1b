"""The page of collections: which there are, and opening another or a new one."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response

from lookalike.service.web.api import collections as api
from lookalike.service.web.api.collections import NewCollection, Place
from lookalike.service.web.api.parameters import MAX_PATH
from lookalike.service.web.pages.routes import PageRoute, page, templates
from lookalike.service.web.state import collection_of

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/collections")
def show(request: Request) -> Response:
    """Show the collections."""
    return page(request, "collections.html", collections=api.collections(request))


@router.post("/part/collections/open")
def open_other(request: Request, place: Annotated[Place, Form()]) -> Response:
    """Open another collection, and wait for it."""
    return _wait(request, str(api.open_other(request, place).path))


@router.post("/part/collections")
def make(request: Request, new: Annotated[NewCollection, Form()]) -> Response:
    """Make a collection, and wait for it."""
    return _wait(request, str(api.make(request, new).path))


@router.get("/part/collections/opened")
def opened(
    request: Request, path: Annotated[str, Query(min_length=1, max_length=MAX_PATH)]
) -> Response:
    """Lead to the pictures once a collection is open."""
    is_open = str(collection_of(request).path.resolve()) == path
    return Response(status_code=204, headers={"HX-Redirect": "/"} if is_open else {})


def _wait(request: Request, path: str) -> Response:
    return templates.TemplateResponse(request, "parts/opening.html", {"path": path})

"""The JSON API: everything the pages do, and more."""

import tempfile
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath

from lookalike import __version__
from lookalike.collection import Entry, RankerInfo
from lookalike.service.answers import Facets, Status, Watch
from lookalike.service.label_tables import label_rows, labels_csv, labels_json
from lookalike.service.web.api import albums as api_albums
from lookalike.service.web.api import collections as api_collections
from lookalike.service.web.api import duplicates as api_duplicates
from lookalike.service.web.api import feedback as api_feedback
from lookalike.service.web.api import folders as api_folders
from lookalike.service.web.api import jobs as api_jobs
from lookalike.service.web.api import objects as api_objects
from lookalike.service.web.api import people as api_people
from lookalike.service.web.api import pictures as api_pictures
from lookalike.service.web.api import search as api_search
from lookalike.service.web.api import selection as api_selection
from lookalike.service.web.api.errors import REFUSALS, Route
from lookalike.service.web.api.parameters import MAX_NAME, By, Filters
from lookalike.service.web.state import collection_of, jobs_of, speaker

_general = APIRouter(tags=["collection"], route_class=Route)


@_general.get("/facets", summary="List the values to filter by")
def facets(request: Request, parameters: Annotated[Filters, Query()]) -> Facets:
    """Return the values with how many pictures have them; months are those of filtered pictures."""
    collection = collection_of(request)
    return Facets(
        folders=dict(collection.pictures.folders()),
        formats=dict(collection.pictures.formats()),
        cameras=dict(collection.pictures.cameras()),
        lenses=dict(collection.pictures.lenses()),
        tags=dict(collection.labels.used()),
        months=dict(collection.pictures.months(parameters.where())),
    )


@_general.get("/status", summary="Get the state of the server")
def status(request: Request) -> Status:
    """Return the version, the pictures, rankers and jobs, and whether folders are watched."""
    collection, jobs = collection_of(request), jobs_of(request)
    watcher = getattr(request.app.state, "watcher", None)
    return Status(
        version=__version__,
        collection=collection.path.resolve(),
        pictures=len(collection),
        refused=len(collection.pictures.refused()),
        roots=tuple(collection.pictures.roots()),
        rankers=tuple(collection.models.rankers()),
        jobs=sum(not job.over for job in jobs.all()),
        watching=Watch(
            on=watcher is not None,
            folders=() if watcher is None else tuple(watcher.folders),
            trouble=(watcher.trouble if watcher is not None else "") or jobs.trouble,
        ),
    )


@_general.get("/rankers", summary="List the ways to search")
def rankers(request: Request) -> list[RankerInfo]:
    """Return the rankers to search by, the default first, and what is wrong with any of them."""
    return collection_of(request).models.rankers()


@_general.get("/labels", summary="Export the labels", response_class=Response)
def labels(
    request: Request, form: Annotated[Literal["csv", "json"], Query(alias="format")] = "csv"
) -> Response:
    """Return the labels of all pictures with their sources, as ``lookalike labels`` does."""
    rows = label_rows(collection_of(request))
    content, kind = (
        (labels_csv(rows), "text/csv; charset=utf-8")
        if form == "csv"
        else (labels_json(rows), "application/json")
    )
    name = {"Content-Disposition": f'attachment; filename="labels.{form}"'}
    return Response(content, media_type=kind, headers=name)


@_general.post("/rankers/{name}/default", summary="Search by this one by default")
def set_default(
    request: Request, name: Annotated[str, InPath(min_length=1, max_length=MAX_NAME)]
) -> Entry:
    """Take a ranker for searches that name none, and return the event, which can be undone."""
    collection, who = collection_of(request), speaker(request)
    with jobs_of(request).writing():
        return collection.models.set_default(name, who=who)


@_general.delete("/rankers/{name}", summary="Remove a way to search")
def remove_ranker(
    request: Request, name: Annotated[str, InPath(min_length=1, max_length=MAX_NAME)]
) -> list[RankerInfo]:
    """Remove a ranker with what was learned for it, and return the others."""
    collection, who = collection_of(request), speaker(request)
    with jobs_of(request).writing():
        collection.models.remove_ranker(name, who=who)
    return collection.models.rankers()


@_general.get(
    "/export",
    summary="Export what was learned",
    response_class=Response,
    responses={
        200: {
            "description": "A safetensors file with the learned query transform.",
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}}
            },
        }
    },
)
def export(request: Request, by: Annotated[By, Query()] = None) -> Response:
    """Return the learned query transform, to search vectors kept elsewhere."""
    with tempfile.TemporaryDirectory(prefix="lookalike-") as folder:
        path = Path(folder) / "learned.safetensors"
        collection_of(request).export(path, by=by)
        content = path.read_bytes()
    name = 'attachment; filename="learned.safetensors"'
    return Response(
        content, media_type="application/octet-stream", headers={"Content-Disposition": name}
    )


router = APIRouter(prefix="/api", responses=REFUSALS)
for _part in (
    api_search.router,
    api_objects.router,
    api_pictures.router,
    api_feedback.router,
    api_people.router,
    api_jobs.router,
    api_folders.router,
    api_selection.router,
    api_collections.router,
    api_albums.router,
    api_duplicates.router,
    _general,
):
    router.include_router(_part)

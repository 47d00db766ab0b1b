"""The tree of folders: each is opened when it is looked into, and leads to its pictures."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from lookalike.service.web.api.parameters import MAX_PATH, By
from lookalike.service.web.pages.results import by_pairs
from lookalike.service.web.pages.routes import PageRoute, page, templates
from lookalike.service.web.state import collection_of

MAX_SHOWN = 200
"""Folders of one that are shown at once; more are asked for."""

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/folders")
def tree(request: Request, by: Annotated[By, Query()] = None) -> Response:
    """Show the highest folders."""
    return page(request, "folders.html", by=by, **_some(request, "", 0))


@router.get("/part/folders")
def branch(
    request: Request,
    above: Annotated[str, Query(max_length=MAX_PATH)] = "",
    start: Annotated[int, Query(ge=0)] = 0,
    by: Annotated[By, Query()] = None,
) -> Response:
    """Return the folders in one."""
    content = {**_some(request, above, start), "by_pairs": by_pairs(by)}
    return templates.TemplateResponse(request, "parts/folders.html", content)


def _some(request: Request, above: str, start: int) -> dict[str, Any]:
    every = collection_of(request).pictures.subfolders(above)
    end = start + MAX_SHOWN
    return {"above": above, "folders": every[start:end], "left": len(every) - end, "end": end}

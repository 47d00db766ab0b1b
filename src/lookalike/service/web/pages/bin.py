"""The page of the bin: look at removed pictures, restore them, or erase them."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request, Response
from pydantic import BaseModel, ConfigDict

from lookalike.service.web.api.parameters import MAX_REACH, PictureId
from lookalike.service.web.pages.routes import PageRoute, page, templates
from lookalike.service.web.state import collection_of, jobs_of, speaker

SHOWN = 60

router = APIRouter(route_class=PageRoute, include_in_schema=False)

Offset = Annotated[int, Query(ge=0, le=MAX_REACH)]


class Which(BaseModel):
    """One picture of the bin; without it, all."""

    model_config = ConfigDict(extra="forbid")

    picture: PictureId | None = None

    @property
    def pictures(self) -> list[int] | None:
        """The pictures to restore or erase."""
        return None if self.picture is None else [self.picture]


@router.get("/bin")
def show(request: Request, offset: Offset = 0) -> Response:
    """Show what is in the bin."""
    return page(request, "bin.html", **_content(request, offset))


@router.post("/part/bin/restore")
def restore(request: Request, which: Annotated[Which, Form()]) -> Response:
    """Bring a picture back, or all, and show the rest."""
    collection_of(request).restore(which.pictures, who=speaker(request))
    return templates.TemplateResponse(request, "parts/bin.html", _content(request, 0))


@router.post("/part/bin/empty")
def empty(request: Request, which: Annotated[Which, Form()]) -> Response:
    """Erase a picture, or all, and show the rest."""
    who = speaker(request)
    with jobs_of(request).writing():
        collection_of(request).bin.empty(which.pictures, who=who)
    return templates.TemplateResponse(request, "parts/bin.html", _content(request, 0))


def _content(request: Request, offset: int) -> dict[str, Any]:
    collection = collection_of(request)
    count = collection.bin.count()
    return {
        "rows": collection.bin.browse(SHOWN, offset=offset),
        "count": count,
        "older": offset + SHOWN if count > offset + SHOWN else None,
    }

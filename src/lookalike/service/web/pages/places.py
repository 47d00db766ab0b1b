"""The page of places: a map of where pictures were taken, and those taken nearest to one."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from lookalike.collection import Filter
from lookalike.service.web.api.parameters import PictureId
from lookalike.service.web.pages.maps import HEIGHT, WIDTH, draw_map
from lookalike.service.web.pages.routes import GridView, PageRoute, page
from lookalike.service.web.pages.views import distance_text, filter_pairs, place_text, tiles
from lookalike.service.web.state import collection_of

NEAREST = 60

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/places")
def places(
    request: Request,
    parameters: Annotated[GridView, Query()],
    of: Annotated[PictureId | None, Query()] = None,
) -> Response:
    """Show where pictures were taken; with ``of``, those taken nearest to one."""
    collection = collection_of(request)
    located = collection.pictures.locations(parameters.where())
    pairs = [pair for pair in filter_pairs(parameters) if pair[0] != "near"]
    context: dict[str, Any] = {"row": None, "nearest": []}
    if of is not None:
        row, near = collection.pictures.get(of), collection.pictures.nearby(of, NEAREST)
        shown = {one.id: one for one in near}
        if shown:
            rows = collection.pictures.browse(len(shown), where=Filter(pictures=tuple(shown)))
            rows.sort(key=lambda one: [*shown].index(one.id))
            context["nearest"] = [
                (tile, distance_text(shown[tile.id].kilometres))
                for tile in tiles(collection, rows, 0)
            ]
        located = [one for one in located if one[0] in shown or one[0] == of]
        context |= {"row": row, "here": place_text(row.latitude or 0, row.longitude or 0)}
    return page(
        request,
        "places.html",
        filters=parameters,
        by=parameters.by,
        located=len(located),
        map=draw_map([(latitude, longitude) for _, latitude, longitude in located])
        if located
        else None,
        size=(WIDTH, HEIGHT),
        pairs=pairs,
        **context,
    )

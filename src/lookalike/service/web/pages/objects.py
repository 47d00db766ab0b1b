"""What two pictures have in common, drawn between them: a page, and a part of "why"."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request, Response

from lookalike.collection import ObjectMatch, Ref
from lookalike.core.errors import CollectionError, InvalidInput, LookalikeError
from lookalike.service.web.api.objects import Pair
from lookalike.service.web.api.parameters import ask
from lookalike.service.web.pages.routes import PageRoute, page
from lookalike.service.web.pages.views import Pairs, address
from lookalike.service.web.rankers import OBJECTS
from lookalike.service.web.state import collection_of

if TYPE_CHECKING:
    from lookalike.collection import Collection

HEIGHT, GAP = 600, 16
"""Of the drawing, in its own units."""

MAX_DRAWN = 60
MIN_REGIONS = 12
"""Regions that lie alike from which two pictures are said to show the same thing."""

LARGER = 2.0
"""Regions are drawn larger than they are, as they were described with what is around them."""

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Side:
    """A picture of the drawing: its address and where it lies."""

    address: str
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Link:
    """Two regions that match: their centres, and the matrices that draw a circle as each."""

    ends: tuple[float, float, float, float]
    rings: tuple[str, str]
    agrees: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """Two pictures side by side, and what they have in common."""

    match: ObjectMatch
    is_same: bool
    width: float
    sides: tuple[Side, Side]
    links: Sequence[Link]
    whole: str


@router.get("/match")
def show(request: Request, parameters: Annotated[Pair, Query()]) -> Response:
    """Show an example and a picture with the regions they share."""
    collection = collection_of(request)
    match = collection.queries.object_match(
        ask(parameters.like, []), parameters.picture, by=parameters.by
    )
    back: Pairs = [("like", ref) for ref in parameters.like]
    back += [("by", parameters.by)] if parameters.by else []
    return page(
        request,
        "match.html",
        by=parameters.by,
        drawing=_drawing(collection, match, "", small=False),
        back=address("/search", back),
    )


def drawing_of(
    collection: "Collection", like: Sequence[str], picture: int, by: str | None
) -> Drawing | None:
    """Return why a match shows the same thing; None where it is not known, or does not count."""
    try:
        match = collection.queries.object_match(ask([*like], []), picture, by=by)
    except (CollectionError, InvalidInput, LookalikeError):
        return None
    named = next((info for info in collection.models.rankers() if info.name == by), None)
    is_object = named is not None and named.feature == OBJECTS
    if match.regions < MIN_REGIONS and not is_object:
        return None
    pairs: Pairs = [("like", ref) for ref in like]
    pairs += [("picture", str(picture)), *([("by", by)] if by else [])]
    return _drawing(collection, match, address("/match", pairs), small=True)


def _drawing(collection: "Collection", match: ObjectMatch, whole: str, *, small: bool) -> Drawing:
    scales = [HEIGHT / height for _, height in match.sizes]
    widths = [width * scale for (width, _), scale in zip(match.sizes, scales, strict=True)]
    lefts = (0.0, widths[0] + GAP)
    refs: tuple[Ref, Ref] = (match.example or match.picture, match.picture)
    first, second = (
        Side(_picture(collection, ref, small=small), left, width)
        for ref, left, width in zip(refs, lefts, widths, strict=True)
    )
    chosen = [one for one in match.matches if one.agrees == (match.regions > 0)][:MAX_DRAWN]
    links = []
    for one in chosen:
        ends, rings = [], []
        for (x, y), shape, scale, left in zip(one.places, one.shapes, scales, lefts, strict=True):
            ends += [round(x * scale + left, 1), round(y * scale, 1)]
            a, c, b, d = (round(LARGER * scale * number, 2) for number in shape)
            rings.append(f"matrix({a} {b} {c} {d} {ends[-2]} {ends[-1]})")
        links.append(Link((ends[0], ends[1], ends[2], ends[3]), (rings[0], rings[1]), one.agrees))
    is_same = match.regions >= MIN_REGIONS
    return Drawing(match, is_same, widths[0] + GAP + widths[1], (first, second), links, whole)


def _picture(collection: "Collection", ref: Ref, *, small: bool) -> str:
    if isinstance(ref, str):
        return f"/query/{ref}.jpg"
    row = collection.pictures.get(ref)
    return f"/thumbnail/{ref}.jpg" if small or row.missing is not None else f"/image/{ref}"

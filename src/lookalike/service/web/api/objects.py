"""The API: by which regions a picture matches a search."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field

from lookalike.collection import ObjectMatch
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import MAX_REFS, By, PictureId, RefText, ask
from lookalike.service.web.state import collection_of

router = APIRouter(tags=["search"], route_class=Route)


class Pair(BaseModel):
    """What was searched for, and a picture that it found."""

    like: list[RefText] = Field(
        min_length=1, max_length=MAX_REFS, description="The examples; the most alike counts."
    )
    picture: PictureId
    by: By = None


@router.get("/why", summary="Show why two pictures match")
def why(request: Request, parameters: Annotated[Pair, Query()]) -> ObjectMatch:
    """Return the regions that an example and a picture share, and what each adds to the score.

    `places` are the centres of both regions in pixels of `sizes`, `shapes` the matrices from the
    unit circle to each, and `agrees` says whether they lie where the other regions put them. The
    collection must describe pictures by regions.
    """
    return collection_of(request).queries.object_match(
        ask(parameters.like, []), parameters.picture, by=parameters.by
    )

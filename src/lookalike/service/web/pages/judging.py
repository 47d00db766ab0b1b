"""The page on which raters compare two rankings, without knowing which is which."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from lookalike.service.web.api.answers import thumbnail_address
from lookalike.service.web.api.parameters import MAX_NAME, PictureId
from lookalike.service.web.pages.routes import PageRoute, page, templates
from lookalike.service.web.state import collection_of, speaker

router = APIRouter(route_class=PageRoute, include_in_schema=False)

MAX_PICTURES = 50


class Judging(BaseModel):
    """Who rates, and what is compared."""

    model_config = ConfigDict(extra="forbid")

    rater: str = Field("", max_length=MAX_NAME)
    against: str = Field("cosine", max_length=MAX_NAME)
    by: str = Field("", max_length=MAX_NAME)
    queries: int = Field(25, ge=1, le=1000)
    k: int = Field(10, ge=1, le=MAX_PICTURES)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What is compared as it stands in an address."""
        given = {"against": self.against, "queries": str(self.queries), "k": str(self.k)}
        return [*given.items(), *([("by", self.by)] if self.by else [])]


class RatingForm(Judging):
    """What a rater said of a query."""

    query: PictureId
    shown: list[PictureId] = Field(max_length=2 * MAX_PICTURES)
    relevant: list[PictureId] = Field(default=[], max_length=2 * MAX_PICTURES)


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture as it is shown."""

    id: int
    thumbnail: str


@router.get("/judge")
def show(request: Request, given: Annotated[Judging, Query()]) -> Response:
    """Ask for the rater's name, or show the next query."""
    return page(request, "judge.html", **_content(request, given))


@router.post("/part/judge")
def rate(request: Request, form: Annotated[RatingForm, Form()]) -> Response:
    """Record a rating and show the next query."""
    collection_of(request).ratings.rate(
        form.rater,
        form.query,
        form.relevant,
        shown=form.shown,
        against=form.against,
        by=form.by or None,
        k=form.k,
        who=speaker(request),
    )
    return templates.TemplateResponse(request, "parts/judge.html", _content(request, form))


def _content(request: Request, given: Judging) -> dict[str, Any]:
    collection = collection_of(request)
    content: dict[str, Any] = {"judging": given, "comparison": None}
    if given.rater.strip():
        comparison = collection.ratings.next(
            given.rater,
            against=given.against,
            by=given.by or None,
            queries=given.queries,
            k=given.k,
        )
        if comparison is not None:

            def pictures(ids: tuple[int, ...]) -> list[Shown]:
                rows = [collection.pictures.get(one) for one in ids]
                return [Shown(row.id, thumbnail_address(row.id, row.sha256)) for row in rows]

            (query,) = pictures((comparison.query,))
            sides = {"A": pictures(comparison.left), "B": pictures(comparison.right)}
            shown = sorted({*comparison.left, *comparison.right})
            content |= {"comparison": comparison, "query": query, "sides": sides, "seen": shown}
    return content

"""The page of near-duplicates: groups side by side with what differs, and what to do with them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from lookalike.core.text import shown
from lookalike.service.answers import Picture
from lookalike.service.web.api.duplicates import DuplicateSearch, details
from lookalike.service.web.pages.routes import PageRoute, page, templates
from lookalike.service.web.pages.views import Pairs, folder_name, moment, size
from lookalike.service.web.state import collection_of

if TYPE_CHECKING:
    from lookalike.collection import Collection, Duplicates

GROUPS, EACH = 20, 12
"""Groups shown at once, and pictures of each."""

router = APIRouter(route_class=PageRoute, include_in_schema=False)

Parameters = Annotated[DuplicateSearch, Query()]


@dataclass(frozen=True, slots=True)
class Member:
    """A picture of a group; ``facts`` are names and values, and whether the values differ."""

    picture: Picture
    likeness: float
    facts: list[tuple[str, str, bool]]


@dataclass(frozen=True, slots=True)
class Group:
    """A group as shown; ``ids`` are all of its pictures, ``members`` the first."""

    keeper: int
    reason: str
    ids: list[int]
    members: list[Member]


@router.get("/duplicates")
def show(request: Request, query: Parameters) -> Response:
    """Show the page; the groups follow, since finding them may take a while."""
    return page(request, "duplicates.html", pairs=_pairs(query), by=query.by)


@router.get("/part/duplicates")
def groups(request: Request, query: Parameters) -> Response:
    """Return some groups."""
    collection = collection_of(request)
    result = query.groups(request)
    some = result[query.offset : query.offset + GROUPS]
    content = {
        "groups": _shown(collection, some),
        "offset": query.offset,
        "count": len(result),
        "extra": sum(len(group.pictures) - 1 for group in result),
        "copies": [] if query.offset else collection.duplicates.copies(),
        "left": len(result) - query.offset - len(some),
        "may_write": getattr(request.state, "role", "write") == "write",
        "pairs": _pairs(query),
    }
    return templates.TemplateResponse(request, "parts/duplicates.html", content)


@router.get("/part/duplicates/progress")
def progress(request: Request) -> Response:
    """Return how far the search for duplicates is."""
    done, total = getattr(request.app.state, "duplicates_done", (0, 0))
    content = {"done": done, "total": total}
    return templates.TemplateResponse(request, "parts/duplicates_progress.html", content)


def _pairs(parameters: DuplicateSearch) -> Pairs:
    """Return what is looked for as it stands in an address."""
    given: dict[str, Any] = {
        "by": parameters.by,
        "radius": parameters.radius,
        "like": parameters.like,
    }
    return [(name, str(value)) for name, value in given.items() if value is not None]


def _shown(collection: "Collection", groups: "list[Duplicates]") -> list[Group]:
    pictures = details(collection, groups, EACH)
    return [
        Group(group.keeper, group.reason, list(group.pictures), _members(group, pictures))
        for group in groups
    ]


def _members(group: "Duplicates", pictures: dict[int, Picture]) -> list[Member]:
    pairs = zip(group.pictures, group.likeness, strict=True)
    here = [(pictures[number], likeness) for number, likeness in pairs if number in pictures]
    facts = [_facts(picture) for picture, _ in here]
    same = set.intersection(*(set(own.items()) for own in facts)) if facts else set()
    return [
        Member(picture, likeness, [(*fact, fact not in same) for fact in own.items()])
        for (picture, likeness), own in zip(here, facts, strict=True)
    ]


def _facts(picture: Picture) -> dict[str, str]:
    """Return what may tell duplicates apart, in words."""
    return {
        "Size": f"{picture.width:,} × {picture.height:,}",
        "File": size(picture.bytes),
        "Format": picture.format,
        "Taken": moment(picture.taken),
        "Folder": folder_name(picture.places[0].parent),
        "Tags": ", ".join(map(shown, picture.labels)) or "none",
        **({"Missing": "the file is missing"} if picture.missing else {}),
    }

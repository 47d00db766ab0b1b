"""The page of near-duplicates: groups side by side with what differs, and what to do with them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from lookalike.core.text import shown
from lookalike.service.web.api.answers import thumbnail_address
from lookalike.service.web.api.duplicates import Sought, facts
from lookalike.service.web.pages.routes import PageRoute, page, templates
from lookalike.service.web.pages.views import Pairs, folder_name, moment, size
from lookalike.service.web.state import collection_of

if TYPE_CHECKING:
    from lookalike.collection import Collection, Duplicates, PictureRow

GROUPS, EACH = 20, 12
"""Groups shown at once, and pictures of each."""

router = APIRouter(route_class=PageRoute, include_in_schema=False)

Asked = Annotated[Sought, Query()]


@dataclass(frozen=True, slots=True)
class Member:
    """A picture of a group; ``facts`` are names and values, and whether the values differ."""

    id: int
    name: str
    thumbnail: str
    width: int
    height: int
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
def show(request: Request, asked: Asked) -> Response:
    """Show the page; the groups follow, since finding them may take a while."""
    return page(request, "duplicates.html", pairs=_pairs(asked), by=asked.by)


@router.get("/part/duplicates")
def groups(request: Request, asked: Asked) -> Response:
    """Return some groups."""
    collection = collection_of(request)
    found = asked.found(request)
    some = found[asked.offset : asked.offset + GROUPS]
    content = {
        "groups": _shown(collection, some),
        "offset": asked.offset,
        "count": len(found),
        "extra": sum(len(group.pictures) - 1 for group in found),
        "left": len(found) - asked.offset - len(some),
        "may_write": getattr(request.state, "role", "write") == "write",
        "pairs": _pairs(asked),
    }
    return templates.TemplateResponse(request, "parts/duplicates.html", content)


@router.get("/part/duplicates/progress")
def progress(request: Request) -> Response:
    """Return how far the search for duplicates is."""
    done, total = getattr(request.app.state, "duplicates_done", (0, 0))
    content = {"done": done, "total": total}
    return templates.TemplateResponse(request, "parts/duplicates_progress.html", content)


def _pairs(asked: Sought) -> Pairs:
    """Return what is looked for as it stands in an address."""
    given: dict[str, Any] = {"by": asked.by, "radius": asked.radius, "like": asked.like}
    return [(name, str(value)) for name, value in given.items() if value is not None]


def _shown(collection: "Collection", found: "list[Duplicates]") -> list[Group]:
    rows = facts(collection, found, EACH)
    groups = []
    for group in found:
        pairs = zip(group.pictures, group.likeness, strict=True)
        here = [(rows[number], score) for number, score in pairs if number in rows]
        told = [_facts(row, labels) for (row, labels), _ in here]
        same = set.intersection(*(set(it.items()) for it in told)) if told else set()
        members = [
            Member(
                row.id,
                shown(row.places[0].name),
                thumbnail_address(row.id, row.sha256),
                row.width,
                row.height,
                score,
                [(*fact, fact not in same) for fact in own.items()],
            )
            for ((row, _), score), own in zip(here, told, strict=True)
        ]
        groups.append(Group(group.keeper, group.reason, list(group.pictures), members))
    return groups


def _facts(row: "PictureRow", labels: list[str]) -> dict[str, str]:
    """Return what may tell duplicates apart, in words."""
    return {
        "Size": f"{row.width:,} × {row.height:,}",
        "File": size(row.bytes),
        "Format": row.format,
        "Taken": moment(row.taken),
        "Folder": folder_name(row.places[0].parent),
        "Tags": ", ".join(map(shown, labels)) or "none",
        **({"Missing": "the file is missing"} if row.missing else {}),
    }

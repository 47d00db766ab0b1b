"""The HTML pages; each has its JSON counterpart under ``/api``."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.templating import Jinja2Templates
from pydantic import Field

from lookalike.collection import FAVOURITE, Filter, PictureRow, Proposal
from lookalike.core.errors import CollectionError, InvalidInput, LookalikeError, NotFound
from lookalike.core.text import shown, without_method, word_key
from lookalike.features.ocr import is_installed as reads_text
from lookalike.service.web.api.answers import thumbnail_address
from lookalike.service.web.api.collections import may_change
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import MAX_NAME, By, Filters, Order, Search
from lookalike.service.web.pages.assets import DIGEST
from lookalike.service.web.pages.history import entry_views
from lookalike.service.web.pages.results import (
    PAGE,
    by_pairs,
    find,
    option_pairs,
    search_pairs,
    word_pairs,
)
from lookalike.service.web.pages.views import (
    CHUNK,
    Pairs,
    Section,
    address,
    chips,
    crumbs,
    examples,
    filter_pairs,
    folder_name,
    moment,
    place_text,
    ranker_name,
    sections,
    size,
    tiles,
)
from lookalike.service.web.rankers import RankerView, standing_of
from lookalike.service.web.state import collection_of, person_of, viewer_of
from lookalike.service.word_texts import aside_text, term_text

if TYPE_CHECKING:
    from lookalike.collection import Collection

FIRST, HISTORY, REFUSED = 72, 20, 100

_ROOMS = {
    "/": "pictures",
    "/search": "search",
    "/albums": "albums",
    "/learned": "learned",
    "/add": "add",
    "/bin": "bin",
    "/duplicates": "pictures",
    "/places": "pictures",
    "/folders": "pictures",
}

templates = Jinja2Templates(Path(__file__).parent / "templates")
templates.env.globals.update(static=f"/static/{DIGEST}", place_text=place_text, favourite=FAVOURITE)
templates.env.filters.update(
    shown=shown,
    size=size,
    moment=moment,
    folder_name=folder_name,
    ranker_name=ranker_name,
    address=address,
    aside_text=aside_text,
    term_text=term_text,
    filter_pairs=filter_pairs,
    sentence=lambda text: text[:1].upper() + text[1:],
)
templates.env.trim_blocks = templates.env.lstrip_blocks = True


class GridView(Filters):
    """The grid of all pictures: filters and order, and the ranker that searches from it use."""

    order: Order = "newest"
    by: By = None


class PictureView(Search):
    """A single picture, and the list it was opened from: all pictures, or a search."""

    order: Order = "newest"
    at: int | None = Field(None, ge=0)


class PageRoute(Route):
    """A route that reports errors as a page."""

    not_found = "This picture is not in the collection. It may have been removed."

    def refused(self, request: Request, error: RequestValidationError | LookalikeError) -> Response:
        """Return the page for an expected error."""
        if isinstance(error, RequestValidationError):
            message = "The address contains something this page does not understand."
        elif isinstance(error, NotFound):
            message = self.not_found
        else:
            message = shown(without_method(str(error)))
        return trouble(request, super().refused(request, error).status_code, message)


router = APIRouter(route_class=PageRoute, include_in_schema=False)


def trouble(request: Request, status: int, message: str) -> Response:
    """Return a page that reports an error."""
    return page(request, "trouble.html", status=status, message=message, code=status)


def page(
    request: Request,
    name: str,
    *,
    code: int = 200,
    filters: Filters | None = None,
    kept: Pairs | None = None,
    by: str | None = None,
    **context: Any,
) -> Response:
    """Render a template; ``kept`` is the part of the address that is not filters."""
    collection = collection_of(request)
    path = "/search" if request.url.path == "/search" else "/"
    on = filter_pairs(filters) if filters is not None else []
    everything = {
        "room": _ROOMS.get(request.url.path, ""),
        "token": getattr(request.app.state, "token", ""),
        "total": collection.pictures.count(),
        "may_write": getattr(request.state, "role", "write") == "write",
        "voter": getattr(request.state, "role", "write") == "vote",
        "asker": collection.read_only,
        "collection_name": collection.path.resolve().name,
        "may_change": may_change(request),
        "filters": filters or Filters.model_validate({}),
        "filter_path": path,
        "filter_kept": kept or [],
        "chips": chips(path, on, kept or []),
        "by_pairs": by_pairs(by),
        **context,
    }
    return templates.TemplateResponse(request, name, everything, status_code=code)


@router.get("/")
def grid(request: Request, parameters: Annotated[GridView, Query()]) -> Response:
    """Show all pictures by month; the page itself contains only the first."""
    collection, where = collection_of(request), parameters.where()
    if where is None and not collection.pictures.count():
        return add(request)
    if parameters.order == "added":
        parts = [Section("", "Recently added", 0, collection.pictures.count(where))]
    else:
        months = collection.pictures.months(where)
        parts = sections(months if parameters.order == "newest" else months[::-1])
    parts = [part for part in parts if part.count]
    rows = collection.pictures.browse(FIRST, where=where, order=parameters.order) if parts else []
    kept: Pairs = [("order", parameters.order)] if parameters.order != "newest" else []
    kept += by_pairs(parameters.by)
    return page(
        request,
        "grid.html",
        crumbs=crumbs(collection.pictures.folders(), parameters.folder)
        if parameters.folder
        else [],
        filters=parameters,
        kept=kept,
        by=parameters.by,
        sections=parts,
        months=[(part.key, part.title, part.count) for part in parts],
        shown=sum(part.count for part in parts),
        first=tiles(collection, rows, 0),
        chunk=CHUNK,
        pairs=filter_pairs(parameters) + kept,
        order=parameters.order,
    )


@router.get("/search")
def search(request: Request, given: Annotated[Search, Query()]) -> Response:
    """Show the results of a search."""
    return results_page(request, "search.html", given)


def results_page(request: Request, template: str, given: Search, **more: Any) -> Response:
    """Render the results of a search."""
    collection, ask = collection_of(request), given.ask()
    view = RankerView.of(collection, given.by)
    parameters = view.fill_in(given)
    kept: Pairs = [("like", ref) for ref in parameters.like] + [
        ("unlike", ref) for ref in parameters.unlike
    ]
    words = word_pairs(parameters)
    kept += words + option_pairs(parameters)
    rest = words + filter_pairs(parameters) + option_pairs(parameters)
    nothing = ask is None and not parameters.word
    return page(
        request,
        template,
        filters=parameters,
        kept=kept,
        by=parameters.by,
        view=view,
        asked=parameters,
        nothing=nothing,
        examples=examples(collection, ask, rest) if ask else [],
        found=None
        if nothing
        else find(collection, parameters, PAGE, who=viewer_of(request, parameters)),
        person=person_of(request),
        pairs=search_pairs(parameters),
        page_size=PAGE,
        **more,
    )


@router.get("/picture/{number}")
def picture(request: Request, number: int, given: Annotated[PictureView, Query()]) -> Response:
    """Show a picture and what is known about it."""
    collection = collection_of(request)
    view = RankerView.of(collection, given.by)
    parameters = view.fill_in(given)
    row = collection.pictures.get(number)
    searched = bool(parameters.like or parameters.word)
    pairs = search_pairs(parameters)
    if parameters.order != "newest":
        pairs.append(("order", parameters.order))
    before, after = _neighbours(collection, row, parameters, viewer_of(request, parameters))
    labels, proposals = tags_of(collection, number)
    return page(
        request,
        "picture.html",
        by=parameters.by,
        view=view,
        row=row,
        thumbnail=thumbnail_address(row.id, row.sha256),
        labels=labels,
        proposals=proposals,
        before=before and address(f"/picture/{before[0]}", [*pairs, ("at", before[1])]),
        after=after and address(f"/picture/{after[0]}", [*pairs, ("at", after[1])]),
        back=address("/search" if searched else "/", pairs),
        searched=searched,
        **_voting(collection, parameters, number, person_of(request)),
        folder=row.places[0].parent if row.places else None,
        missing=row.missing is not None or not any(map(os.path.lexists, row.places)),
    )


@router.get("/learned")
def learned(request: Request, by: Annotated[str, Query(max_length=MAX_NAME)] = "") -> Response:
    """Show what was learned, its evaluation, and the log."""
    told_all = what_was_learned(collection_of(request), by or None, person_of(request))
    return page(request, "learned.html", by=told_all["view"].by, **told_all)


@router.get("/add")
def add(request: Request) -> Response:
    """Show how to add pictures, and the files that could not be used."""
    collection = collection_of(request)
    refused = collection.pictures.refused()
    places = dict.fromkeys([*request.app.state.settings.allow, *collection.pictures.roots()])
    return page(
        request,
        "add.html",
        roots=[one for one in places if one.is_dir() and places.keys().isdisjoint(one.parents)],
        has_folders=bool(collection.pictures.roots()),
        texts=collection.texts.counts(),
        reads_text=reads_text(),
        refused=refused[:REFUSED],
        refused_count=len(refused),
        missing_count=collection.pictures.count(Filter(missing=True)),
        bin_count=collection.bin.count(),
    )


def tags_of(collection: "Collection", picture: int) -> tuple[list[str], list[Proposal]]:
    """Return the tags of a picture, and those that people proposed who are not trusted."""
    labels = collection.labels.of([picture]).get(picture, [])
    return labels, collection.people.proposals(picture=picture)


def what_was_learned(collection: "Collection", by: str | None, who: str) -> dict[str, Any]:
    """Return the content of the page about learning, for the ranker in view."""
    view, models = RankerView.of(collection, by), collection.models.all()
    own = [model for model in models if model.ranker == view.name]
    in_use = [model for model in own if model.current]
    newest = {model.kind: model for model in own if model.after is not None}
    events = collection.log.history(limit=HISTORY + 1)
    return {
        "view": view,
        "standing": standing_of(collection, view.by, who) if len(collection) else None,
        "people": collection.people.all(view.by),
        "in_use": sorted(in_use, key=lambda model: (model.kind == "codes", model.kind)),
        "refused": [model for model in newest.values() if not model.published],
        "models": models[::-1],
        "events": entry_views(collection, events[:HISTORY]),
        "older": events[HISTORY - 1].number if len(events) > HISTORY else None,
        "tags": len(collection.labels.used()),
        "imported": next((one for one in events if one.kind == "import" and not one.undone), None),
        "weights": _weights(collection, view.by) if len(collection) else {},
    }


def _weights(collection: "Collection", by: str | None) -> dict[str, float]:
    """Return the weights of views; none for a ranker that cannot be used."""
    try:
        return collection.models.view_weights(by)
    except InvalidInput:
        raise
    except LookalikeError:
        return {}


def _voting(
    collection: "Collection", parameters: PictureView, number: int, who: str
) -> dict[str, Any]:
    """Return how a picture opened from a search is voted on, and how it was."""
    ask = parameters.ask()
    if ask is not None:
        verdict = collection.votes.verdicts(ask, who).get(number, 0)
        voting = "picture" if number not in (*ask.like, *ask.unlike) else ""
    else:
        word = word_key(parameters.word or "")
        verdict = int(word in map(word_key, collection.labels.of([number])[number]))
        verdict -= number in collection.labels.refused(parameters.word or "", [number])
        voting = "word" if parameters.word else ""
    return {"voting": voting, "verdict": verdict, "asked_pairs": search_pairs(parameters)}


def _neighbours(
    collection: "Collection", row: PictureRow, parameters: PictureView, who: str
) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Return the previous and next pictures in the list, with their positions."""
    if parameters.at is None:
        return None, None
    start = max(parameters.at - 1, 0)
    try:
        if parameters.like or parameters.word:
            ids = [tile.id for tile in find(collection, parameters, 3, start, who=who).tiles]
        else:
            rows = collection.pictures.browse(
                3, offset=start, where=parameters.where(), order=parameters.order
            )
            ids = [one.id for one in rows]
    except CollectionError:
        return None, None
    if row.id not in ids:
        return None, None
    place = ids.index(row.id)
    before = (ids[place - 1], start + place - 1) if place else None
    after = (ids[place + 1], start + place + 1) if place + 1 < len(ids) else None
    return before, after

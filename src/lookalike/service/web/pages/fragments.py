"""Parts of pages, requested by htmx."""

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request, Response
from pydantic import BaseModel, Field, StringConstraints

from lookalike.collection import UNDOABLE, Entry, PersonKind
from lookalike.core.text import label_name
from lookalike.service.web.api.answers import HASH
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import (
    MAX_NAME,
    PictureId,
    RefText,
    Search,
    Word,
    ask,
)
from lookalike.service.web.files import FOREVER, lasting_thumbnail
from lookalike.service.web.pages.history import entry_views
from lookalike.service.web.pages.objects import drawing_of
from lookalike.service.web.pages.results import (
    PAGE,
    Results,
    by_pairs,
    find,
    ranks,
    rejected_tiles,
    search_pairs,
)
from lookalike.service.web.pages.routes import (
    HISTORY,
    GridView,
    tags_of,
    templates,
    what_was_learned,
)
from lookalike.service.web.pages.views import CHUNK, address, filter_pairs, tiles
from lookalike.service.web.security.users import Person
from lookalike.service.web.state import collection_of, jobs_of, person_of, speaker, viewer_of

if TYPE_CHECKING:
    from lookalike.collection import Collection

WORDS = 12

MAX_CHOICES = 200
"""Cameras and lenses to choose from; others are typed."""

COLUMNS = 12
"""The most columns of the grid in style.css."""

router = APIRouter(prefix="/part", route_class=Route, include_in_schema=False)

_MARK = "\x00"

Key = Annotated[str | None, Field(max_length=64)]
Name = Annotated[str, StringConstraints(pattern=f"^[1-9][0-9]{{0,18}}-[0-9a-f]{{{HASH}}}$")]
ByName = Annotated[str, Query(max_length=MAX_NAME)]


class PersonForm(BaseModel):
    """What to do about a person."""

    name: str = Field(min_length=1, max_length=64)
    change: Literal["trust", "revoke", "accept"]


class UndoPersonForm(BaseModel):
    """What of a person to undo: all of it, or a kind, or since a day."""

    name: str = Field(min_length=1, max_length=64)
    kind: PersonKind | Literal[""] = ""
    since: str = Field("", max_length=32)

    def kinds(self) -> tuple[PersonKind, ...]:
        """Return the kinds, all by default."""
        return (self.kind,) if self.kind else UNDOABLE


class ResetForm(BaseModel):
    """Whose votes to discard; by default everybody's."""

    of: Person = None


class Chunk(GridView):
    """A section of the grid of all pictures."""

    start: int = Field(0, ge=0)
    count: int = Field(CHUNK, ge=1, le=CHUNK)


class VoteForm(Search):
    """A vote on a match: more like this (1), less like this (-1), or none (0)."""

    picture: PictureId
    verdict: int = Field(ge=-1, le=1)
    shown: list[PictureId] = Field(default_factory=list, max_length=1000)
    key: Key = None


class UndoSearchForm(Search):
    """An event to undo, and the search to show again."""

    event: int = Field(ge=1)
    key: Key = None


class LabelForm(BaseModel):
    """A word that fits a picture, or does not."""

    picture: PictureId
    word: Word
    shows: bool = True
    key: Key = None


class UndoForm(BaseModel):
    """An event of the log to undo."""

    event: int = Field(ge=1)
    key: Key = None


class FilterPanel(Search, GridView):
    """The active filters, and the rest of the address."""

    path: Literal["/", "/search"] = "/"


@router.get("/chunk")
def chunk(request: Request, parameters: Annotated[Chunk, Query()]) -> Response:
    """Return the tiles of a section of the grid."""
    collection = collection_of(request)
    rows = collection.pictures.browse(
        parameters.count, offset=parameters.start, where=parameters.where(), order=parameters.order
    )
    pairs = filter_pairs(parameters)
    pairs += [("order", parameters.order)] if parameters.order != "newest" else []
    pairs += by_pairs(parameters.by)
    shown = tiles(collection, rows, parameters.start)
    return _part(request, "chunk.html", by=parameters.by, tiles=shown, pairs=pairs, near=True)


@router.get("/thumbnails")
def thumbnails(
    request: Request, of: Annotated[list[Name], Query(min_length=1, max_length=COLUMNS)]
) -> Response:
    """Return the thumbnails of a row, each named by id and hash, as lines of Base64.

    Eight of them take 2.3 ms of CPU time, and 10.2 ms in eight answers; a browser saves more.
    """
    collection = collection_of(request)
    pairs = [one.split("-") for one in of]
    thumbnail = [lasting_thumbnail(collection, int(number), content) for number, content in pairs]
    lines = b"\n".join(base64.b64encode(jpeg) for jpeg in thumbnail)
    return Response(lines, media_type="text/plain", headers={"Cache-Control": FOREVER})


@router.get("/filters")
def filters(request: Request, parameters: Annotated[FilterPanel, Query()]) -> Response:
    """Return the filter form with the values to choose from."""
    collection = collection_of(request)
    on = dict(filter_pairs(parameters))
    kept = [pair for pair in search_pairs(parameters) if pair[0] not in on]
    kept += [("order", parameters.order)] if parameters.order != "newest" else []
    return _part(
        request,
        "filters.html",
        filters=parameters,
        path=parameters.path,
        kept=kept,
        folders=sorted(collection.pictures.folders()),
        formats=collection.pictures.formats(),
        cameras=collection.pictures.cameras()[:MAX_CHOICES],
        lenses=collection.pictures.lenses()[:MAX_CHOICES],
        tags=collection.labels.used()[:500],
        albums=collection.albums.names(),
    )


@router.get("/words")
def words(request: Request, start: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Return the words that begin with what was typed, then those that contain it."""
    return _part(request, "words.html", words=collection_of(request).words.like(start, WORDS))


@router.get("/tag-words")
def tag_words(request: Request, word: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Return tags for a field's list of suggestions."""
    return _part(request, "options.html", words=collection_of(request).words.like(word, WORDS))


@router.get("/matches")
def matches(
    request: Request,
    parameters: Annotated[Search, Query()],
    more: Annotated[bool, Query()] = False,
) -> Response:
    """Return the matches of a search, or with ``more`` the next ones."""
    hits = find(
        collection_of(request),
        parameters,
        min(parameters.k, 1000),
        parameters.offset,
        who=viewer_of(request, parameters),
    )
    name = "more.html" if more else "matches.html"
    answer = _part(request, name, by=parameters.by, **_shown_matches(parameters, hits))
    if not more:
        answer.headers["HX-Replace-Url"] = address("/search", search_pairs(parameters))
    return answer


@router.get("/rejected")
def rejected(request: Request, parameters: Annotated[Search, Query()]) -> Response:
    """Return what was rejected in a search, to bring back."""
    result = Results(
        rejected_tiles(collection_of(request), parameters, viewer_of(request, parameters))
    )
    return _part(
        request, "more.html", by=parameters.by, fold=True, **_shown_matches(parameters, result)
    )


@router.post("/votes")
def votes(request: Request, form: Annotated[VoteForm, Form()]) -> Response:
    """Record a vote and show the new ranking; a vote of 0 undoes the last one."""
    collection, who = collection_of(request), speaker(request)
    query, before = form.ask(), ranks(collection, form, viewer_of(request, form))
    if query is None:
        form.check()
        event = _say(collection, form, who)
    elif not form.verdict and (own := collection.votes.of(query, form.picture, who)):
        event = _undo(collection, own, form.key, who)
    else:
        # What only others rejected is brought back by a vote against theirs.
        sign = form.verdict or (collection.votes.verdicts(query, who).get(form.picture, 0) < 0)
        event = None
        if sign:
            event = collection.vote(
                query,
                picked=(form.picture,) if sign > 0 else (),
                rejected=() if sign > 0 else (form.picture,),
                shown=tuple(form.shown),
                who=who,
                key=form.key,
            )
    return _ranked_again(request, form, event, before)


@router.post("/take-back")
def take_back(request: Request, form: Annotated[UndoSearchForm, Form()]) -> Response:
    """Undo an event and show the new ranking."""
    who = speaker(request)
    event = collection_of(request).undo(form.event, who=who, key=form.key)
    return _ranked_again(request, form, event)


@router.get("/reasons")
def reasons(
    request: Request,
    picture: Annotated[PictureId, Query()],
    like: Annotated[list[RefText], Query(min_length=1, max_length=200)],
    unlike: Annotated[list[RefText], Query(max_length=200)] = [],  # noqa: B006
    by: ByName = "",
) -> Response:
    """Show why a picture matches."""
    collection, query = collection_of(request), ask(like, unlike)
    told_reasons = collection.queries.reasons(
        *(query, picture),
        by=by or None,
        named=lambda one: f"{_MARK}{one}{_MARK}",
        who=person_of(request),
    )
    return _part(
        request,
        "reasons.html",
        # What stands between two marks is a picture, which is shown rather than named.
        reasons=[reason.split(_MARK) for reason in told_reasons],
        views=collection.queries.view_parts(query, picture, by=by or None),
        picture=picture,
        like=like,
        drawing=drawing_of(collection, like, picture, by or None),
    )


@router.get("/suggestions/{picture}")
def suggestions(request: Request, picture: PictureId, by: ByName = "") -> Response:
    """Return words that may fit a picture, to accept or reject."""
    collection = collection_of(request)
    return _part(
        request,
        "suggestions.html",
        picture=picture,
        suggestions=collection.suggest(picture, by=by or None, who=person_of(request)),
        warning=collection.words.damage(by or None),
    )


@router.post("/tags")
def tags(request: Request, form: Annotated[LabelForm, Form()], by: ByName = "") -> Response:
    """Record that a word fits a picture or does not, and show its tags."""
    event = collection_of(request).label(
        form.picture,
        label_name(form.word),
        shows=form.shows,
        who=speaker(request),
        key=form.key,
    )
    return _tags(request, form.picture, event, by)


@router.post("/tags/undo/{picture}")
def undo_tag(
    request: Request, picture: PictureId, form: Annotated[UndoForm, Form()], by: ByName = ""
) -> Response:
    """Undo a change to a picture's tags, and show them."""
    who = speaker(request)
    event = collection_of(request).undo(form.event, who=who, key=form.key)
    return _tags(request, picture, event, by)


@router.get("/history")
def history(
    request: Request,
    before: Annotated[int | None, Query(ge=1)] = None,
    by: ByName = "",
    of: Annotated[Person, Query()] = None,
) -> Response:
    """Return older events, or those of one person."""
    collection = collection_of(request)
    events = collection.log.history(limit=HISTORY + 1, before=before, of=of)
    return _part(
        request,
        "history.html",
        by=by,
        events=entry_views(collection, events[:HISTORY]),
        older=events[HISTORY - 1].number if len(events) > HISTORY else None,
        of=of,
    )


@router.get("/learned")
def learned(request: Request, by: ByName = "") -> Response:
    """Return the current state of what was learned."""
    told_all = what_was_learned(collection_of(request), by or None, person_of(request))
    return _part(request, "gate.html", by=told_all["view"].by, **told_all)


@router.post("/undo")
def undo(request: Request, form: Annotated[UndoForm, Form()], by: ByName = "") -> Response:
    """Undo an event of the log and show what was learned."""
    who = speaker(request)
    collection_of(request).undo(form.event, who=who, key=form.key)
    return learned(request, by)


@router.post("/people")
def people(request: Request, form: Annotated[PersonForm, Form()], by: ByName = "") -> Response:
    """Trust a person or no more, or accept their labels."""
    everybody, who = collection_of(request).people, speaker(request)
    getattr(everybody, form.change)(form.name, who=who)
    return learned(request, by)


@router.get("/people/undo")
def undo_preview(
    request: Request, form: Annotated[UndoPersonForm, Query()], by: ByName = ""
) -> Response:
    """Return what undoing a person would change."""
    counts = collection_of(request).people.preview(form.name, form.kinds(), since=form.since)
    return _part(request, "undo_person.html", by=by, form=form, counts=counts)


@router.post("/people/undo")
def undo_person(
    request: Request, form: Annotated[UndoPersonForm, Form()], by: ByName = ""
) -> Response:
    """Undo what a person said."""
    everybody, who = collection_of(request).people, speaker(request)
    everybody.undo(form.name, form.kinds(), since=form.since, who=who)
    return learned(request, by)


@router.post("/reset")
def reset(request: Request, form: Annotated[ResetForm, Form()], by: ByName = "") -> Response:
    """Discard all votes, or those of one person, and show what was learned."""
    who = speaker(request)
    collection_of(request).votes.reset(of=form.of, who=who)
    return learned(request, by)


@router.post("/rollback")
def rollback(request: Request, by: ByName = "") -> Response:
    """Go back to earlier models and show what was learned."""
    speaker(request)
    with jobs_of(request).writing():
        collection_of(request).rollback()
    return learned(request, by)


def _part(request: Request, name: str, *, by: str | None = None, **context: Any) -> Response:
    everything = {"by_pairs": by_pairs(by), **context}
    return templates.TemplateResponse(request, f"parts/{name}", everything)


def _say(collection: "Collection", form: VoteForm, who: str) -> Entry | None:
    """Record a vote in a search by word: the word fits, does not fit, or the vote is undone."""
    word = form.word or ""
    if not form.verdict and (last := collection.labels.history(form.picture, word, who)):
        return _undo(collection, [event.number for event in last], form.key, who)
    # What another said is not taken back but gainsaid.
    shows = form.verdict > 0
    if not form.verdict:
        shows = bool(collection.labels.refused(word, [form.picture]))
    return collection.label(form.picture, word, shows=shows, who=who, key=form.key)


def _undo(collection: "Collection", events: list[int], key: str | None, who: str) -> Entry | None:
    """Undo events, the last first, so that an earlier one does not come into effect again."""
    undone = None
    for place, number in enumerate(events):
        name = None if key is None else f"{key}-{place}"
        undone = collection.undo(number, who=who, key=name)
    return undone


def _shown_matches(parameters: Search, result: Any) -> dict[str, Any]:
    return {
        "asked": parameters,
        "found": result,
        "pairs": search_pairs(parameters),
        "page_size": PAGE,
    }


def _ranked_again(
    request: Request, parameters: Search, event: Entry | None, before: dict[int, int] | None = None
) -> Response:
    hits = find(
        collection_of(request), parameters, parameters.k, who=viewer_of(request, parameters)
    )
    if before:
        tiles = [replace(tile, was=before.get(tile.id, 0)) for tile in hits.tiles]
        hits = replace(hits, tiles=tiles)
    answer = _part(request, "matches.html", by=parameters.by, **_shown_matches(parameters, hits))
    return _tell(answer, event)


def _tags(request: Request, picture: int, event: Entry, by: str) -> Response:
    collection = collection_of(request)
    labels, proposals = tags_of(collection, picture)
    answer = _part(request, "tags.html", by=by, picture=picture, labels=labels, proposals=proposals)
    return _tell(answer, event)


def _tell(answer: Response, event: Entry | None) -> Response:
    """Tell the page which event it may undo."""
    if event is not None:
        answer.headers["HX-Trigger"] = json.dumps(
            {"said": {"event": event.number, "kind": event.kind}}
        )
    return answer

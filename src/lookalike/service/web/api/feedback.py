"""The API: votes, labels, the log of events, and trained models."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field

from lookalike.collection import Entry, InUse, ModelRow, Standing
from lookalike.service.answers import EventPage, Feedback
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import (
    MAX_ID,
    MAX_K,
    MAX_REFS,
    By,
    PictureId,
    RefValue,
    Statement,
    Word,
    ask,
)
from lookalike.service.web.rankers import check_ranker, standing_of
from lookalike.service.web.security.users import Person
from lookalike.service.web.state import collection_of, jobs_of, next_page, person_of, speaker

router = APIRouter(tags=["learning"], route_class=Route)

EventNumber = Annotated[int, Field(ge=1, le=MAX_ID)]


class VoteStatement(Statement):
    """Feedback that the state of the votes is returned for."""

    by: By = Field(None, description="The ranker to return the state for; by default the first.")


class Vote(VoteStatement):
    """Which matches fit a search and which do not."""

    like: list[RefValue] = Field(min_length=1, max_length=MAX_REFS)
    unlike: list[RefValue] = Field(default_factory=list, max_length=MAX_REFS)
    picked: list[PictureId] = Field(default_factory=list, max_length=MAX_K)
    rejected: list[PictureId] = Field(default_factory=list, max_length=MAX_K)
    shown: list[PictureId] = Field(
        default_factory=list,
        max_length=MAX_K,
        description="The matches shown, best first. Votes on some of them are judged otherwise "
        "than votes on all.",
    )


class Label(Statement):
    """A word that fits a picture, or does not."""

    picture: PictureId
    word: Word
    shows: bool = True


class Undo(VoteStatement):
    """The event to undo."""

    event: EventNumber


@router.post("/votes", summary="Vote on matches")
def vote(request: Request, body: Vote) -> Feedback:
    """Record which matches fit a search and which do not; the next search uses it.

    The same vote sent twice counts once.
    """
    collection = collection_of(request)
    check_ranker(collection, body.by)
    event = collection.vote(
        ask(body.like, body.unlike),
        picked=body.picked,
        rejected=body.rejected,
        shown=body.shown,
        who=speaker(request),
        key=body.key,
    )
    return Feedback(event, standing_of(collection, body.by, person_of(request)))


@router.post("/tags", summary="Label a picture")
def tag(request: Request, body: Label) -> Entry:
    """Add a label to a picture, or with `shows` false record that the word does not fit it."""
    who = speaker(request)
    return collection_of(request).label(
        body.picture, body.word, shows=body.shows, who=who, key=body.key
    )


@router.post("/undo", summary="Undo an event")
def undo(request: Request, body: Undo) -> Feedback:
    """Undo a vote, label, correction, import of labels, removal, restoration, reset or undo.

    This is itself an event.
    """
    collection, who = collection_of(request), speaker(request)
    check_ranker(collection, body.by)
    event = collection.undo(body.event, who=who, key=body.key)
    return Feedback(event, standing_of(collection, body.by, person_of(request)))


class Reset(VoteStatement):
    """Whose votes to discard."""

    of: Person = Field(None, description='Only the votes of this person; "" is one unnamed.')


@router.post("/reset", summary="Discard votes")
def reset(request: Request, body: Reset) -> Feedback:
    """Discard all votes so far, or those of one person; this can be undone."""
    collection, who = collection_of(request), speaker(request)
    check_ranker(collection, body.by)
    event = collection.votes.reset(of=body.of, who=who, key=body.key)
    return Feedback(event, standing_of(collection, body.by, person_of(request)))


@router.post("/rollback", summary="Go back to earlier models")
def rollback(request: Request, body: Statement) -> InUse:
    """Go back to the models used before the last learning from labels.

    Labels that were imported for that learning stay; undoing the event `labels` takes them back.
    """
    speaker(request)
    with jobs_of(request).writing():
        return collection_of(request).rollback()


@router.get("/events", summary="List the log of events")
def events(
    request: Request,
    k: Annotated[int, Query(ge=1, le=500, description="Most events to return.")] = 50,
    before: Annotated[EventNumber | None, Query(description="Only events before this one.")] = None,
    of: Annotated[Person, Query(description="Only events of this person.")] = None,
) -> EventPage:
    """Return the events of the log, newest first."""
    newest = collection_of(request).log.history(k + 1, before=before, of=of)
    page = tuple(newest[:k])
    more = len(newest) > k
    return EventPage(page, next_page(request, more, before=page[-1].number) if page else None)


@router.get("/standing", summary="Get the state of the votes")
def standing(request: Request, by: Annotated[By, Query()] = None) -> Standing:
    """Return whether searches use the votes, and the figures behind that decision."""
    return collection_of(request).votes.standing(by, person_of(request))


@router.get("/models", summary="List the trained models")
def models(request: Request) -> list[ModelRow]:
    """Return the models trained on labels and clicks, oldest first, published or not."""
    return collection_of(request).models.all()

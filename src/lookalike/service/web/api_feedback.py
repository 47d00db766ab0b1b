"""The API: what people say of pictures, the log of it, and what was learned."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from lookalike.service.web.answers import (
    EventAnswer,
    EventsAnswer,
    InUseAnswer,
    ModelAnswer,
    ModelsAnswer,
    Said,
    StandingAnswer,
)
from lookalike.service.web.api_errors import Route
from lookalike.service.web.parameters import MAX_ID, MAX_K, MAX_REFS, PictureId, RefValue, Word, ask
from lookalike.service.web.state import collection_of, jobs_of, next_page, speaker
from lookalike.service.web.users import User

router = APIRouter(tags=["learning"], route_class=Route)

EventNumber = Annotated[int, Field(ge=1, le=MAX_ID)]


class Statement(BaseModel):
    """What all that is said has in common."""

    model_config = ConfigDict(extra="forbid")

    user: User = None
    key: str | None = Field(
        None,
        min_length=1,
        max_length=128,
        description="A name of your own for this request: sent again, it counts once.",
    )


class Vote(Statement):
    """What suits a search and what does not."""

    like: list[RefValue] = Field(min_length=1, max_length=MAX_REFS)
    unlike: list[RefValue] = Field(default_factory=list, max_length=MAX_REFS)
    picked: list[PictureId] = Field(default_factory=list, max_length=MAX_K)
    rejected: list[PictureId] = Field(default_factory=list, max_length=MAX_K)
    shown: list[PictureId] = Field(
        default_factory=list,
        max_length=MAX_K,
        description="What was shown, best first: what was picked beats what stood above it.",
    )


class Naming(Statement):
    """A word that a picture shows, or does not."""

    picture: PictureId
    word: Word
    shows: bool = True


class Undoing(Statement):
    """An event that shall not count."""

    event: EventNumber


@router.post("/votes", summary="Vote on what a search found")
def vote(request: Request, said: Vote) -> Said:
    """Say which matches suit a search and which do not; the next search knows.

    The same vote said twice counts once.
    """
    collection = collection_of(request)
    event = collection.vote(
        ask(said.like, said.unlike),
        picked=said.picked,
        rejected=said.rejected,
        shown=said.shown,
        who=speaker(request, said.user),
        key=said.key,
    )
    return Said(event=EventAnswer.of(event), standing=StandingAnswer.of(collection.standing()))


@router.post("/tags", summary="Say what a picture shows")
def tag(request: Request, said: Naming) -> EventAnswer:
    """Return a picture a word, or with `shows` false say that the word does not suit it."""
    who = speaker(request, said.user)
    event = collection_of(request).say(
        said.picture, said.word, shows=said.shows, who=who, key=said.key
    )
    return EventAnswer.of(event)


@router.post("/undo", summary="Undo an event")
def undo(request: Request, said: Undoing) -> Said:
    """Let a vote, tag, correction, reset or undo count no more; this is an event, too."""
    collection, who = collection_of(request), speaker(request, said.user)
    event = collection.undo(said.event, who=who, key=said.key)
    return Said(event=EventAnswer.of(event), standing=StandingAnswer.of(collection.standing()))


@router.post("/reset", summary="Forget all votes")
def reset(request: Request, said: Statement) -> Said:
    """Let the votes so far count no more; it can be undone."""
    collection, who = collection_of(request), speaker(request, said.user)
    event = collection.reset_votes(who=who, key=said.key)
    return Said(event=EventAnswer.of(event), standing=StandingAnswer.of(collection.standing()))


@router.post("/rollback", summary="Go back to the models before the last learning")
def rollback(request: Request, said: Statement) -> InUseAnswer:
    """Use the models that were in use before the last learning from labels."""
    speaker(request, said.user)
    with jobs_of(request).writing():
        used = collection_of(request).rollback()
    return InUseAnswer(model=used.model, tagger=used.tagger)


@router.get("/events", summary="The log of all that was said")
def events(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=500, description="How many at most.")] = 50,
    before: Annotated[EventNumber | None, Query(description="Only events before this one.")] = None,
) -> EventsAnswer:
    """Return what was said, newest first."""
    found = collection_of(request).history(limit + 1, before=before)
    page = found[:limit]
    more = len(found) > limit
    return EventsAnswer(
        events=[EventAnswer.of(event) for event in page],
        next=next_page(request, more, before=page[-1].number) if page else None,
    )


@router.get("/standing", summary="How the votes stand")
def standing(request: Request) -> StandingAnswer:
    """Return whether searches use the votes, and the figures that decided."""
    return StandingAnswer.of(collection_of(request).standing())


@router.get("/models", summary="What was learned")
def models(request: Request) -> ModelsAnswer:
    """List what was learned from labels and clicks, oldest first, published or not."""
    found = collection_of(request).models()
    return ModelsAnswer(models=[ModelAnswer.of(row) for row in found])

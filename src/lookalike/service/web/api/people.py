"""The API: people, whom the owner trusts, what they proposed, and all of a person undone."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field

from lookalike.collection import UNDOABLE, Entry, Person, PersonKind, Proposal
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import By, PictureId, Statement
from lookalike.service.web.security.users import MAX_NAME
from lookalike.service.web.state import collection_of, speaker

router = APIRouter(tags=["people"], route_class=Route)

Name = Annotated[str, Field(max_length=MAX_NAME, description='A name; "" is the owner.')]


class Change(Statement):
    """Whom to trust or to trust no more, or whose labels to accept."""

    name: Name
    change: Literal["trust", "revoke", "accept"]


class UndoPerson(Statement):
    """What of a person to undo."""

    name: Name
    kinds: list[PersonKind] = Field(default_factory=lambda: [*UNDOABLE])
    since: str = Field("", max_length=32, description="Only from this time on, in UTC.")


@router.get("/people", summary="List the people")
def people(request: Request, by: Annotated[By, Query()] = None) -> list[Person]:
    """Return everybody who voted or labelled, whether they teach everybody, and what that costs."""
    return collection_of(request).people.all(by)


@router.post("/people", summary="Trust a person, or no more; accept labels")
def change(request: Request, answer: Change) -> Entry:
    """Let what a person says teach everybody, or only that person, or accept their labels."""
    people, who = collection_of(request).people, speaker(request)
    act = {"trust": people.trust, "revoke": people.revoke, "accept": people.accept}[answer.change]
    return act(answer.name, who=who, key=answer.key)


@router.get("/people/proposals", summary="List proposed labels")
def proposals(
    request: Request,
    name: Annotated[Name | None, Query()] = None,
    picture: Annotated[PictureId | None, Query(description="Only of this picture.")] = None,
) -> list[Proposal]:
    """Return the labels of people who are not trusted that wait to be accepted.

    Accept one by giving the label (`/api/tags`), reject it by refusing it, and accept all of a
    person with `POST /api/people`.
    """
    return collection_of(request).people.proposals(name, picture)


@router.get("/people/undo", summary="Preview undoing a person")
def preview(
    request: Request,
    name: Annotated[Name, Query()],
    kinds: Annotated[list[PersonKind], Query(max_length=len(UNDOABLE))] = [*UNDOABLE],  # noqa: B006
    since: Annotated[str, Query(max_length=32, description="Only from this time on, in UTC.")] = "",
) -> dict[str, int]:
    """Return how many events of each kind would be undone."""
    return collection_of(request).people.preview(name, kinds, since=since)


@router.post("/people/undo", summary="Undo what a person said")
def undo(request: Request, body: UndoPerson) -> Entry:
    """Undo what a person said in one event, which can itself be undone."""
    people, who = collection_of(request).people, speaker(request)
    return people.undo(body.name, body.kinds, since=body.since, who=who, key=body.key)

"""The API: groups of near-duplicates, which of them to keep, and which are none."""

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from lookalike.collection import Collection, Duplicates, Entry, Filter
from lookalike.service.answers import DuplicateGroup, DuplicatePage, Picture
from lookalike.service.file_lists import KINDS, Form, file_list, spare_files
from lookalike.service.web.api.answers import pictures
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import MAX_PICTURES, By, PictureId, Reach, Statement
from lookalike.service.web.state import collection_of, next_page, speaker

EACH = 100
"""Pictures of a group that are described; the others are named by their ids."""

router = APIRouter(prefix="/duplicates", tags=["duplicates"], route_class=Route)

Ids = Annotated[list[PictureId], Field(max_length=MAX_PICTURES)]


class DuplicateSearch(Reach):
    """Which duplicates to look for, and which of their groups to return."""

    k: int = Field(20, ge=1, le=100, description="Most groups to return.")
    by: By = None
    radius: int | None = Field(
        None,
        ge=0,
        le=128,
        description="In how many of 128 bits the codes of copies may differ; by default 40, "
        "or 48 for a sparse feature.",
    )
    like: float | None = Field(
        None, gt=0, le=1, description="How alike copies are at least; by default 0.95."
    )

    def groups(self, request: Request) -> list[Duplicates]:
        """Return all groups; the page shows how far the search for them is."""
        state = request.app.state

        def tell(done: int, total: int) -> None:
            state.duplicates_done = done, total

        return collection_of(request).duplicates.find(
            by=self.by, radius=self.radius, like=self.like, progress=tell
        )


class DuplicateFiles(DuplicateSearch):
    """Which files to list, and how."""

    form: Form = Field("txt", alias="format")
    exact: bool = Field(False, description="Only files of the same content.")


class Choice(BaseModel):
    """One of some duplicates to keep, and those to remove."""

    model_config = ConfigDict(extra="forbid")

    picture: PictureId
    remove: Ids = Field(min_length=1)


class KeepChoice(Choice, Statement):
    """One of some duplicates to keep, and those to remove."""


class Suggestions(Statement):
    """Of several groups, which to keep and which to remove."""

    groups: list[Choice] = Field(min_length=1, max_length=1000)


class Distinct(Statement):
    """Pictures that are not duplicates."""

    pictures: Ids = Field(min_length=1)
    of: Ids = Field(
        default_factory=list,
        description="If given, the pictures that those are no duplicates of; else of each other.",
    )
    verdict: Literal["different", "keep"] = Field(
        "different",
        description="`different` if they show different things, `keep` if all are to be kept.",
    )


@router.get("", summary="List near-duplicates")
def duplicates(request: Request, parameters: Annotated[DuplicateSearch, Query()]) -> DuplicatePage:
    """Return groups of resized, recompressed, slightly cropped, mirrored, brighter or grey copies.

    The first request after a start compares all pictures, which takes a minute or two for
    100,000; later ones look only at what is new.
    """
    groups = parameters.groups(request)
    after = parameters.offset + parameters.k
    page = groups[parameters.offset : after]
    known = details(collection_of(request), page, EACH)
    return DuplicatePage(
        groups=tuple(
            DuplicateGroup(
                **asdict(group),
                details=tuple(known[number] for number in group.pictures if number in known),
            )
            for group in page
        ),
        total=len(groups),
        duplicates=sum(len(group.pictures) - 1 for group in groups),
        next=next_page(request, after < len(groups), offset=after),
    )


@router.post("/keep", summary="Keep one of some duplicates")
def keep(request: Request, body: KeepChoice) -> Entry:
    """Move the others to the bin, as one event, if the one to keep is still in the collection.

    It gets what was said of the others: words, and albums in which they were saved.
    """
    who = speaker(request)
    return collection_of(request).duplicates.keep_one(
        body.picture, body.remove, who=who, key=body.key
    )


@router.post("/keep-suggested", summary="Keep the suggestions of several groups")
def keep_suggested(request: Request, body: Suggestions) -> Entry:
    """Move all but one of each group to the bin, as one event, which one undo takes back."""
    who = speaker(request)
    choices = [(choice.picture, choice.remove) for choice in body.groups]
    return collection_of(request).duplicates.keep_best(choices, who=who, key=body.key)


@router.get("/files", summary="List files that could go", response_class=Response)
def files(
    request: Request,
    parameters: Annotated[DuplicateFiles, Query()],
) -> Response:
    """Return the files of exact copies and near-duplicates that could go, each beside one to keep.

    As text to read, as CSV, or as a script for a shell, which checks each file before it deletes.
    """
    collection = collection_of(request)
    groups = [] if parameters.exact else parameters.groups(request)
    name = f"duplicates.{parameters.form}"
    content = file_list(spare_files(collection, groups), parameters.form, name)
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=KINDS[parameters.form], headers=disposition)


@router.post("/distinct", summary="Say that pictures are not duplicates")
def distinct(request: Request, body: Distinct) -> Entry:
    """Record that pictures are not duplicates, so that they are not shown as such again."""
    who = speaker(request)
    return collection_of(request).duplicates.tell_apart(
        body.pictures, body.of, verdict=body.verdict, who=who, key=body.key
    )


def details(collection: Collection, groups: list[Duplicates], each: int) -> dict[int, Picture]:
    """Return the first pictures of groups, by id."""
    ids = tuple(number for group in groups for number in group.pictures[:each])
    rows = collection.pictures.browse(len(ids), where=Filter(pictures=ids)) if ids else []
    return {picture.id: picture for picture in pictures(collection, rows)}

"""The API: groups of near-duplicates, which of them to keep, and which are none."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field

from lookalike.collection import Collection, Duplicates, Where
from lookalike.collection.log.duplicates import Difference
from lookalike.collection.search.near import BITS
from lookalike.collection.store.pictures import PictureRow
from lookalike.service.web.api.answers import Answer, EventAnswer, PictureAnswer, picture_facts
from lookalike.service.web.api.errors import Route
from lookalike.service.web.api.parameters import MAX_PICTURES, By, PictureId, Reach, Statement
from lookalike.service.web.state import collection_of, next_page, speaker

EACH = 100
"""Pictures of a group that are described; the others are named by their ids."""

router = APIRouter(prefix="/duplicates", tags=["duplicates"], route_class=Route)

Ids = Annotated[list[PictureId], Field(max_length=MAX_PICTURES)]


class Sought(Reach):
    """Which duplicates to look for, and which of their groups to return."""

    k: int = Field(20, ge=1, le=100, description="Most groups to return.")
    by: By = None
    radius: int | None = Field(
        None,
        ge=0,
        le=BITS,
        description="In how many of 128 bits the codes of copies may differ; by default 40, "
        "or 48 for a sparse feature.",
    )
    like: float | None = Field(
        None, gt=0, le=1, description="How alike copies are at least; by default 0.96."
    )

    def found(self, request: Request) -> list[Duplicates]:
        """Return all groups; the page shows how far the search for them is."""
        state = request.app.state

        def tell(done: int, total: int) -> None:
            state.duplicates_done = done, total

        return collection_of(request).duplicates(
            by=self.by, radius=self.radius, like=self.like, progress=tell
        )


class Kept(Statement):
    """One of some duplicates to keep, and those to remove."""

    picture: PictureId
    remove: Ids = Field(min_length=1)


class Distinct(Statement):
    """Pictures that are not duplicates."""

    pictures: Ids = Field(min_length=1)
    of: Ids = Field(
        default_factory=list,
        description="If given, the pictures that those are no duplicates of; else of each other.",
    )
    verdict: Difference = Field(
        "different",
        description="`different` if they show different things, `keep` if all are to be kept.",
    )


class DuplicateAnswer(PictureAnswer):
    """A picture of a group."""

    likeness: float = Field(description="How alike it is to the one to keep, from 0 to 1.")


class GroupAnswer(Answer):
    """Pictures that are near-duplicates of one of them."""

    keeper: int = Field(description="The picture that should be kept.")
    reason: str = Field(description="Why it should be kept rather than the next best.")
    ids: list[int] = Field(description="All pictures of the group, the keeper first.")
    pictures: list[DuplicateAnswer] = Field(description=f"The first {EACH} of them.")


class GroupsAnswer(Answer):
    """One page of the groups of near-duplicates, the most alike first."""

    groups: list[GroupAnswer]
    total: int = Field(description="Number of groups.")
    duplicates: int = Field(description="Number of pictures in them that could be removed.")
    next: str | None = Field(description="Address of the next page; null on the last.")


@router.get("", summary="List near-duplicates")
def duplicates(request: Request, asked: Annotated[Sought, Query()]) -> GroupsAnswer:
    """Return groups of resized, recompressed or slightly cropped copies.

    The first request after a start compares all pictures, which takes a minute or two for
    100,000; later ones look only at what is new.
    """
    collection = collection_of(request)
    found = asked.found(request)
    page = found[asked.offset : asked.offset + asked.k]
    rows = facts(collection, page, EACH)
    return GroupsAnswer(
        groups=[
            GroupAnswer(
                keeper=group.keeper,
                reason=group.reason,
                ids=list(group.pictures),
                pictures=[
                    DuplicateAnswer(**picture_facts(*rows[number]), likeness=score)
                    for number, score in zip(group.pictures, group.likeness, strict=True)
                    if number in rows
                ],
            )
            for group in page
        ],
        total=len(found),
        duplicates=sum(len(group.pictures) - 1 for group in found),
        next=next_page(request, asked.offset + asked.k < len(found), offset=asked.offset + asked.k),
    )


@router.post("/keep", summary="Keep one of some duplicates")
def keep(request: Request, said: Kept) -> EventAnswer:
    """Move the others to the bin, as one event, if the one to keep is still in the collection.

    It gets what was said of the others: words, and albums in which they were saved.
    """
    who = speaker(request, said.user)
    event = collection_of(request).keep_one(said.picture, said.remove, who=who, key=said.key)
    return EventAnswer.of(event)


@router.post("/distinct", summary="Say that pictures are not duplicates")
def distinct(request: Request, said: Distinct) -> EventAnswer:
    """Record that pictures are not duplicates, so that they are not shown as such again."""
    who = speaker(request, said.user)
    event = collection_of(request).not_duplicates(
        said.pictures, said.of, verdict=said.verdict, who=who, key=said.key
    )
    return EventAnswer.of(event)


def facts(
    collection: Collection, groups: list[Duplicates], each: int
) -> dict[int, tuple[PictureRow, list[str]]]:
    """Return what is known of the first pictures of groups, and their labels."""
    ids = tuple(number for group in groups for number in group.pictures[:each])
    if not ids:
        return {}
    labels = collection.labels_of(ids)
    rows = collection.browse(len(ids), where=Where(pictures=ids))
    return {row.id: (row, labels.get(row.id, [])) for row in rows}

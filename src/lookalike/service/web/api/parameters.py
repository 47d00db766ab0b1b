"""Query parameters: filters, searches and paging, the same for the API and the page."""

import re
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from lookalike.collection import NEAR_KILOMETRES, Ask, Filter, Ref, read_near
from lookalike.core.errors import InvalidInput
from lookalike.service.web.api.patterns import DATE, NEAR, REF

MAX_K, MAX_REACH = 1000, 100_000
MAX_ID = 2**63 - 1
MAX_REFS, MAX_TAGS, MAX_WORD, MAX_PATH, MAX_NAME = 64, 50, 1000, 4096, 64
MAX_TEXT = 12_000
"""The longest text to search by; what is read of it ends earlier, and the answer says so."""

MAX_PICTURES = 150_000
"""Most pictures to name by their ids; all of a list are named by the list."""


PictureId: TypeAlias = Annotated[int, Field(ge=1, le=MAX_ID, description="A picture's id.")]
RefText: TypeAlias = Annotated[
    str,
    Field(pattern=REF, description="A picture's id, or the token of a stored query."),
]
RefValue: TypeAlias = PictureId | RefText
Word: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_WORD)]
Amount: TypeAlias = Annotated[int, Field(ge=0, le=MAX_ID)]
By: TypeAlias = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=MAX_NAME,
        description="The ranker to use, as listed by /api/rankers; by default the first.",
    ),
]
Order: TypeAlias = Literal["newest", "oldest", "added"]


def ref(value: int | str) -> Ref:
    """Return what a reference stands for: an id as a number, a token unchanged.

    Examples
    --------
    >>> ref("12"), ref("u" + 32 * "0") == "u" + 32 * "0"
    (12, True)
    """
    if isinstance(value, str) and not re.match(REF, value):
        raise InvalidInput(
            f"{value!r:.80} is not a picture. Give a picture's id, or the token of a stored query."
        )
    return int(value) if isinstance(value, int) or value.isdigit() else value


def ask(like: list[str] | list[int | str], unlike: list[str] | list[int | str]) -> Ask:
    """Return the query that is searched for and voted on."""
    return Ask(tuple(ref(value) for value in like), tuple(ref(value) for value in unlike))


class Filters(BaseModel):
    """Which pictures to include; every filter given must hold."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    folder: str | None = Field(
        None, max_length=MAX_PATH, description="Pictures in or below this folder."
    )
    tag: list[Word] = Field(
        default_factory=list, max_length=MAX_TAGS, description="Labels they must have, all of them."
    )
    taken_from: str | None = Field(
        None,
        alias="from",
        pattern=DATE,
        description="Taken at this time or later, such as 2024-05.",
    )
    taken_to: str | None = Field(
        None,
        alias="to",
        pattern=DATE,
        description="Taken up to this time; 2024 includes the whole year.",
    )
    format: list[Annotated[str, Field(pattern="^[A-Za-z0-9]{1,10}$")]] = Field(
        default_factory=list, max_length=MAX_TAGS, description="JPEG, PNG, …; any of them."
    )
    min_side: Amount | None = Field(None, description="Minimum of the longer side, in pixels.")
    max_side: Amount | None = Field(None, description="Maximum of the longer side, in pixels.")
    min_bytes: Amount | None = Field(None, description="Minimum file size.")
    max_bytes: Amount | None = Field(None, description="Maximum file size.")
    without_tag: list[Word] = Field(
        default_factory=list, max_length=MAX_TAGS, description="Labels they must not have."
    )
    untagged: bool | None = Field(
        None, description="Only pictures without any label, or only those with one."
    )
    missing: bool | None = Field(
        None, description="Only pictures whose files are missing, or only those that are there."
    )
    camera: list[Word] = Field(
        default_factory=list, max_length=MAX_TAGS, description="Taken with any of these cameras."
    )
    lens: list[Word] = Field(
        default_factory=list, max_length=MAX_TAGS, description="Taken with any of these lenses."
    )
    near: str | None = Field(
        None,
        pattern=NEAR,
        max_length=100,
        description="Taken near a place: latitude and longitude in degrees, and kilometres, "
        f"by default {NEAR_KILOMETRES:g}, such as 48.2,16.4,5.",
    )
    album: Word | None = Field(None, description="Pictures in the album of this name.")
    without_album: Word | None = Field(None, description="Pictures not in the album of this name.")

    @model_validator(mode="before")
    @classmethod
    def _leave_out_empty(cls, given: Any) -> Any:
        """Treat empty form fields as missing."""
        if not isinstance(given, dict):
            return given
        kept = {
            name: [one for one in value if one != ""] if isinstance(value, list) else value
            for name, value in given.items()
            if value != ""
        }
        return {name: value for name, value in kept.items() if value != []}

    def where(self) -> Filter | None:
        """Return the filter for the collection; None if there is none."""
        result = Filter(
            folder=self.folder,
            tags=tuple(self.tag),
            taken_from=self.taken_from,
            taken_to=self.taken_to,
            formats=tuple(name.upper() for name in self.format),
            min_side=self.min_side,
            max_side=self.max_side,
            min_bytes=self.min_bytes,
            max_bytes=self.max_bytes,
            missing=self.missing,
            without_tags=tuple(self.without_tag),
            untagged=self.untagged,
            cameras=tuple(self.camera),
            lenses=tuple(self.lens),
            near=None if self.near is None else read_near(self.near),
            album=self.album,
            without_album=self.without_album,
        )
        return None if result == Filter() else result


class Statement(BaseModel):
    """Fields that all feedback shares."""

    model_config = ConfigDict(extra="forbid")

    key: str | None = Field(
        None,
        min_length=1,
        max_length=128,
        description="A key of your choice; requests with the same key count once.",
    )


class Reach(BaseModel):
    """Which part of a list to return."""

    k: int = Field(50, ge=1, le=MAX_K, description="Most results to return.")
    offset: int = Field(0, ge=0, le=MAX_REACH, description="Results to skip.")

    @model_validator(mode="after")
    def _within_reach(self) -> Self:
        if self.offset + self.k > MAX_REACH:
            raise ValueError(
                f"offset + k must not exceed {MAX_REACH:,}; narrow the results with filters"
            )
        return self


class Page(Reach, Filters):
    """One page of a list."""


class Browse(Page):
    """Which pictures to list, and in which order."""

    order: Order = Field("newest", description="By the time taken, or by the time added.")


class Search(Page):
    """What to search for: pictures, or words."""

    like: list[RefText] = Field(
        default_factory=list,
        max_length=MAX_REFS,
        description="Pictures that matches should be like.",
    )
    unlike: list[RefText] = Field(
        default_factory=list,
        max_length=MAX_REFS,
        description="Pictures that matches should not be like.",
    )
    word: str | None = Field(
        None,
        max_length=MAX_TEXT,
        description="What is typed: words, a sentence, “phrases”, -without, OR, before:2019, "
        "folder:, label:, untagged.",
    )
    strike: list[Word] = Field(
        default_factory=list,
        max_length=MAX_TAGS,
        description="Words that the text is not to be read as.",
    )
    weight: float = Field(
        0.5, ge=0, le=1, description="How much `word` counts beside `like`, where both are given."
    )
    by: By = None
    min_score: float | None = Field(
        None, allow_inf_nan=False, description="Leave out matches with a lower score."
    )
    most: int | None = Field(
        None, ge=1, le=MAX_REACH, description="Leave out matches after this many of the best."
    )
    learned: bool = Field(True, description="Whether to use what was learned.")
    layers: Literal["mine", "shared"] = Field(
        "mine",
        description="Whose votes to use: those of the owner and of trusted people with your own, "
        "or without.",
    )

    @field_validator("word")
    @classmethod
    def _blank_is_none(cls, word: str | None) -> str | None:
        return word if word and word.strip() else None

    def size(self, k: int, offset: int) -> int:
        """Return how many matches to find for a page, one more than it shows if there are more.

        Examples
        --------
        >>> best = Search(like=["1"], most=50)
        >>> best.size(20, 0), best.size(20, 40), best.size(20, 60)
        (21, 10, 0)
        """
        return k + 1 if self.most is None else max(min(k + 1, self.most - offset), 0)

    def ask(self) -> Ask | None:
        """Return the query of a search by picture; None for a search by word."""
        return ask(self.like, self.unlike) if self.like else None

    def check(self) -> None:
        """Raise an error unless there is something to search for."""
        if not (self.like or self.word):
            raise InvalidInput("search: give like, once or several times, or word, or both.")
        if self.unlike and not self.like:
            raise InvalidInput("search: unlike works only with like.")

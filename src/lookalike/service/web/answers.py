"""What the HTTP API answers with, as pydantic models and so in its OpenAPI description."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from lookalike.collection import ModelRow, PictureRow
from lookalike.collection.records import Event, Standing, Suggestion
from lookalike.core.text import shown

Kind: TypeAlias = Literal["import", "rescan", "learn"]
State: TypeAlias = Literal["waiting", "running", "done", "failed", "stopped"]


def plain(value: Any) -> Any:
    """Make paths, tuples and undecodable names inside a value fit for JSON."""
    if isinstance(value, str | Path):
        return shown(value)
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


class Answer(BaseModel):
    """The base of all answers."""

    model_config = ConfigDict(frozen=True)


class Problem(Answer):
    """Why a request was refused."""

    error: str = Field(description="What was wrong and how to put it right, in a sentence.")


class PictureAnswer(Answer):
    """A picture of the collection."""

    id: int
    path: str = Field(description="Where the file lies; the first of its places.")
    places: list[str] = Field(description="All paths under which this content was found.")
    width: int
    height: int
    format: str = Field(description="JPEG, PNG, WEBP, AVIF, GIF, BMP, TIFF or HEIF.")
    bytes: int = Field(description="The size of the file.")
    taken: str | None = Field(description="When the camera says it was taken, without time zone.")
    added: str = Field(description="When it came into the collection, in UTC.")
    sha256: str = Field(description="The hash of the file's content.")
    labels: list[str]
    thumbnail: str = Field(description="Where its small JPEG is.")
    image: str = Field(description="Where the picture itself is.")

    @classmethod
    def of(cls, row: PictureRow, labels: Iterable[str] = ()) -> "PictureAnswer":
        """Tell of a picture."""
        return cls(**picture_facts(row, labels))


class MatchAnswer(PictureAnswer):
    """A picture that a search found."""

    score: float = Field(description="Larger is more alike.")
    verdict: int = Field(
        ge=-1,
        le=1,
        description="What was said of it for this search: 1 for picked, -1 for rejected, else 0.",
    )


class SearchAnswer(Answer):
    """One page of what a search found, best first."""

    matches: list[MatchAnswer]
    next: str | None = Field(description="The address of the next page, or null on the last.")


class PicturesAnswer(Answer):
    """One page of the pictures that pass the filters."""

    pictures: list[PictureAnswer]
    total: int = Field(description="How many pass in all.")
    next: str | None = Field(description="The address of the next page, or null on the last.")


class Added(Answer):
    """A picture that was uploaded."""

    picture: PictureAnswer
    new: bool = Field(description="False if the collection knew it before.")


class Removed(Answer):
    """What was deleted."""

    removed: int


class Token(Answer):
    """The name of a kept query: stands for the picture in searches and votes."""

    token: str
    thumbnail: str = Field(description="Where its small JPEG is.")

    @classmethod
    def of(cls, token: str) -> "Token":
        """Name a kept query."""
        return cls(token=token, thumbnail=f"/query/{token}.jpg")


class EventAnswer(Answer):
    """One row of the log of all that was said."""

    number: int
    at: str
    kind: str = Field(
        description="vote, tag, correction, deletion, undo, reset, learn or rollback."
    )
    who: str
    body: dict[str, Any]
    undone: bool

    @classmethod
    def of(cls, event: Event) -> "EventAnswer":
        """Tell of an event."""
        return cls(**plain(asdict(event)))


class EventsAnswer(Answer):
    """One page of the log, newest first."""

    events: list[EventAnswer]
    next: str | None = Field(description="The address of the next page, or null on the last.")


class StandingAnswer(Answer):
    """The publish gate for votes: how good searches are without them and with them."""

    votes: int = Field(description="Votes that count now.")
    judged: int = Field(description="Votes judged by a model that learned from none like them.")
    before: float | None = Field(
        description="Share of held-out comparisons in the right order, without votes."
    )
    after: float | None = Field(description="The same with votes.")
    strength: float = Field(description="How far searches go with the votes; 0 is not at all.")
    labels_before: float | None = Field(description="mAP on held-back labelled pictures, without.")
    labels_after: float | None = Field(description="The same with votes.")
    reason: str

    @classmethod
    def of(cls, standing: Standing) -> "StandingAnswer":
        """Tell how the votes stand."""
        return cls(**plain(asdict(standing)))


class Said(Answer):
    """The event that was logged, and how the votes stand after it."""

    event: EventAnswer
    standing: StandingAnswer


class FiguresAnswer(Answer):
    """How well held-back pictures rank each other, or words."""

    mean_average_precision: float
    precision_at_1: float
    precision_at_10: float
    queries: int


class ModelAnswer(Answer):
    """What was learned once, and how it was judged."""

    number: int
    kind: str = Field(description="similarity or tags.")
    made: str
    settings: dict[str, Any]
    before: FiguresAnswer
    after: FiguresAnswer
    published: bool
    current: bool = Field(description="Whether it is in use.")

    @classmethod
    def of(cls, row: ModelRow) -> "ModelAnswer":
        """Tell of a model."""
        return cls(**plain(asdict(row)))


class ModelsAnswer(Answer):
    """What was learned, oldest first."""

    models: list[ModelAnswer]


class InUseAnswer(Answer):
    """The numbers of the models in use; null for none."""

    model: int | None
    tagger: int | None


class SuggestionAnswer(Answer):
    """A word that may suit a picture."""

    word: str
    confidence: float | None = Field(description="From 0 to 1; null where it is not known.")
    why: str

    @classmethod
    def of(cls, suggestion: Suggestion) -> "SuggestionAnswer":
        """Tell of a word."""
        return cls(**plain(asdict(suggestion)))


class SuggestionsAnswer(Answer):
    """Words that may suit a picture, best first."""

    suggestions: list[SuggestionAnswer]


class ReasonsAnswer(Answer):
    """Why a picture matches, in sentences."""

    reasons: list[str]


class Facet(Answer):
    """A value pictures can be filtered by, and how many have it."""

    value: str
    count: int

    @classmethod
    def all_of(cls, counted: Iterable[tuple[str, int]]) -> "list[Facet]":
        """Tell of values and counts."""
        return [cls(value=shown(value), count=count) for value, count in counted]


class FacetsAnswer(Answer):
    """What the pictures can be filtered by."""

    folders: list[Facet]
    formats: list[Facet]
    tags: list[Facet]
    months: list[Facet] = Field(description="As 2024-05, or empty where it is not known.")


class JobAnswer(Answer):
    """A piece of long work."""

    id: str
    kind: Kind
    state: State
    done: int
    total: int = Field(description="0 while it is not known.")
    message: str
    result: dict[str, Any] | None = Field(description="What came of it so far.")
    started: str | None
    ended: str | None


class JobsAnswer(Answer):
    """The jobs of this server, newest first."""

    jobs: list[JobAnswer]


class Watching(Answer):
    """Whether folders are watched for new, changed and deleted files."""

    on: bool
    folders: list[str] = Field(description="The folders watched at the moment.")
    trouble: str = Field(description="What keeps the collection from following; empty if nothing.")


class StatusAnswer(Answer):
    """How the server is."""

    version: str
    pictures: int
    refused: int = Field(description="Files that could not be used when last looked at.")
    roots: list[str] = Field(description="The folders the collection was made from.")
    jobs: int = Field(description="Jobs waiting or running.")
    watching: Watching


def picture_facts(row: PictureRow, labels: Iterable[str]) -> dict[str, Any]:
    """Return the fields of a picture's answer."""
    places = [shown(place) for place in row.places]
    return {
        "id": row.id,
        "path": places[0] if places else "",
        "places": places,
        "width": row.width,
        "height": row.height,
        "format": row.format,
        "bytes": row.bytes,
        "taken": row.taken,
        "added": row.added,
        "sha256": row.sha256,
        "labels": [shown(label) for label in labels],
        "thumbnail": f"/thumbnail/{row.id}.jpg",
        "image": f"/image/{row.id}",
    }

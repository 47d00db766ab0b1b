"""The responses of the HTTP API, as pydantic models for its OpenAPI description."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from lookalike.collection import Entry
from lookalike.collection.ranking.rankers import RankerInfo
from lookalike.collection.search.matches import Source
from lookalike.collection.search.suggesting import Suggestion
from lookalike.collection.store.models import ModelRow
from lookalike.collection.store.pictures import PictureRow
from lookalike.collection.votes.ledger import Standing
from lookalike.core.text import shown

Kind: TypeAlias = Literal["import", "rescan", "learn"]
HASH = 16
"""Digits of a picture's hash in the address of its thumbnail."""

WARNING = "What words do without, since it is damaged, and what to do; else empty."

State: TypeAlias = Literal["waiting", "running", "done", "failed", "stopped"]


def plain(value: Any) -> Any:
    """Return a value with the paths, tuples and undecodable names inside it fit for JSON."""
    if isinstance(value, str | Path):
        return shown(value)
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


class Answer(BaseModel):
    """Base class of all responses."""

    model_config = ConfigDict(frozen=True)


class Problem(Answer):
    """Why a request was refused."""

    error: str = Field(description="What went wrong and what to do about it, in a sentence.")


class PictureAnswer(Answer):
    """A picture of the collection."""

    id: int
    path: str = Field(description="Path of the file; the first of its places.")
    places: list[str] = Field(description="All paths at which this content was found.")
    width: int
    height: int
    format: str = Field(description="JPEG, PNG, WEBP, AVIF, GIF, BMP, TIFF or HEIF.")
    bytes: int = Field(description="Size of the file.")
    taken: str | None = Field(
        description="When it was taken, according to the camera; without time zone."
    )
    added: str = Field(description="When it was added to the collection, in UTC.")
    sha256: str = Field(description="Hash of the file's content.")
    missing: str | None = Field(
        description="Since when its files are missing, in UTC; null if one is there."
    )
    labels: list[str]
    thumbnail: str = Field(description="Address of its thumbnail.")
    image: str = Field(description="Address of the picture itself.")

    @classmethod
    def of(cls, row: PictureRow, labels: Iterable[str] = ()) -> "PictureAnswer":
        """Return the response for a picture."""
        return cls(**picture_facts(row, labels))


class MatchAnswer(PictureAnswer):
    """A picture that a search found."""

    score: float = Field(description="Larger is more similar.")
    verdict: int = Field(
        ge=-1,
        le=1,
        description="The vote on it in this search: 1 for picked, -1 for rejected, else 0.",
    )
    source: Source | None = Field(
        description="In a search by word: `given` if the picture is tagged with it, `name` if its "
        "file or a folder is named so; `learned` or `start` if it probably fits, according to what "
        "was learned or known from the start. Null in a search by picture."
    )


class WordCountsAnswer(Answer):
    """How many pictures a search by word finds in all, in the order of the matches."""

    tagged: int = Field(description="Pictures tagged with it.")
    named: int = Field(description="Others whose files or folders are named so.")
    probable: int = Field(description="Others that it probably fits.")
    terms: list[str] = Field(description="The words that the text was taken for.")
    unknown: list[str] = Field(description="Those that no picture has and nothing is known of.")


class SearchAnswer(Answer):
    """One page of matches, best first."""

    matches: list[MatchAnswer]
    rejected: list[int] = Field(
        description="Pictures rejected in this search; left out unless `learned` is false."
    )
    counts: WordCountsAnswer | None = Field(description="Null in a search by picture.")
    reach: float | None = Field(
        description="Share of what was learned from labels or clicks that this search uses, from "
        "0 to 1; null for a word, or if nothing was learned or it is not used."
    )
    warning: str = Field(description=WARNING)
    next: str | None = Field(description="Address of the next page; null on the last.")


class PicturesAnswer(Answer):
    """One page of the pictures that pass the filters."""

    pictures: list[PictureAnswer]
    total: int = Field(description="Number of pictures that pass.")
    next: str | None = Field(description="Address of the next page; null on the last.")


class Added(Answer):
    """A picture that was uploaded."""

    picture: PictureAnswer
    new: bool = Field(description="False if it was already in the collection.")


class Removed(Answer):
    """How many pictures were moved to the bin."""

    removed: int


class Restored(Answer):
    """How many pictures came back from the bin."""

    restored: int


class Erased(Answer):
    """How many pictures were erased."""

    erased: int


class Token(Answer):
    """A stored query: its token stands for the picture in searches and votes."""

    token: str
    thumbnail: str = Field(description="Address of its thumbnail.")

    @classmethod
    def of(cls, token: str) -> "Token":
        """Return the response for a stored query."""
        return cls(token=token, thumbnail=f"/query/{token}.jpg")


class EventAnswer(Answer):
    """One event of the log."""

    number: int
    at: str
    kind: str = Field(
        description="vote, tag, correction, import, removal, restoration, erasure, undo, reset, "
        "distinct, learn, rollback or feature; erased for something that was said of an erased "
        "picture; deletion in older collections."
    )
    who: str
    body: dict[str, Any]
    undone: bool

    @classmethod
    def of(cls, event: Entry) -> "EventAnswer":
        """Return the response for an event."""
        return cls(**plain(asdict(event)))


class EventsAnswer(Answer):
    """One page of the log, newest first."""

    events: list[EventAnswer]
    next: str | None = Field(description="Address of the next page; null on the last.")


class StandingAnswer(Answer):
    """The publish gate for votes: how well searches rank without and with them."""

    votes: int = Field(description="Votes in effect.")
    judged: int = Field(
        description="Votes evaluated by a model not trained on votes in the same search."
    )
    before: float | None = Field(
        description="Share of held-out comparisons in the right order, without votes."
    )
    after: float | None = Field(description="The same with votes.")
    strength: float = Field(description="How strongly searches follow the votes, from 0 to 1.")
    labels_before: float | None = Field(
        description="mAP on held-out labelled pictures, without votes."
    )
    labels_after: float | None = Field(description="The same with votes.")
    reason: str
    left_out: list[str] = Field(
        description="People whose votes weigh nothing: they contradict how the pictures look."
    )

    @classmethod
    def of(cls, standing: Standing) -> "StandingAnswer":
        """Return the response for the state of the votes."""
        return cls(**plain(asdict(standing)))


class Said(Answer):
    """The recorded event, and the state of the votes after it."""

    event: EventAnswer
    standing: StandingAnswer | None = Field(description="Null while no ranker can be used.")


class FiguresAnswer(Answer):
    """How well held-out pictures rank each other, or words."""

    mean_average_precision: float
    precision_at_1: float
    precision_at_10: float
    queries: int


class DifferenceAnswer(Answer):
    """The mean of paired differences, and its standard error."""

    mean: float
    error: float


class GainAnswer(Answer):
    """How much better held-out pictures rank each other by a new similarity."""

    mean_average_precision: DifferenceAnswer
    precision_at_1: DifferenceAnswer
    pictures: int = Field(
        description="Pictures that judged; with few labels more than were held out at once."
    )


class CodesAnswer(Answer):
    """How many candidates binary codes find for a search, and how well."""

    candidates: int
    chosen: bool = Field(description="Whether their number was chosen by the recall, not given.")
    recall: float = Field(
        description="Share of the nearest pictures of an exact search among the candidates."
    )
    nearest: int = Field(description="How many pictures of an exact search were looked for.")
    queries: int = Field(description="Held-out pictures that were searched with.")
    pictures: int = Field(description="Pictures searched among.")
    bits: int = Field(description="Length of a code.")
    fingerprint: str
    learned: bool = Field(
        description="Whether codes are asked with the query as the similarity turns it."
    )


class ModelAnswer(Answer):
    """A trained model and its evaluation."""

    number: int
    kind: str = Field(description="similarity, words for an annotator, or codes.")
    method: str = Field(description="What it was trained by, such as oasis.")
    ranker: str = Field(description="The ranker it was trained for.")
    made: str
    settings: dict[str, Any]
    before: FiguresAnswer | None = Field(description="Null for codes.")
    after: FiguresAnswer | None = Field(description="Null for codes.")
    published: bool
    current: bool = Field(description="Whether it is in use.")
    codes: CodesAnswer | None = Field(description="Null for other models.")
    gain: GainAnswer | None = Field(
        description="What decided whether a similarity is used; null for other models."
    )

    @classmethod
    def of(cls, row: ModelRow) -> "ModelAnswer":
        """Return the response for a model."""
        return cls(**plain(asdict(row)))


class ModelsAnswer(Answer):
    """The trained models, oldest first."""

    models: list[ModelAnswer]


class InUseAnswer(Answer):
    """The numbers of the similarity, the annotator and the codes in use; null for none."""

    model: int | None
    annotator: int | None
    labels: int | None = Field(
        description="The event that imported the labels of what was rolled back, if that counts."
    )
    codes: int | None


class RankerAnswer(Answer):
    """A way to search: how pictures are described, and what was learned over that."""

    name: str = Field(description="What `by` names it by.")
    feature: str = Field(description="How pictures are described.")
    method: str = Field(description="The similarity in use; cosine if nothing was learned.")
    ready: bool = Field(description="Whether it can be searched by.")
    pictures: int = Field(description="Pictures it has described.")
    undescribed: int = Field(description="Pictures it has not described.")
    trouble: str = Field(
        description="Why it cannot be used, or, if it is ready, why its learned words cannot; "
        "else empty."
    )
    codes: CodesAnswer | None = Field(
        description="How well its codes find candidates; null if every search is exact."
    )

    @classmethod
    def of(cls, info: RankerInfo) -> "RankerAnswer":
        """Return the response for a ranker."""
        return cls(**plain(asdict(info)))


class RankersAnswer(Answer):
    """The ways to search; the first is used by default."""

    rankers: list[RankerAnswer]


class SuggestionAnswer(Answer):
    """A word that may fit a picture."""

    word: str
    confidence: float | None = Field(description="From 0 to 1; null if unknown.")
    why: str
    source: Source = Field(
        description="A label of the most `similar` pictures, `learned`, or known from the `start`."
    )

    @classmethod
    def of(cls, suggestion: Suggestion) -> "SuggestionAnswer":
        """Return the response for a suggested word."""
        return cls(**plain(asdict(suggestion)))


class SuggestionsAnswer(Answer):
    """Words that may fit a picture, best first."""

    suggestions: list[SuggestionAnswer]
    warning: str = Field(description=WARNING)


class WordAnswer(Answer):
    """A word to search by."""

    word: str
    pictures: int = Field(description="Pictures that have it; for a start word, about how many.")
    source: Source = Field(
        description="`given` as a tag, known from the `start`, or the `name` of a folder."
    )


class WordsAnswer(Answer):
    """Words to search by."""

    words: list[WordAnswer]


class ReasonsAnswer(Answer):
    """Why a picture matches, in sentences, and by view if the feature has several."""

    reasons: list[str]
    views: dict[str, float] = Field(
        description="How far each view lifts it above the average picture, in shares; "
        "negative if it lowers it. Empty for a feature of one view."
    )


class ViewsAnswer(Answer):
    """How much each view counts in searches."""

    weights: dict[str, float] = Field(
        description="Shares, the largest first; empty for a feature of one view, or a method "
        "that does not weigh views."
    )


class Facet(Answer):
    """A value to filter pictures by, and how many pictures have it."""

    value: str
    count: int

    @classmethod
    def all_of(cls, counted: Iterable[tuple[str, int]]) -> "list[Facet]":
        """Return the facets for values and counts."""
        return [cls(value=shown(value), count=count) for value, count in counted]


class FacetsAnswer(Answer):
    """The values to filter pictures by."""

    folders: list[Facet]
    formats: list[Facet]
    tags: list[Facet]
    months: list[Facet] = Field(description="Such as 2024-05; empty if unknown.")


class JobAnswer(Answer):
    """A long-running task."""

    id: str
    kind: Kind
    state: State
    done: int
    total: int = Field(description="0 while unknown.")
    message: str
    result: dict[str, Any] | None = Field(description="The result so far.")
    started: str | None
    ended: str | None


class JobsAnswer(Answer):
    """The jobs of this server, newest first."""

    jobs: list[JobAnswer]


class Watching(Answer):
    """Whether folders are watched for new, changed and deleted files."""

    on: bool
    folders: list[str] = Field(description="The folders being watched now.")
    trouble: str = Field(description="Why changes are not followed; empty if they are.")


class StatusAnswer(Answer):
    """The state of the server."""

    version: str
    pictures: int
    refused: int = Field(description="Files that could not be used when last read.")
    roots: list[str] = Field(description="The folders that were indexed.")
    rankers: list[RankerAnswer] = Field(description="The ways to search, the default first.")
    jobs: int = Field(description="Jobs waiting or running.")
    watching: Watching


def thumbnail_address(number: int, sha256: str) -> str:
    """Return the address of a thumbnail, which no other picture of any collection has."""
    return f"/thumbnail/{number}.jpg?v={sha256[:HASH]}"


def picture_facts(row: PictureRow, labels: Iterable[str]) -> dict[str, Any]:
    """Return the fields of the response for a picture."""
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
        "missing": row.missing,
        "labels": [shown(label) for label in labels],
        "thumbnail": thumbnail_address(row.id, row.sha256),
        "image": f"/image/{row.id}",
    }

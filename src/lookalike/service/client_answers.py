"""The types of the dicts that :class:`lookalike.Client` takes and returns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Ref: TypeAlias = int | str
"""A picture by its id, or a stored query by its token."""


class Picture(TypedDict):
    """A picture of the collection."""

    id: int
    path: str
    places: list[str]
    width: int
    height: int
    format: str
    bytes: int
    taken: str | None
    added: str
    sha256: str
    missing: str | None
    labels: list[str]
    thumbnail: str
    image: str


class Match(Picture):
    """A picture that a search found; ``verdict`` is 1 for picked, -1 for rejected, else 0.

    In a search by word, ``source`` says where the word comes from; else it is None.
    """

    score: float
    verdict: int
    source: Literal["start", "learned", "given"] | None


class Album(TypedDict):
    """A saved search; ``new`` are the pictures that came into it since it was last opened."""

    id: int
    name: str
    made: str
    opened: str
    like: list[str]
    unlike: list[str]
    word: str | None
    pictures: int
    new: list[int]
    gone: int
    trouble: str


class Duplicate(Picture):
    """A picture of a group of near-duplicates, and how alike it is to the one to keep."""

    likeness: float


class Group(TypedDict):
    """Near-duplicates: all by their ids, the one to keep first, and the first 100 described."""

    keeper: int
    reason: str
    ids: list[int]
    pictures: list[Duplicate]


class Event(TypedDict):
    """One event of the log."""

    number: int
    at: str
    kind: str
    who: str
    body: dict[str, Any]
    undone: bool


class Standing(TypedDict):
    """What was learned from votes, and whether searches use it."""

    votes: int
    judged: int
    before: float | None
    after: float | None
    strength: float
    labels_before: float | None
    labels_after: float | None
    reason: str


class Said(TypedDict):
    """An event, and the effect of the votes after it."""

    event: Event
    standing: Standing | None


class Ranker(TypedDict):
    """A way to search; ``trouble`` says why it cannot be used, or is empty."""

    name: str
    feature: str
    method: str
    ready: bool
    pictures: int
    undescribed: int
    trouble: str
    codes: dict[str, Any] | None


class Job(TypedDict):
    """A long-running task."""

    id: str
    kind: Literal["import", "rescan", "learn"]
    state: Literal["waiting", "running", "done", "failed", "stopped"]
    done: int
    total: int
    message: str
    result: dict[str, Any] | None
    started: str | None
    ended: str | None


class Filters(TypedDict):
    """Which pictures to include; every filter given must hold."""

    folder: NotRequired[str | Path]
    tags: NotRequired[Sequence[str]]
    taken_from: NotRequired[str]
    taken_to: NotRequired[str]
    formats: NotRequired[Sequence[str]]
    min_side: NotRequired[int]
    max_side: NotRequired[int]
    min_bytes: NotRequired[int]
    max_bytes: NotRequired[int]
    missing: NotRequired[bool]
    album: NotRequired[str]
    without_album: NotRequired[str]

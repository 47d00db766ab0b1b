"""Answers that only a server gives: the API sends them, the client returns them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from lookalike.collection import (
    Duplicates,
    Entry,
    PictureRow,
    RankerInfo,
    Source,
    Standing,
    Suggestion,
    WordCounts,
)

JobKind: TypeAlias = Literal["import", "rescan", "learn", "sidecars", "read"]
JobPhase: TypeAlias = Literal["waiting", "running", "done", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request was refused.

    Attributes
    ----------
    error : str
        What went wrong and what to do about it, in a sentence.
    """

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture(PictureRow):
    """A picture of the collection.

    Attributes
    ----------
    sha256 : str
        Hash of the file's content.
    format : str
        JPEG, PNG, WEBP, AVIF, GIF, BMP, TIFF or HEIF.
    bytes : int
        Size of the file.
    taken : str or None
        When it was taken, according to the camera; without time zone.
    added : str
        When it was added to the collection, in UTC.
    places : tuple of Path
        All paths at which this content was found.
    missing : str or None
        Since when its files are missing, in UTC; null if one is there.
    caption : str
        What people wrote about it, as its files say (XMP, IPTC, EXIF); else empty.
    written : str
        What is written in it, a line for each line, where that was read; else empty.
    camera, lens : str
        Their names, as its files say; else empty.
    latitude, longitude : float or None
        Where it was taken, in degrees, as its files say.
    path : Path or None
        The first of its places.
    thumbnail, image : str
        Addresses of its thumbnail, and of the picture itself.
    """

    path: Path | None
    labels: tuple[str, ...]
    thumbnail: str
    image: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureMatch(Picture):
    """A picture that a search found.

    Attributes
    ----------
    score : float
        Larger is more similar.
    verdict : int
        The vote on it in this search: 1 for picked, -1 for rejected, else 0.
    source : str or None
        In a search by word: `given` if the picture is tagged with it, `caption` if it stands in its
        caption, `name` if its file or a folder is named so, `written` if it is written in it;
        `learned`, `start` or `meaning` if it probably fits, according to what was learned, known
        from the start, or read by its meaning. Null in a search by picture, and where there are
        only filters.
    """

    score: float
    verdict: int
    source: Source | None


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of matches, best first.

    Attributes
    ----------
    rejected : tuple of int
        Pictures rejected in this search; left out unless `learned` is false.
    counts : WordCounts or None
        How many pictures a search by word finds, and what the text was taken for; null in a
        search by picture.
    reach : float or None
        Share of what was learned from labels or clicks that this search uses, from 0 to 1; null
        for a word, or if nothing was learned or it is not used.
    layers : {"mine", "shared", "plain"}
        Whose votes it uses: those of the owner and of trusted people with the person's own, or
        without, or none, without learning.
    warning : str
        What words do without, since it is damaged, and what to do; else empty.
    next : str or None
        Address of the next page; null on the last.
    """

    matches: tuple[PictureMatch, ...]
    rejected: tuple[int, ...]
    counts: WordCounts | None
    reach: float | None
    layers: Literal["mine", "shared", "plain"]
    warning: str
    next: str | None


@dataclass(frozen=True, slots=True)
class PicturePage:
    """One page of a list of pictures.

    Attributes
    ----------
    total : int
        Number of pictures in the list.
    next : str or None
        Address of the next page; null on the last.
    """

    pictures: tuple[Picture, ...]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyPicture(Picture):
    """A picture, and how far from another it was taken.

    Attributes
    ----------
    kilometres : float
        Along a great circle.
    """

    kilometres: float


@dataclass(frozen=True, slots=True)
class EventPage:
    """One page of the log, newest first.

    Attributes
    ----------
    next : str or None
        Address of the next page; null on the last.
    """

    events: tuple[Entry, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateGroup(Duplicates):
    """Pictures that are near-duplicates of one of them.

    Attributes
    ----------
    keeper : int
        The picture that should be kept.
    reason : str
        Why it should be kept rather than the next best.
    pictures : tuple of int
        All pictures of the group, the keeper first.
    likeness : tuple of float
        How alike each is to the keeper, from 0 to 1.
    details : tuple of Picture
        The first 100 of them that are in the collection.
    """

    details: tuple[Picture, ...]


@dataclass(frozen=True, slots=True)
class DuplicatePage:
    """One page of the groups of near-duplicates, the most alike first.

    Attributes
    ----------
    total : int
        Number of groups.
    duplicates : int
        Number of pictures in them that could be removed.
    next : str or None
        Address of the next page; null on the last.
    """

    groups: tuple[DuplicateGroup, ...]
    total: int
    duplicates: int
    next: str | None


@dataclass(frozen=True, slots=True)
class Upload:
    """A picture that was uploaded.

    Attributes
    ----------
    new : bool
        False if it was already in the collection.
    """

    picture: Picture
    new: bool


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """A picture to search with: its token stands for it in searches and votes.

    Attributes
    ----------
    thumbnail : str
        Address of its thumbnail.
    """

    token: str
    thumbnail: str


@dataclass(frozen=True, slots=True)
class Count:
    """How many pictures were removed, restored or erased."""

    pictures: int


@dataclass(frozen=True, slots=True)
class Feedback:
    """A recorded event, and the state of the votes after it.

    Attributes
    ----------
    standing : Standing or None
        Null while no ranker can be used.
    """

    event: Entry
    standing: Standing | None


@dataclass(frozen=True, slots=True)
class SelectionEvent:
    """A recorded event, and how many pictures it is about."""

    event: Entry
    pictures: int


@dataclass(frozen=True, slots=True)
class Examples:
    """Pictures to search with in place of many.

    Attributes
    ----------
    like : tuple of int
        At most as many as a search may have, evenly spread.
    pictures : int
        How many pictures they stand for.
    """

    like: tuple[int, ...]
    pictures: int


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Words that may fit a picture, best first.

    Attributes
    ----------
    warning : str
        What words do without, since it is damaged, and what to do; else empty.
    """

    suggestions: tuple[Suggestion, ...]
    warning: str


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why a picture matches, in sentences, and by view if the feature has several.

    Attributes
    ----------
    views : dict
        How far each view lifts it above the average picture, in shares; negative if it lowers it.
        Empty for a feature of one view.
    """

    reasons: tuple[str, ...]
    views: dict[str, float]


@dataclass(frozen=True, slots=True)
class Facets:
    """The values to filter pictures by, each with the number of pictures that have it.

    Attributes
    ----------
    months : dict
        Such as 2024-05; empty if unknown.
    """

    folders: dict[str, int]
    formats: dict[str, int]
    cameras: dict[str, int]
    lenses: dict[str, int]
    tags: dict[str, int]
    months: dict[str, int]


@dataclass(slots=True, kw_only=True)
class JobState:
    """A long-running task.

    Attributes
    ----------
    total : int
        0 while unknown.
    message, details : str
        What is done or came of it, and the figures behind that.
    result : dict or None
        The result so far.
    by_itself : bool
        Whether the server started it, since tags were given.
    """

    id: str
    kind: JobKind
    state: JobPhase = "waiting"
    done: int = 0
    total: int = 0
    message: str = ""
    details: str = ""
    result: dict[str, Any] | None = None
    by_itself: bool = False
    started: str | None = None
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class FolderView:
    """A folder of the computer that serves, to choose what to import.

    Attributes
    ----------
    path, above : Path or None
        None for the list of places to begin at, and where one may not go higher.
    folders : tuple of Path
    pictures : int
        Files in it that are named as pictures are, without those in its folders.
    """

    path: Path | None
    above: Path | None
    folders: tuple[Path, ...]
    pictures: int


@dataclass(frozen=True, slots=True)
class CollectionView:
    """A collection that the server may open, or has open."""

    name: str
    path: Path
    is_open: bool


@dataclass(frozen=True, slots=True)
class Watch:
    """Whether folders are watched for new, changed and deleted files.

    Attributes
    ----------
    folders : tuple of Path
        The folders being watched now.
    trouble : str
        Why changes are not followed; empty if they are.
    """

    on: bool
    folders: tuple[Path, ...]
    trouble: str


@dataclass(frozen=True, slots=True)
class Status:
    """The state of the server.

    Attributes
    ----------
    collection : Path
        The folder of the collection that is open.
    refused : int
        Files that could not be used when last read.
    roots : tuple of Path
        The folders that were indexed.
    rankers : tuple of RankerInfo
        The ways to search, the default first.
    jobs : int
        Jobs waiting or running.
    """

    version: str
    collection: Path
    pictures: int
    refused: int
    roots: tuple[Path, ...]
    rankers: tuple[RankerInfo, ...]
    jobs: int
    watching: Watch

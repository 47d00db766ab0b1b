"""What a collection answers with."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lookalike.images import Refused


@dataclass(slots=True)
class Added:
    """What ``add`` did with the files it found.

    Attributes
    ----------
    added : int
        New pictures.
    known : int
        Files that were in the collection already, as they are.
    copies, moved : int
        Files with the content of a picture known from another path; ``moved`` where that path
        is gone.
    ignored : int
        Hidden files and files of another ending that folders held.
    refused : list of Refused
        Files, folders and patterns that could not be used, each with the reason.
    learned_again : Learned or None
        What learning again came to, where the collection had grown so much that its vectors were
        reduced anew; None where that was not due or nothing had been learned.
    unlearned : str
        Why searches do without what was learned before; empty where they do not.
    """

    added: int = 0
    known: int = 0
    copies: int = 0
    moved: int = 0
    ignored: int = 0
    refused: list[Refused] = field(default_factory=list)
    learned_again: "Learned | None" = None
    unlearned: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """How well held-back pictures rank each other (paper 1, section 5.1).

    ``queries`` is how many of them have another one alike, and so could be judged.
    """

    mean_average_precision: float
    precision_at_1: float
    precision_at_10: float
    queries: int


@dataclass(frozen=True, slots=True)
class Learned:
    """What ``learn`` came to.

    Attributes
    ----------
    before, after : Figures
        The collection as it was and the newly learned model, on the pictures held back.
    published : bool
        Whether searches use the new model: only if it is at least as good in mean average
        precision and in precision at 1, and not if it is what searches do without learning.
    reason : str
        Why it is published or not, in a sentence.
    pictures, labels : int
        Pictures of which something is known, held-back ones among them; labels or queries.
    held_back : int
        Pictures not learned from.
    unmatched : list of str
        Names that stand for no picture of the collection, or for several, with the reason.
    model : int or None
        The number of the new model, if it was published.
    """

    before: Figures
    after: Figures
    published: bool
    reason: str
    pictures: int
    labels: int
    held_back: int
    unmatched: list[str]
    model: int | None


@dataclass(frozen=True, slots=True)
class Match:
    """A picture that a search found; ``path`` is the first of its ``places``."""

    id: int
    path: Path
    score: float
    places: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class PictureRow:
    """What is known of a picture; ``added`` is in UTC, ``taken`` as the camera said."""

    id: int
    sha256: str
    format: str
    width: int
    height: int
    bytes: int
    taken: str | None
    added: str
    places: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class ModelRow:
    """What was learned once, and how it was judged; ``current`` is the one searches use."""

    number: int
    made: str
    settings: dict[str, Any]
    before: Figures
    after: Figures
    published: bool
    current: bool

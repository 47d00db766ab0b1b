"""What a search answers with: pictures, and where the words that found them come from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Source: TypeAlias = Literal["start", "learned", "given", "name", "similar"]
"""Where a word comes from: known from the start, an annotator, labels, names, similar pictures."""


@dataclass(frozen=True, slots=True)
class Match:
    """A picture that a search found; ``path`` is the first of its ``places``.

    For a word, ``source`` says whether the picture has it as a label (``given``) or in the ``name``
    of its file or a folder, or probably fits (``learned`` or ``start``); else it is None.
    """

    id: int
    path: Path
    score: float
    places: tuple[Path, ...]
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class WordCounts:
    """How many pictures a search by word finds.

    Attributes
    ----------
    tagged, named, probable : int
        Those labelled with it, others whose files or folders are named so, and others that it
        probably fits.
    terms : tuple of str
        The words that the text was taken for.
    unknown : tuple of str
        Those of them that no picture has and nothing is known of.
    """

    tagged: int
    named: int
    probable: int
    terms: tuple[str, ...]
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Pictures that are near-duplicates of one of them.

    Attributes
    ----------
    keeper : int
        The one that should be kept: the largest, and so on.
    reason : str
        Why it should be kept rather than the next best, in a few words.
    pictures : tuple of int
        The keeper, then its duplicates, the most alike first.
    likeness : tuple of float
        How alike each is to the keeper, from 0 to 1; 1 for the keeper itself.
    """

    keeper: int
    reason: str
    pictures: tuple[int, ...]
    likeness: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Copies:
    """A picture of which there are several files with the same content.

    Attributes
    ----------
    picture : int
    paths : tuple of Path
        The files, the one known longest first.
    """

    picture: int
    paths: tuple[Path, ...]

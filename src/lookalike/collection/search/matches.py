"""What a search answers with: pictures, and where the words that found them come from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Source: TypeAlias = Literal[
    "start", "learned", "given", "caption", "name", "written", "similar", "meaning"
]
"""Where a word comes from: known from the start, an annotator, labels, captions, names, what is
written in pictures, similar pictures, or words near it in meaning."""


@dataclass(frozen=True, slots=True)
class Match:
    """A picture that a search found; ``path`` is the first of its ``places``.

    For a word, ``source`` says whether the picture has it as a label (``given``), in its
    ``caption``, in the ``name`` of its file or a folder, or ``written`` in it, or probably fits
    (``learned``, ``start`` or ``meaning``); else it is None.
    """

    id: int
    path: Path
    score: float
    places: tuple[Path, ...]
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class ReadWord:
    """A word that a term was read as, and how much of the term it makes up, from 0 to 1."""

    word: str
    weight: float
    source: Source


@dataclass(frozen=True, slots=True)
class Reading:
    """What a term was taken for.

    Attributes
    ----------
    text : str
        The term.
    words : tuple of ReadWord
        The term itself where it is known, else the words nearest in meaning, the nearest first;
        none where nothing is known of it.
    is_literal : bool
        Whether the term was taken as it stands, and not by its meaning.
    without : bool
        Whether pictures that it fits are left out.
    """

    text: str
    words: tuple[ReadWord, ...]
    is_literal: bool = True
    without: bool = False


@dataclass(frozen=True, slots=True)
class WordCounts:
    """How many pictures a search by words finds, and what the text was taken for.

    Attributes
    ----------
    tagged, named, probable : int
        Those labelled with it, others whose files or folders are named so, and others that it
        probably fits.
    terms : tuple of str
        The words that the text was taken for.
    unknown : tuple of str
        Those of them that no picture has and nothing is known of; they are set aside.
    readings : tuple of Reading
        What each term was taken for.
    set_aside : tuple of str
        What was typed and not understood.
    among : int or None
        How many pictures pass the filters, typed or given beside; None without any.
    captioned, written : int
        Those in whose caption it stands, and others in which it is written.
    """

    tagged: int
    named: int
    probable: int
    terms: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()
    set_aside: tuple[str, ...] = ()
    among: int | None = None
    captioned: int = 0
    written: int = 0


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
        The files, the oldest first, then that with the shortest path, then the one known longest.
    """

    picture: int
    paths: tuple[Path, ...]

"""What learning came to, each model by itself."""

from dataclasses import dataclass, field
from typing import Any

from lookalike.collection.log.entry import Entry
from lookalike.collection.store.models import CodeFigures, Figures, Gain, gain_text


@dataclass(frozen=True, slots=True)
class CodesTrial:
    """What learning codes came to.

    Attributes
    ----------
    figures : CodeFigures or None
        None where nothing could be learned.
    published : bool
        Whether searches use the codes: where they need no more than half of the pictures as
        candidates, or the number of candidates was given.
    reason : str
        Why, in a sentence.
    method : str
        What makes the codes, as ``s3plh``; empty where nothing could be learned.
    model : int or None
        The number of the new model, if it was published.
    pictures, labels : int
        Pictures that the codes were learned from, and labels that weigh their bits.
    """

    figures: CodeFigures | None
    published: bool
    reason: str
    method: str
    model: int | None
    pictures: int
    labels: int

    @classmethod
    def failed(cls, why: str) -> "CodesTrial":
        """Return the trial of codes that could not be learned."""
        return cls(None, False, why, "", None, 0, 0)


@dataclass(frozen=True, slots=True)
class Trial:
    """What learning one thing came to, the similarity or the words.

    Attributes
    ----------
    before, after : Figures or None
        What was in use and what was newly learned, on the pictures held out; None where nothing
        could be learned.
    published : bool
        Whether what was learned is used. A similarity must be better in mean average precision by
        more than chance and no worse in precision at 1 by more than one standard error, both of
        the paired differences; ``reason`` has them. Words must be at least as good in both; the
        first words must be better, in mean average precision, than ranking them by how common
        they are.
    reason : str
        Why it is published or not, or why nothing could be learned, in a sentence.
    pictures, labels : int
        Pictures of which something is known, held-back ones among them; labels, queries or words.
    held_back : int
        Pictures not learned from.
    model : int or None
        The number of the new model, if it was published.
    method : str
        What learned it, as ``oasis`` or ``ridge``; empty where nothing could be learned.
    tried : dict
        For words, the figures of every annotator that was trained to choose from, by name.
    gain : Gain or None
        What decided whether a similarity is used; None for words, decided by their figures.
    """

    before: Figures | None
    after: Figures | None
    published: bool
    reason: str
    pictures: int
    labels: int
    held_back: int
    model: int | None
    method: str = ""
    tried: dict[str, Figures] = field(default_factory=dict)
    gain: Gain | None = None

    @property
    def gained(self) -> str:
        """What it gained, as the gate saw it; empty where nothing could be learned."""
        return gain_text(self.before, self.after, self.gain)

    @classmethod
    def failed(cls, why: str, pictures: int, labels: int) -> "Trial":
        """Return the trial of something that could not be learned."""
        return cls(None, None, False, why, pictures, labels, 0, None)


@dataclass(frozen=True, slots=True)
class Learned:
    """What ``learn`` came to.

    Attributes
    ----------
    similarity : Trial or None
        What searches compare pictures by; None where it was not to be learned.
    words : Trial or None
        What pictures are tagged with; None where it was not to be learned, as from clicks.
    unmatched : list of str
        Names that stand for no picture of the collection, or for several, with the reason.
    codes : CodesTrial or None
        What candidates are found by; None where it was not to be learned.
    labels : Entry or None
        The entry that imported the labels learned from; ``undo`` takes them back. None where
        nothing new was given.
    """

    similarity: Trial | None = None
    words: Trial | None = None
    unmatched: list[str] = field(default_factory=list)
    labels: Entry | None = None
    codes: CodesTrial | None = None

    def summary(self) -> dict[str, Any]:
        """Return in short what the log keeps of it."""
        found: dict[str, dict[str, Any]] = {
            name: {"published": trial.published, "model": trial.model, "pictures": trial.pictures}
            for name, trial in (
                ("similarity", self.similarity),
                ("words", self.words),
                ("codes", self.codes),
            )
            if trial is not None
        }
        for name, one in (("similarity", self.similarity), ("words", self.words)):
            if one is not None and one.gained:
                found[name]["gained"] = one.gained
        return found


@dataclass(frozen=True, slots=True)
class InUse:
    """The numbers of the models that a ranker uses; None for none. ``codes`` finds candidates.

    After a rollback, ``labels`` is the event that imported the labels of what was rolled back:
    these stay until it is undone. None where there were none, or it is undone.
    """

    similarity: int | None
    annotator: int | None
    labels: int | None = None
    codes: int | None = None

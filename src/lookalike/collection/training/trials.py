"""What learning came to, and what a ranker uses after a rollback."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from lookalike.collection.log.entry import Entry
from lookalike.collection.store.models import IN_USE, NewModel, Trial


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
    codes : Trial or None
        What candidates are found by; None where it was not to be learned.
    labels : Entry or None
        The event that imported the labels learned from; ``undo`` takes them back. None where
        nothing new was given.
    """

    similarity: Trial | None = None
    words: Trial | None = None
    unmatched: list[str] = field(default_factory=list)
    labels: Entry | None = None
    codes: Trial | None = None

    @classmethod
    def of(cls, run: Iterable[NewModel], unmatched: Iterable[str] = ()) -> "Learned":
        """Return what a run came to."""
        trials: dict[str, Any] = {new.kind: new.trial for new in run}
        return cls(**trials, unmatched=list(unmatched))

    def summary(self) -> dict[str, Any]:
        """Return in short what the log keeps of it."""
        trials: dict[str, Trial | None] = {kind: getattr(self, kind) for kind in IN_USE}
        return {
            kind: {
                "published": trial.published,
                "model": trial.model,
                "pictures": trial.pictures,
                **({"gained": trial.gained} if trial.gained else {}),
                **({"retired": True} if trial.retired else {}),
            }
            for kind, trial in trials.items()
            if trial is not None
        }


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

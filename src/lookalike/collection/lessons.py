"""What was learned once: how it was judged beside what it would replace, by which pictures."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation import WSABIE
from lookalike.collection.records import Figures, Learned, Trial
from lookalike.similarity import OASIS

Ids = NDArray[np.int64]

Kind: TypeAlias = Literal["similarity", "tags"]

IN_USE: dict[Kind, str] = {"similarity": "model", "tags": "tagger"}
"""Under which name the state of a collection keeps the number of the model in use."""

_REASONS: dict[Kind, tuple[str, str, str]] = {
    "similarity": (
        "What was learned ranks no worse, and searches use it from now on.",
        "What was learned ranks worse than what it would replace, so it is not used.",
        "Nothing was learned that ranks better than the start, so none of it is used.",
    ),
    "tags": (
        "The words learned are ranked no worse than before, and tags come from them from now on.",
        "The words learned are ranked worse than before, so they are not used.",
        "",
    ),
}

_BESIDE_COMMONEST = (
    "The words learned are ranked better than by how common they are, and tags come from them from "
    "now on.",
    "The words learned are ranked worse than by how common they are, so they are not used.",
)


@dataclass(frozen=True)
class Split:
    """The rows to learn from and the rows to judge by.

    ``why`` says why nothing can be learned or judged that way; it is empty where all is well.
    """

    train: NDArray[np.intp]
    held: NDArray[np.intp]
    why: str = ""


@dataclass(frozen=True)
class Lesson:
    """A model, how it and what it would replace were judged, and by which pictures.

    ``changes`` says whether it differs from what it would replace, and is not the start over
    the start; ``settings`` are the learner's, as JSON. ``beside_commonest`` says that
    there is no tagger to judge it beside, only the commonest words.
    """

    kind: Kind
    model: OASIS | WSABIE
    source: str
    threshold: float
    labels: int
    before: Figures
    after: Figures
    held_back: Ids
    learned_from: Ids
    changes: bool
    settings: str
    beside_commonest: bool = False

    @property
    def published(self) -> bool:
        """Whether it is to be used: only if it changes anything, and for no worse.

        Words that half of all pictures have are hard to beat at rank 1, and are no tags.
        """
        return (
            self.changes
            and self.after.mean_average_precision >= self.before.mean_average_precision
            and (self.beside_commonest or self.after.precision_at_1 >= self.before.precision_at_1)
        )

    @property
    def reason(self) -> str:
        """Say why it is to be used or not."""
        good, worse, same = _REASONS[self.kind]
        if self.beside_commonest:
            good, worse = _BESIDE_COMMONEST
        if self.published:
            return good
        return worse if self.changes else same

    def told(self, number: int) -> Trial:
        """Return what came of it, as the model ``number``."""
        return Trial(
            before=self.before,
            after=self.after,
            published=self.published,
            reason=self.reason,
            pictures=len(self.held_back) + len(self.learned_from),
            labels=self.labels,
            held_back=len(self.held_back),
            model=number if self.published else None,
        )


@dataclass(frozen=True)
class Run:
    """What one run of learning came to: of each kind a lesson, or the trial that failed.

    ``first`` is the number of the first of its models.
    """

    results: Mapping[Kind, Lesson | Trial]
    first: int

    @property
    def lessons(self) -> dict[int, Lesson]:
        """The lessons by the numbers of their models."""
        found = (result for result in self.results.values() if isinstance(result, Lesson))
        return dict(enumerate(found, self.first))

    def told(self, unmatched: Iterable[str] = ()) -> Learned:
        """Return what came of it."""
        trials = {kind: it for kind, it in self.results.items() if isinstance(it, Trial)}
        trials |= {lesson.kind: lesson.told(number) for number, lesson in self.lessons.items()}
        return Learned(trials.get("similarity"), trials.get("tags"), list(unmatched))

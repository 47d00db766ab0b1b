"""The publish gate: what was learned is used only if it ranks better than what it replaces."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from lookalike.annotation.base import Annotator
from lookalike.collection.store.models import IN_USE, Figures, Gain, Ids, Kind, NewModel
from lookalike.collection.training.codes import CodesLesson
from lookalike.collection.training.trials import CodesTrial, Learned, Trial
from lookalike.similarity.base import Similarity

_WORDS = (
    "The new annotator ranks words no worse and is now in use.",
    "The new annotator ranks words worse than the one in use, so nothing changed.",
)

_BESIDE_COMMONEST = (
    "The annotator ranks words better than by frequency and is now in use.",
    "The annotator ranks words no better than by frequency, so it is not used.",
)


@dataclass(frozen=True)
class Lesson:
    """A model, how it and what it would replace were judged, and by which pictures.

    ``changes`` says whether it differs from what it would replace, and is not the start over
    the start; ``settings`` are the learner's, as JSON. A similarity has a ``gain`` over the one in
    use and a gain ``over_start``, which may be judged by more pictures.
    ``beside_commonest`` says that there is no annotator to judge one beside, only the commonest
    words; ``tried`` are the figures of the annotators that it was chosen from, by name.
    """

    kind: Kind
    model: Similarity | Annotator
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
    tried: Mapping[str, Figures] = field(default_factory=dict)
    gain: Gain | None = None
    over_start: Gain | None = None

    @property
    def published(self) -> bool:
        """Whether it is to be used: only if it changes anything, for the better or no worse.

        A similarity must be certain to rank better than the start. To replace one that was
        learned it need only rank better, since that is judged by fewer pictures. An annotator may
        replace another that ranks as well, but the first must rank words better than by frequency;
        words that half of all pictures have are hard to beat at rank 1, and say little.
        """
        if self.gain is not None and self.over_start is not None:
            return self.changes and self.over_start.is_certain and self.gain.is_better
        gain = self.after.mean_average_precision - self.before.mean_average_precision
        if self.beside_commonest:
            return self.changes and gain > 0
        return (
            self.changes and gain >= 0 and self.after.precision_at_1 >= self.before.precision_at_1
        )

    @property
    def decided_by(self) -> Gain | None:
        """The gain that decided: over the one in use, or over the start where that is in doubt."""
        if self.gain is not None and self.gain.is_better and not self.published:
            return self.over_start
        return self.gain

    @property
    def reason(self) -> str:
        """Why it is to be used or not, in a sentence."""
        if not self.changes:
            return "Learning did not improve the ranking, so nothing changed."
        if self.gain is not None:
            if self.published:
                return f"The new similarity ranks better and is now in use: {self.gain}."
            if self.gain.is_better:
                return (
                    f"The new similarity is not clearly better than no learning, so nothing "
                    f"changed: {self.decided_by}."
                )
            return f"The new similarity {self.gain.fault}, so nothing changed: {self.gain}."
        good, worse = _BESIDE_COMMONEST if self.beside_commonest else _WORDS
        return f"{good if self.published else worse} {self._choice}".strip()

    @property
    def _choice(self) -> str:
        """Which annotator was chosen, and by how much, in a sentence; empty without a choice."""
        name = self.model.name
        others = [
            f"{other} {figures.mean_average_precision:.3f}"
            for other, figures in self.tried.items()
            if other != name
        ]
        if not others:
            return ""
        own = self.after.mean_average_precision
        most = max(figures.mean_average_precision for figures in self.tried.values())
        close = "; less than a standard error apart" if own < most else ""
        return f"Chosen: {name}, mean average precision {own:.3f} ({', '.join(others)}{close})."

    def trial(self, number: int) -> Trial:
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
            method=self.model.name,
            tried=dict(self.tried),
            gain=self.decided_by,
        )

    def row(self, number: int) -> NewModel:
        """Return what the store keeps of it, as the model ``number``."""
        return NewModel(
            number=number,
            kind=self.kind,
            method=self.model.name,
            published=self.published,
            source=self.source,
            threshold=self.threshold,
            settings=self.settings,
            figures=(self.before, self.after),
            gain=self.decided_by,
            held_back=self.held_back,
            learned_from=self.learned_from,
        )


Result: TypeAlias = Lesson | CodesLesson | Trial | CodesTrial
"""What learning one thing came to: a lesson, or the trial that failed."""


@dataclass(frozen=True)
class Run:
    """What one run of learning came to: of each kind a lesson, or the trial that failed.

    ``first`` is the number of the first of its models.
    """

    results: Mapping[Kind, Result]
    first: int

    @property
    def lessons(self) -> dict[int, Lesson | CodesLesson]:
        """The lessons by the numbers of their models."""
        found = (it for it in self.results.values() if isinstance(it, Lesson | CodesLesson))
        return dict(enumerate(found, self.first))

    @property
    def rows(self) -> list[NewModel]:
        """What the store keeps of the lessons."""
        return [lesson.row(number) for number, lesson in self.lessons.items()]

    def learned(self, unmatched: Iterable[str] = ()) -> Learned:
        """Return what came of it."""
        numbers = {lesson.kind: number for number, lesson in self.lessons.items()}
        similarity, words, codes = (self.results.get(kind) for kind in IN_USE)
        if isinstance(similarity, Lesson):
            similarity = similarity.trial(numbers["similarity"])
        if isinstance(words, Lesson):
            words = words.trial(numbers["words"])
        if isinstance(codes, CodesLesson):
            codes = codes.trial(numbers["codes"])
        return Learned(
            similarity if isinstance(similarity, Trial) else None,
            words if isinstance(words, Trial) else None,
            list(unmatched),
            codes=codes if isinstance(codes, CodesTrial) else None,
        )

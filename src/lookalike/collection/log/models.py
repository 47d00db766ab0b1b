"""Events of learning: models that were trained, rolled back, and features that came."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from lookalike.collection.log.event import Event, Position, event
from lookalike.collection.store import log as rows
from lookalike.collection.store import rankers
from lookalike.core.text import shown

_NAMES = {"similarity": "new similarity", "words": "new words", "codes": "new codes"}


@event("learn", touches={"labels", "models"}, icon="spark")
@dataclass(frozen=True)
class Learn(Event):
    """What a training run came to.

    ``similarity``, ``words`` and ``codes`` say whether each is used, the number of its model and
    what it gained; ``words_since`` how many words had been given since the run before, and
    ``labels`` the event that imported the labels learned from.
    """

    similarity: Mapping[str, Any] | None = None
    words: Mapping[str, Any] | None = None
    codes: Mapping[str, Any] | None = None
    words_since: int = 0
    labels: int | None = None

    @property
    def trials(self) -> dict[str, Mapping[str, Any]]:
        """What was learned, by its kind."""
        parts = {"similarity": self.similarity, "words": self.words, "codes": self.codes}
        return {kind: trial for kind, trial in parts.items() if trial}

    @property
    def learns_words(self) -> bool:
        """Whether words that were given before are learned now."""
        return set(self.trials) != {"codes"}

    def sentence(self) -> str:
        """Return what happened."""
        if not self.learns_words:
            return f"Learned codes: {self._results()}"
        # What was imported counts for more than the tags given meanwhile.
        count = 0 if self.labels is not None else self.words_since
        new = f"{count:,} new or rejected {'tag' if count == 1 else 'tags'}"
        source = new if count else "tags or folders"
        return f"Learned from {source}: {self._results()}"

    def _results(self) -> str:
        """Return which models are used, and why others are not."""
        used = [_NAMES[kind] for kind, trial in self.trials.items() if _used(trial)]
        results = [" and ".join(used)] if used else []
        results += [
            f"{kind} not clearly better, so not used"
            for kind, trial in self.trials.items()
            if not _used(trial) and trial.get("gained")
        ]
        if not results and self.learns_words:
            results.append("no improvement, so not used")
        if self.similarity and self.similarity.get("retired"):
            results.append("the similarity so far ranks worse than none, so not used any more")
        if self.codes and not _used(self.codes):
            few = "too few pictures or tags"
            reason = "too many candidates" if self.codes.get("pictures") else few
            results.append(f"codes not used, {reason}")
        return "; ".join(results)


@event("rollback", touches={"models"}, icon="undo")
@dataclass(frozen=True)
class Rollback(Event):
    """Models that came into use again, by their kinds; None for none."""

    models: Mapping[str, int | None] = field(default_factory=dict)
    learns_words: ClassVar[bool] = True

    def sentence(self) -> str:
        """Return what happened."""
        return "Went back to the previous models"


@event("feature", icon="add")
@dataclass(frozen=True)
class NewFeature(Event):
    """A feature by which pictures are described from now on, and the name of its ranker."""

    name: str
    feature: str

    def sentence(self) -> str:
        """Return what happened."""
        alias = f" as {shown(self.name)}" if self.name != self.feature else ""
        return f"Added the feature {shown(self.feature)}{alias}"


@event("ranker_removal", touches={"models"}, icon="bin")
@dataclass(frozen=True)
class RankerRemoval(Event):
    """A ranker that was removed, with its records and models."""

    name: str

    def sentence(self) -> str:
        """Return what happened."""
        return f"Removed the ranker {shown(self.name)}"


@event("default_ranker", undoable=True, touches={"models"}, icon="spark")
@dataclass(frozen=True)
class DefaultRanker(Event):
    """The ranker that searches take where they name none."""

    name: str

    @property
    def about(self) -> str:
        """The same for all: the last one that counts holds."""
        return "default ranker"

    def settle(self, at: Position) -> None:
        """Take the ranker that was named last."""
        names = [
            str(json.loads(row.body)["name"])
            for row in rows.about(at.connection, self.about)
            if not rows.is_undone(at.connection, row.number)
        ]
        rankers.set_default(at.connection, names[-1] if names else None)

    def sentence(self) -> str:
        """Return what happened."""
        return f"Searches take the ranker {shown(self.name)} by default"


def _used(trial: Mapping[str, Any]) -> bool:
    return bool(trial.get("published"))

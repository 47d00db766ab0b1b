"""Learn a similarity from what is known of a collection, and judge it on what was held back."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.collection.names import Places
from lookalike.collection.records import Figures, Learned
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress
from lookalike.core.ranking import judge_in_blocks
from lookalike.features import Vectors
from lookalike.similarity import OASIS
from lookalike.supervision import Relevance, clicks_to_relevance, folder_labels
from lookalike.supervision.names import label_name

Ids = NDArray[np.int64]
Labels = dict[int, list[str]]
Clicks = dict[str, dict[int, float]]

NamedLabels: TypeAlias = (
    Mapping[str, Sequence[str]] | Mapping[Path, Sequence[str]] | Mapping[str | Path, Sequence[str]]
)
"""Labels by the names of files."""

NamedClicks: TypeAlias = (
    Mapping[str, Mapping[str, float]]
    | Mapping[str, Mapping[str | Path, float]]
    | Mapping[str, dict[str, float]]
    | Mapping[str, dict[str | Path, float]]
)
"""Weights by query and name of file."""


@dataclass(frozen=True)
class Knowledge:
    """What is alike among the pictures of which anything is known, by rising id."""

    ids: Ids
    relevance: Relevance
    source: str
    labels: int
    threshold: float = 0.0

    @classmethod
    def of_labels(cls, labels: Labels) -> "Knowledge":
        """Take pictures that share a label for alike."""
        ids = sorted(number for number, names in labels.items() if names)
        relevance = Relevance.of([set(labels[number]) for number in ids])
        return cls(np.array(ids, np.int64), relevance, "labels", len(relevance.labels_ or ()))

    @classmethod
    def of_clicks(cls, clicks: Clicks, threshold: float = 0.0) -> "Knowledge":
        """Take pictures chosen for the same query for alike (paper 1, Eq. 18-20)."""
        ids = sorted({number for chosen in clicks.values() for number in chosen})
        column = {number: place for place, number in enumerate(ids)}
        entries = [
            (row, column[number], weight)
            for row, chosen in enumerate(clicks.values())
            for number, weight in chosen.items()
        ]
        rows, columns, weights = zip(*entries, strict=True) if entries else ((), (), ())
        table = sp.csr_matrix((weights, (rows, columns)), (len(clicks), len(ids)), dtype=np.float64)
        relevance = clicks_to_relevance(table, threshold=threshold)
        return cls(np.array(ids, np.int64), relevance, "clicks", len(clicks), threshold)

    def split(
        self,
        hold_back: float,
        rng: np.random.Generator,
        earlier: tuple[Ids, Ids] | None,
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Choose the rows to learn from and the rows to judge by.

        ``earlier`` are the pictures that the model in use was judged by and learned from: they
        stay on their side, or that model would be judged by what it has seen.
        """
        held_before, learned_before = earlier or (np.zeros(0, np.int64), np.zeros(0, np.int64))
        fresh = np.flatnonzero(~np.isin(self.ids, np.concatenate([held_before, learned_before])))
        _, chosen = self.relevance.subset(fresh).hold_out(hold_back, rng)
        held = np.union1d(np.flatnonzero(np.isin(self.ids, held_before)), fresh[chosen])
        train = np.setdiff1d(np.arange(len(self.ids)), held)
        if not self.relevance.subset(held).has_alike.any():
            raise InvalidInput(
                f"learn: nothing can be held back to judge by: {self._extent} leave too little "
                f"that is alike. {self._remedy}"
            )
        why = self.relevance.subset(train).trainable()
        if why and self.source == "clicks":
            raise InvalidInput(
                f"learn: nothing can be learned from this: of {self._extent}, none is alike to "
                f"one and unlike another. {self._remedy}"
            )
        if why:
            raise InvalidInput(f"learn: nothing can be learned from this: {why}")
        return train, held

    @property
    def _extent(self) -> str:
        if self.source == "clicks":
            return f"{len(self.ids)} pictures clicked for {self.labels} queries"
        return f"{len(self.ids)} pictures with {self.labels} labels"

    @property
    def _remedy(self) -> str:
        if self.source == "clicks":
            lower = ", or lower the threshold" if self.threshold > 0 else ""
            return f"Give clicks on four pictures each for at least two queries{lower}."
        return "Name at least two labels with four pictures each."


@dataclass(frozen=True)
class Lesson:
    """A model, how it and what it would replace were judged, and by which pictures.

    ``replaces`` says whether that is a model too, and not the cosine.
    """

    model: OASIS
    knowledge: Knowledge
    before: Figures
    after: Figures
    held_back: Ids
    learned_from: Ids
    replaces: bool

    @property
    def changes(self) -> bool:
        """Whether it differs from what it would replace, and is not the start over the start."""
        return self.replaces or self.model.blend_ != 0

    @property
    def published(self) -> bool:
        """Whether it is to be used: only if it changes anything, and for no worse."""
        return (
            self.changes
            and self.after.mean_average_precision >= self.before.mean_average_precision
            and self.after.precision_at_1 >= self.before.precision_at_1
        )

    @property
    def reason(self) -> str:
        """Say why it is to be used or not."""
        if self.published:
            return "What was learned ranks no worse, and searches use it from now on."
        if not self.changes:
            return "Nothing was learned that ranks better than the start, so none of it is used."
        return "What was learned ranks worse than what it would replace, so it is not used."

    def told(self, number: int, unmatched: Iterable[str] = ()) -> Learned:
        """Give what came of it, as the model ``number``."""
        return Learned(
            before=self.before,
            after=self.after,
            published=self.published,
            reason=self.reason,
            pictures=len(self.knowledge.ids),
            labels=self.knowledge.labels,
            held_back=len(self.held_back),
            unmatched=list(unmatched),
            model=number if self.published else None,
        )


def named_labels(labels: NamedLabels, places: Places) -> tuple[Labels, list[str]]:
    """Give the labels of the pictures that names stand for, and the names that stand for none."""
    found: Labels = {}
    unmatched = []
    for name, given in labels.items():
        picture, why = places.find(name)
        if picture is None:
            unmatched.append(f"{name}: {why}")
        else:
            spelled = map(label_name, [given] if isinstance(given, str) else given)
            kept = [*found.get(picture, []), *filter(None, spelled)]
            found[picture] = list(dict.fromkeys(kept))
    _check_found(found, unmatched)
    return found, unmatched


def named_clicks(clicks: NamedClicks, places: Places) -> tuple[Clicks, list[str]]:
    """Give the weights of the pictures that names stand for, and the names that stand for none."""
    found: Clicks = {}
    unmatched: dict[str, str] = {}
    for query, chosen in clicks.items():
        weights = found.setdefault(label_name(query), {})
        for name, weight in chosen.items():
            picture, why = places.find(name)
            if picture is None:
                unmatched[str(name)] = f"{name}: {why}"
            else:
                weights[picture] = weights.get(picture, 0.0) + float(weight)
    _check_found(
        [picture for weights in found.values() for picture in weights], [*unmatched.values()]
    )
    return found, list(unmatched.values())


def _check_found(found: Collection[Any], unmatched: list[str]) -> None:
    if not found:
        first = f", as {unmatched[0]}" if unmatched else ""
        raise InvalidInput(
            f"learn: none of the {len(unmatched)} files named is a picture of the collection"
            f"{first}. Add the pictures first."
        )


def labels_by_folder(places: Iterable[tuple[str, int]], roots: Iterable[str]) -> Labels:
    """Take the folders a picture lies in for its labels.

    Pictures directly in a root get none if the root has folders with pictures, since then those
    are the labels.
    """
    pictures = dict(places)
    folders = {Path(path).parent for path in pictures}
    above = {parent for folder in folders for parent in folder.parents}
    named = folder_labels(pictures, roots=[root for root in roots if Path(root) in above])
    found: Labels = {}
    for path, names in named.items():
        kept = [*found.get(pictures[path], []), *names]
        found[pictures[path]] = list(dict.fromkeys(kept))
    return found


def new_learner(settings: Mapping[str, Any] | None, random_state: int | None) -> OASIS:
    """Make the learner with the settings asked for."""
    try:
        return OASIS(**{"random_state": random_state, **(settings or {})})
    except TypeError as error:
        known = ", ".join(sorted(OASIS().get_params()))
        raise InvalidInput(f"learn: settings may name {known}; {error}.") from error


def teach(
    learner: OASIS,
    knowledge: Knowledge,
    X: Vectors,
    split: tuple[NDArray[np.intp], NDArray[np.intp]],
    *,
    current: OASIS | None,
    progress: Progress,
) -> Lesson:
    """Let the learner learn from one side and judge it by the other, beside the current model."""
    train, held = split
    learner.fit(X[train], knowledge.relevance.subset(train), progress=progress)
    if learner.item_vectors(X[:1]).shape[1] != X.shape[1]:
        raise InvalidInput(
            "learn: this similarity stores more than a number a picture and cannot be searched "
            "with. Let symmetric='dissimilarity' come with normalize=True."
        )
    judges = knowledge.relevance.subset(held)
    return Lesson(
        learner,
        knowledge,
        figures(current, X[held], judges),
        figures(learner, X[held], judges),
        knowledge.ids[held],
        knowledge.ids[train],
        current is not None,
    )


def figures(model: OASIS | None, X: Vectors, relevance: Relevance) -> Figures:
    """Rank each picture's company by a model, or by cosine, and judge the order."""
    items: Any = X if model is None else model.item_vectors(X)

    def scores(rows: NDArray[np.int64]) -> NDArray[np.float32]:
        queries: Any = X[rows] if model is None else model.query_vectors(X[rows])
        products: Any = (items @ queries.T).T
        if isinstance(products, sp.csr_matrix | sp.csc_matrix):
            products = products.toarray()
        return np.ascontiguousarray(products, dtype=np.float32)

    judged = judge_in_blocks(scores, relevance.rows, X.shape[0], cutoffs=(1, 10))
    return Figures(
        judged.mean_average_precision,
        judged.precision_at(1),
        judged.precision_at(10),
        int(judged.judged.sum()),
    )

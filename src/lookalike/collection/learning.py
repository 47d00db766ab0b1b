"""Learn a similarity from what is known of a collection, and judge it on what was held back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lookalike.collection.lessons import Ids, Lesson, Split
from lookalike.collection.records import Figures, Trial
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress
from lookalike.core.ranking import judge_in_blocks
from lookalike.core.seeds import generator
from lookalike.features import Vectors
from lookalike.similarity import OASIS
from lookalike.supervision import Relevance, clicks_to_relevance

Labels = dict[int, list[str]]
Clicks = dict[str, dict[int, float]]


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
    ) -> Split:
        """Choose the rows to learn from and the rows to judge by.

        ``earlier`` are the pictures that the model in use was judged by and learned from: they
        stay on their side, or that model would be judged by what it has seen.
        """
        held_before, learned_before = earlier or (np.zeros(0, np.int64), np.zeros(0, np.int64))
        fresh = np.flatnonzero(~np.isin(self.ids, np.concatenate([held_before, learned_before])))
        _, chosen = self.relevance.subset(fresh).hold_out(hold_back, rng)
        held = np.union1d(np.flatnonzero(np.isin(self.ids, held_before)), fresh[chosen])
        train = np.setdiff1d(np.arange(len(self.ids)), held)
        return Split(train, held, self._problem(train, held))

    def _problem(self, train: NDArray[np.intp], held: NDArray[np.intp]) -> str:
        if not self.relevance.subset(held).has_alike.any():
            return (
                f"learn: nothing can be held back to judge by: {self._extent} leave too little "
                f"that is alike. {self._remedy}"
            )
        why = self.relevance.subset(train).trainable()
        if why and self.source == "clicks":
            return (
                f"learn: nothing can be learned from this: of {self._extent}, none is alike to "
                f"one and unlike another. {self._remedy}"
            )
        return f"learn: nothing can be learned from this: {why}" if why else ""

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
    earlier: tuple[Ids, Ids] | None,
    *,
    current: OASIS | None,
    hold_back: float,
    settings: str,
    progress: Progress,
) -> Lesson | Trial:
    """Let the learner learn from one side and judge it by the other, beside the current model.

    Where what is known does not allow that, the trial says why it failed.
    """
    split = knowledge.split(hold_back, generator(learner.random_state), earlier)
    if split.why:
        return Trial.failed(split.why, len(knowledge.ids), knowledge.labels)
    learner.fit(X[split.train], knowledge.relevance.subset(split.train), progress=progress)
    if learner.item_vectors(X[:1]).shape[1] != X.shape[1]:
        raise InvalidInput(
            "learn: this similarity stores more than a number a picture and cannot be searched "
            "with. Let symmetric='dissimilarity' come with normalize=True."
        )
    judges = knowledge.relevance.subset(split.held)
    return Lesson(
        kind="similarity",
        model=learner,
        source=knowledge.source,
        threshold=knowledge.threshold,
        labels=knowledge.labels,
        before=figures(current, X[split.held], judges),
        after=figures(learner, X[split.held], judges),
        held_back=knowledge.ids[split.held],
        learned_from=knowledge.ids[split.train],
        changes=current is not None or learner.blend_ != 0,
        settings=settings,
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

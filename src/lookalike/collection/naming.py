"""Learn what pictures are called, and judge the words by pictures that were held back."""

import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation import WSABIE
from lookalike.annotation.confidence import Confidence, enough
from lookalike.annotation.lessons import check_words
from lookalike.annotation.words import read_words
from lookalike.collection.lessons import Ids, Lesson, Split
from lookalike.collection.records import Figures, Trial
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress
from lookalike.core.seeds import generator
from lookalike.features import Vectors
from lookalike.supervision import Relevance

LEAST_HELD = 2
"""Pictures to judge by, where there are as many."""

CONSTANT = 0.3
"""What stands beside each picture's vector, for words that half of all pictures have."""


@dataclass(frozen=True)
class Vocabulary:
    """The words of the pictures that have any, by rising id.

    Words are told apart whatever their case and Unicode form.
    """

    ids: Ids
    relevance: Relevance

    @classmethod
    def of_labels(cls, labels: dict[int, list[str]]) -> "Vocabulary":
        """Take labels for words."""
        ids = sorted(number for number, names in labels.items() if names)
        has, words = read_words("learn", [set(labels[number]) for number in ids], len(ids))
        known = np.ones(len(ids), np.bool_)
        return cls(np.array(ids, np.int64), Relevance(has.astype(np.float64), words, known))

    @property
    def words(self) -> tuple[str, ...]:
        """The words, each as most pictures have it."""
        return self.relevance.labels_ or ()

    def commonest(self, rows: NDArray[np.intp]) -> "Commonest":
        """Rank the words by how many of the pictures in ``rows`` have them."""
        uses = np.bincount(self.relevance.links[rows].indices, minlength=len(self.words))
        return Commonest(self.words, uses)

    def split(
        self, hold_back: float, rng: np.random.Generator, earlier: tuple[Ids, Ids] | None
    ) -> Split:
        """Choose the rows to learn from and the rows to judge by, so that every word is learned.

        ``earlier`` are the pictures that the tagger in use was judged by and learned from: they
        stay on their side, but for those without which a word would not be learned.
        """
        held_before, learned_before = earlier or (np.zeros(0, np.int64), np.zeros(0, np.int64))
        judges = np.isin(self.ids, held_before)
        fresh = np.flatnonzero(~judges & ~np.isin(self.ids, learned_before))
        links = self.relevance.links
        left = np.bincount(links.indices, minlength=len(self.words))
        held: list[int] = []

        def hold(rows: NDArray[np.intp], most: int) -> None:
            for row in rows.tolist():
                if len(held) >= most:
                    return
                mine = links.indices[links.indptr[row] : links.indptr[row + 1]]
                if (left[mine] > 1).all():
                    left[mine] -= 1
                    held.append(row)

        hold(np.flatnonzero(judges), len(self.ids))
        hold(rng.permutation(fresh), max(len(held) + round(hold_back * len(fresh)), LEAST_HELD))
        sides = np.sort(np.array(held, np.intp))
        return Split(np.setdiff1d(np.arange(len(self.ids)), sides), sides, self._problem(sides))

    def _problem(self, held: NDArray[np.intp]) -> str:
        try:
            check_words("learn", self.words)
        except InvalidInput as error:
            return str(error)
        if not held.size:
            return (
                f"learn: no picture can be held back to judge the words by: each of "
                f"{len(self.ids)} has a word that no other has. Give words to several pictures."
            )
        return ""


class Commonest:
    """Rank words by how many pictures have them, the same for every picture."""

    def __init__(self, words: tuple[str, ...], uses: NDArray[np.int64]) -> None:
        self.words_ = words
        self._uses = uses.astype(np.float32)

    def scores(self, X: Vectors) -> NDArray[np.float32]:
        """Score every word for each picture."""
        return np.broadcast_to(self._uses, (X.shape[0], len(self._uses)))


def teach(
    vocabulary: Vocabulary,
    X: Vectors,
    earlier: tuple[Ids, Ids] | None,
    *,
    current: WSABIE | None,
    hold_back: float,
    random_state: int | None,
    progress: Progress,
) -> Lesson | Trial:
    """Learn words from one side and judge them by the other, beside the current tagger.

    Without one, beside the commonest words, by mean average precision alone. Where what is known
    does not allow that, the trial says why it failed.
    """
    split = vocabulary.split(hold_back, generator(random_state), earlier)
    if split.why:
        return Trial.failed(split.why, len(vocabulary.ids), len(vocabulary.words))
    lessons = vocabulary.relevance.subset(split.train)
    tagger = WSABIE(constant=CONSTANT, random_state=random_state)
    tagger.fit(X[split.train], lessons, progress=progress)
    judges = vocabulary.relevance.subset(split.held)
    tagger.confidence_ = confidence(tagger, X[split.held], judges) or tagger.confidence_
    before = vocabulary.commonest(split.train) if current is None else current
    return Lesson(
        kind="tags",
        model=tagger,
        source="labels",
        threshold=0.0,
        labels=len(vocabulary.words),
        before=figures(before, X[split.held], judges),
        after=figures(tagger, X[split.held], judges),
        held_back=vocabulary.ids[split.held],
        learned_from=vocabulary.ids[split.train],
        changes=True,
        beside_commonest=current is None,
        settings=json.dumps({"random_state": random_state}),
    )


def confidence(tagger: WSABIE, X: Vectors, relevance: Relevance) -> Confidence | None:
    """Learn how sure a tag is from pictures held back; None from too few.

    They are more than the tagger has held out itself, and had no part in its training at all.
    """
    has, _ = read_words("learn", relevance, X.shape[0], tagger.words_)
    rows = enough(X.shape[0], len(tagger.words_))
    return Confidence.learned(tagger.scores(X[rows]), has[rows])


def figures(model: WSABIE | Commonest, X: Vectors, relevance: Relevance) -> Figures:
    """Let a model rank the words it knows for pictures, and judge the order by their words."""
    # It draws figures too, and takes long to be imported.
    from lookalike.evaluate import evaluate_annotation

    judged = evaluate_annotation(model, X, relevance)
    return Figures(
        judged.mean_average_precision, judged.precision[1], judged.precision[10], judged.pictures
    )

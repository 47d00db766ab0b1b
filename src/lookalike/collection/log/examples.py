"""Examples to learn from: what is alike, and what pictures are called, split to learn and judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lookalike.annotation.lessons import check_words
from lookalike.annotation.words import read_words
from lookalike.collection.store import changes, labels, models, people
from lookalike.collection.store import log as rows_of_log
from lookalike.collection.store.database import Database
from lookalike.collection.store.labels import Clicks, Labels, LabelSource
from lookalike.collection.store.models import Ids
from lookalike.collection.store.teachers import teachers
from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput
from lookalike.core.text import counted
from lookalike.core.vectors import Vectors
from lookalike.supervision import Relevance, clicks_to_relevance

MIN_HELD = 2
"""Pictures to judge by, where there are as many."""

MIN_OWN = 50
"""Pictures labelled by the owner from which on no others judge: so many can show a gain."""


@dataclass(frozen=True)
class Given:
    """What is newly given to learn from, and the names that stand for no picture.

    ``source`` is where labels come from; those of folders are all that folders give.
    """

    labels: Labels = field(default_factory=dict)
    source: LabelSource = "files"
    clicks: Clicks = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)
    threshold: float = 0.0


NOTHING = Given()
"""Nothing new is given: what was given before is learned from."""


@dataclass(frozen=True)
class Split:
    """The rows to learn from and the rows to judge by.

    ``why`` says why nothing can be learned or judged that way; it is empty where all is well.
    """

    train: NDArray[np.intp]
    held: NDArray[np.intp]
    why: str = ""


@dataclass(frozen=True)
class Alike:
    """What is alike among the pictures of which anything is known, by rising id.

    ``judging`` is what held-out pictures are judged by: the same, or of those only what the owner
    says.
    """

    ids: Ids
    relevance: Relevance
    source: str
    labels: int
    threshold: float = 0.0
    own: Relevance | None = None

    @property
    def judging(self) -> Relevance:
        """What is alike by whoever judges."""
        return self.relevance if self.own is None else self.own

    @classmethod
    def of_labels(cls, labels: Labels, own: Labels | None = None) -> Alike:
        """Take pictures that share a label for alike.

        ``own`` are those of the owner, where others gave some: they judge, if they are enough.
        """
        ids = _labelled(labels, own)
        relevance = Relevance.of([set(labels.get(number, ())) for number in ids])
        count = len(relevance.labels_ or ())
        judging = None
        if own is not None:
            judging = Relevance.of([set(own.get(number, ())) for number in ids])
            if judging.has_alike.sum() < MIN_OWN:
                return cls.of_labels(labels)
        return cls(np.array(ids, np.int64), relevance, "labels", count, own=judging)

    @classmethod
    def of_clicks(cls, clicks: Clicks, threshold: float = 0.0) -> Alike:
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

    def among(self, ids: Ids) -> Alike:
        """Return what is known of some pictures only."""
        rows = np.flatnonzero(np.isin(self.ids, ids))
        if len(rows) == len(self.ids):
            return self
        own = None if self.own is None else self.own.subset(rows)
        return replace(self, ids=self.ids[rows], relevance=self.relevance.subset(rows), own=own)

    def for_learner(self, learns_from: tuple[str, ...]) -> Alike:
        """Return what a learner can use: of labels, one of classes takes pictures with one only."""
        if self.source != "labels" or "labels" in learns_from:
            return self
        single = self.ids[np.diff(self.relevance.links.indptr) == 1]
        return self.among(single) if single.size else self

    def split(
        self,
        hold_back: float,
        rng: np.random.Generator,
        earlier: tuple[Ids, Ids] | None,
    ) -> Split:
        """Return the rows to learn from and the rows to judge by.

        ``earlier`` are the pictures that the model in use was judged by and learned from: they
        stay on their side, or that model would be judged by what it has seen.
        """
        held_before, learned_before = earlier or (np.zeros(0, np.int64), np.zeros(0, np.int64))
        fresh = np.flatnonzero(~np.isin(self.ids, np.concatenate([held_before, learned_before])))
        fresh = fresh[self.judging.known[fresh]]
        _, chosen = self.judging.subset(fresh).hold_out(hold_back, rng)
        held = np.union1d(np.flatnonzero(np.isin(self.ids, held_before)), fresh[chosen])
        train = np.setdiff1d(np.arange(len(self.ids)), held)
        return Split(train, held, self._problem(train, held))

    def more_splits(
        self, first: Split, rng: np.random.Generator, min_judges: int
    ) -> Iterator[Split]:
        """Yield further splits of about the same size, until ``min_judges`` pictures judge in all.

        No picture judges twice.
        """
        left, judging = first.train[self.judging.known[first.train]], len(first.held)
        while judging < min_judges and left.size:
            if 2 * len(left) <= 3 * len(first.held):
                held = left
            else:
                share = len(first.held) / len(left)
                held = left[self.judging.subset(left).hold_out(share, rng)[1]]
            left = np.setdiff1d(left, held)
            train = np.setdiff1d(np.arange(len(self.ids)), held)
            if not held.size or self._problem(train, held):
                return
            judging += len(held)
            yield Split(train, held)

    def _problem(self, train: NDArray[np.intp], held: NDArray[np.intp]) -> str:
        if not self.judging.subset(held).has_alike.any():
            return f"learn: {self._remedy} So far there are {self._extent}."
        why = self.relevance.subset(train).trainable()
        if why and self.source == "clicks":
            return (
                f"learn: nothing can be learned from this: of {self._extent}, none is related to "
                f"one and unrelated to another. {self._remedy}"
            )
        return f"learn: nothing can be learned from this: {why}" if why else ""

    @property
    def _extent(self) -> str:
        pictures = counted(len(self.ids), "picture")
        if self.source == "clicks":
            return f"{pictures} clicked for {counted(self.labels, 'query', 'queries')}"
        return f"{pictures} with {counted(self.labels, 'label')}"

    @property
    def _remedy(self) -> str:
        if self.source == "clicks":
            lower = ", or lower the threshold" if self.threshold > 0 else ""
            return f"To learn, give clicks on four pictures each for at least two queries{lower}."
        return "To learn, tag at least four pictures with each of two words."


@dataclass(frozen=True)
class Named:
    """The words of the pictures that have any, by rising id.

    Words are told apart whatever their case and Unicode form. ``judging`` are those that held-out
    pictures are judged by: the same, or those only that the owner gave.
    """

    ids: Ids
    relevance: Relevance
    own: Relevance | None = None

    @property
    def judging(self) -> Relevance:
        """The words that whoever judges gave."""
        return self.relevance if self.own is None else self.own

    @classmethod
    def of_labels(cls, labels: Labels, own: Labels | None = None) -> Named:
        """Take labels for words; ``own`` are those of the owner, as for what is alike."""
        ids = _labelled(labels, own)
        has, words = read_words("learn", [set(labels.get(one, ())) for one in ids], len(ids))
        relevance = Relevance(has.astype(np.float64), words, np.diff(has.indptr) > 0)
        if own is None:
            return cls(np.array(ids, np.int64), relevance)
        if sum(map(bool, own.values())) < MIN_OWN:
            return cls.of_labels(labels)
        has, every = read_words("learn", [set(own.get(one, ())) for one in ids], len(ids), words)
        # Words that others refused everywhere count as not found; they alone cannot judge.
        can_judge = np.diff(has[:, : len(words)].indptr) > 0
        judging = Relevance(has.astype(np.float64), every, can_judge)
        return cls(np.array(ids, np.int64), relevance, judging)

    @property
    def words(self) -> tuple[str, ...]:
        """The words, each as most pictures have it."""
        return self.relevance.labels_ or ()

    def among(self, ids: Ids) -> Named:
        """Return the words of some pictures only."""
        rows = np.flatnonzero(np.isin(self.ids, ids))
        return (
            self
            if len(rows) == len(self.ids)
            else Named(
                self.ids[rows],
                self.relevance.subset(rows),
                None if self.own is None else self.own.subset(rows),
            )
        )

    def commonest(self, rows: NDArray[np.intp]) -> Commonest:
        """Rank the words by how many of the pictures in ``rows`` have them."""
        uses = np.bincount(self.relevance.links[rows].indices, minlength=len(self.words))
        return Commonest(self.words, uses)

    def split(
        self, hold_back: float, rng: np.random.Generator, earlier: tuple[Ids, Ids] | None
    ) -> Split:
        """Return the rows to learn from and the rows to judge by, so that every word is learned.

        ``earlier`` are the pictures that the annotator in use was judged by and learned from: they
        stay on their side, but for those without which a word would not be learned.
        """
        held_before, learned_before = earlier or (np.zeros(0, np.int64), np.zeros(0, np.int64))
        judges = np.isin(self.ids, held_before)
        judges &= self.judging.known
        earlier_ids = np.concatenate([held_before, learned_before])
        fresh = np.flatnonzero(self.judging.known & ~np.isin(self.ids, earlier_ids))
        before = self._held(np.flatnonzero(judges), len(self.ids))
        most = max(len(before.held) + round(hold_back * len(fresh)), MIN_HELD)
        mixed = self._mixed(rng.permutation(fresh))
        split = self._held(np.concatenate([before.held, mixed]), most)
        return replace(split, why=self._problem(split.held))

    def more_splits(
        self, first: Split, rng: np.random.Generator, min_judges: int
    ) -> Iterator[Split]:
        """Yield further splits of at most the same size, until ``min_judges`` pictures judge.

        No picture judges twice.
        """
        left, judging = first.train[self.judging.known[first.train]], len(first.held)
        while judging < min_judges:
            split = self._held(rng.permutation(left), len(first.held))
            if not split.held.size:
                return
            left = np.setdiff1d(left, split.held)
            judging += len(split.held)
            yield split

    def _held(self, rows: NDArray[np.intp], most: int) -> Split:
        """Return a split whose held side has the first rows without which each word is learned."""
        left = np.bincount(self.relevance.links.indices, minlength=len(self.words))
        held: list[int] = []
        for row in rows.tolist():
            mine = self._numbers(row)
            if len(held) < most and (left[mine] > 1).all():
                left[mine] -= 1
                held.append(row)
        sides = np.sort(np.array(held, np.intp))
        return Split(np.setdiff1d(np.arange(len(self.ids)), sides), sides)

    def _numbers(self, row: int) -> NDArray[np.intp]:
        """Return the numbers of a picture's words."""
        links = self.relevance.links
        numbers: NDArray[np.intp] = links.indices[links.indptr[row] : links.indptr[row + 1]]
        return numbers

    def _mixed(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return rows so that the first two that can be held out differ in their words.

        Held-out pictures that all have the same words cannot show that anything was learned.
        """
        uses = np.bincount(self.relevance.links.indices, minlength=len(self.words))
        shared = (row for row in rows.tolist() if (uses[self._numbers(row)] > 1).all())
        one = next(shared, None)
        if one is None:
            return rows
        words = set(self._numbers(one).tolist())
        other = next((row for row in shared if set(self._numbers(row).tolist()) != words), one)
        first = [one] if other == one else [one, other]
        return np.concatenate([first, rows[~np.isin(rows, first)]]).astype(np.intp)

    def _problem(self, held: NDArray[np.intp]) -> str:
        try:
            check_words("learn", self.words)
        except InvalidInput as error:
            return str(error)
        if (np.diff(self.relevance.links.indptr) == len(self.words)).all():
            return (
                f"learn: no words can be learned: all {len(self.ids)} labelled pictures have the "
                f"same. Give some pictures other labels."
            )
        if not self.judging.known.any():
            return (
                "learn: none of the words that the owner gave is left: others refused them all. "
                "See who (lookalike people), and undo it (lookalike people undo NAME)."
            )
        if not held.size:
            return (
                f"learn: no picture can be held out: each of {len(self.ids)} has a label that no "
                f"other has. Give labels to several pictures."
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


def _labelled(labels: Labels, own: Labels | None) -> list[int]:
    """Return the pictures that have labels, by anybody or by the owner, by rising id."""
    return sorted({one for some in (labels, own or {}) for one, names in some.items() if names})


def own_labels(database: Database, given: Given = NOTHING) -> Labels | None:
    """Return the labels there would be if the owner alone had given and refused some by hand.

    With those of files and folders; None where nobody else's count.
    """
    others = teachers(database)
    if not others:
        return None
    undone = rows_of_log.undone(database)
    own: dict[tuple[int, str], tuple[bool | None, str]] = {}
    touched: set[tuple[int, str]] = set()
    for picture, key, number, refused, after, who in changes.words_by_hand(database):
        if number in undone:
            continue
        if who == people.OWNER:
            own[picture, key] = after is not None, str(refused if after is None else after)
        elif number <= others.get(who, 0):
            touched.add((picture, key))
    by_hand = {place: own.get(place, (None, "")) for place in touched}
    whole = given.source == "folders" and bool(given.labels)
    return _telling(
        labels.labels_with(database, given.source, given.labels, whole=whole, by_hand=by_hand)
    )


def _telling(every: Labels) -> Labels:
    """Return labels without those that do not tell what pictures show."""
    kept = {
        picture: [label for label in some if label.casefold() != labels.FAVOURITE]
        for picture, some in every.items()
    }
    return {picture: some for picture, some in kept.items() if some}


def given_labels(database: Database, given: Given) -> Labels:
    """Return the labels of all pictures, with what is newly given in its layer; no favourites."""
    if not given.labels:
        return _telling(labels.labels(database))
    whole = given.source == "folders"
    return _telling(labels.labels_with(database, given.source, given.labels, whole=whole))


def alike(
    database: Database,
    given: Given = NOTHING,
    *,
    number: int | None = None,
    known: Labels | None = None,
) -> Alike:
    """Return what is alike by what is newly given together with what was given before.

    With nothing new, take what the model ``number``, or the last, was learned from. ``known`` are
    the labels of ``given_labels``, where they were read before.
    """
    last = number or models.last_model(database, "similarity")
    source, threshold = models.source_of(database, last)
    if given.clicks or (source == "clicks" and not given.labels):
        clicks = {**labels.clicks(database), **given.clicks}
        if clicks:
            return Alike.of_clicks(clicks, given.threshold if given.clicks else threshold)
    every = given_labels(database, given) if known is None else known
    if not every:
        raise InvalidInput(
            "learn: the collection has no labels or clicks to learn from. Give labels, folders or "
            "clicks (lookalike learn --labels, --folders or --clicks)."
        )
    return Alike.of_labels(every, own_labels(database, given))


def named(
    database: Database, given: Given = NOTHING, *, known: Labels | None = None
) -> Named | None:
    """Return the words newly given with those given before; None where words are not taught.

    Labels are words. Clicks teach none, whatever their queries are.
    """
    if given.clicks:
        return None
    every = given_labels(database, given) if known is None else known
    return Named.of_labels(every, own_labels(database, given)) if every else None

"""The experimental protocol of paper 1, section 5.3.2."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from lookalike.core import sparse as sp
from lookalike.core.checks import check_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.ranking import CUTOFFS, Judgement
from lookalike.core.seeds import RandomState, generator
from lookalike.evaluate.metrics import as_rows, evaluate_similarity
from lookalike.evaluate.spread import Spread
from lookalike.supervision import Relevance


@dataclass(frozen=True)
class Fold:
    """One split of the pictures, as sorted row numbers."""

    train_rows: NDArray[np.intp]
    test_rows: NDArray[np.intp]


@dataclass(frozen=True)
class Choice:
    """A model chosen from candidates and trained.

    Attributes
    ----------
    model : object
        The best candidate, trained on everything given.
    place : int
        The index of the candidate.
    held_out : tuple of float
        Each candidate's mean average precision on the held-out part; empty if there was only one
        candidate.
    wall_seconds, cpu_seconds : float
        The time to train the chosen one on everything.
    """

    model: Any
    place: int
    held_out: tuple[float, ...]
    wall_seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Result:
    """The results of cross-validation, one entry per fold."""

    judgements: tuple[Judgement, ...]
    choices: tuple[Choice, ...]

    @property
    def mean_average_precision(self) -> Spread:
        """The mean average precision over the folds."""
        return Spread.of(judgement.mean_average_precision for judgement in self.judgements)

    def precision_at(self, k: int) -> Spread:
        """Return the precision at top ``k`` over the folds."""
        return Spread.of(judgement.precision_at(k) for judgement in self.judgements)

    @property
    def precision_curve(self) -> tuple[Spread, ...]:
        """The precision at each of the cutoffs over the folds."""
        curves = np.array([judgement.mean_precision for judgement in self.judgements])
        return tuple(Spread.of(column) for column in curves.T)

    @property
    def chance(self) -> Spread:
        """The precision of a random order over the folds."""
        return Spread.of(judgement.chance for judgement in self.judgements)

    @property
    def wall_seconds(self) -> Spread:
        """The wall-clock time to train the chosen model."""
        return Spread.of(choice.wall_seconds for choice in self.choices)

    @property
    def cpu_seconds(self) -> Spread:
        """The CPU time to train the chosen model, over all cores."""
        return Spread.of(choice.cpu_seconds for choice in self.choices)


def class_folds(
    labels: Sequence[Any],
    *,
    train: int = 40,
    test: int = 25,
    folds: int = 5,
    random_state: RandomState = None,
) -> list[Fold]:
    """Draw pictures of each class to train on and others to test on, several times.

    Parameters
    ----------
    labels : sequence
        One label per picture.
    train, test : int
        How many of each class; 40 and 25 in the paper.
    folds : int
        How many independent draws.
    random_state : int, Generator or None
        A seed makes the draws repeatable.

    Raises
    ------
    InvalidInput
        If a class has fewer than ``train + test`` pictures.

    Examples
    --------
    >>> fold, = class_folds(["cat"] * 5 + ["dog"] * 4, train=2, test=2, folds=1, random_state=0)
    >>> len(fold.train_rows), len(fold.test_rows)
    (4, 4)
    """
    for name, value in (("train", train), ("test", test), ("folds", folds)):
        check_whole("class_folds", name, value, 1)
    members: dict[Any, list[int]] = {}
    for row, label in enumerate(labels):
        members.setdefault(label, []).append(row)
    if not members:
        raise InvalidInput("class_folds: labels must contain at least one class; got none.")
    small = [label for label, rows in members.items() if len(rows) < train + test]
    if small:
        raise InvalidInput(
            f"class_folds: each class must have {train} + {test} pictures; {len(small)} of "
            f"{len(members)} have fewer, such as {small[0]!r} with {len(members[small[0]])}. "
            f"Leave them out, or lower train or test."
        )
    rng = generator(random_state)
    drawn = []
    for _ in range(folds):
        orders = [rng.permutation(rows) for rows in members.values()]
        drawn.append(
            Fold(
                np.sort(np.concatenate([order[:train] for order in orders])),
                np.sort(np.concatenate([order[train : train + test] for order in orders])),
            )
        )
    return drawn


def choose(
    candidates: Sequence[Any],
    X: ArrayLike | sp.spmatrix,
    y: Any,
    *,
    held_out: float = 0.2,
    random_state: RandomState = None,
) -> Choice:
    """Choose hyper-parameters on a held-out part, then train again on everything.

    Each candidate learns from 80 % of the pictures and is evaluated by its mean average precision
    on the other 20 %; the best, or the first of ties, learns again from all.

    Parameters
    ----------
    candidates : sequence of models
        Unfitted; each is cloned and stays unchanged. With one there is nothing to choose.
    X : dense or CSR matrix
        One row per picture.
    y : labels, sets of labels, sparse relevance matrix or Relevance
        Which pictures are similar.
    held_out : float
        The share to hold out.
    random_state : int, Generator or None
        A seed makes the split repeatable.
    """
    if not len(candidates):
        raise InvalidInput("choose: there must be at least one candidate.")
    vectors = as_rows(X)
    figures: list[float] = []
    if len(candidates) > 1:
        relevance = Relevance.of(y, vectors.shape[0])
        learn, check = relevance.hold_out(held_out, generator(random_state))
        if not len(check):
            raise InvalidInput(
                "choose: too few pictures are related to hold some out. Give only one candidate."
            )
        for candidate in candidates:
            model = clone(candidate).fit(vectors[learn], part_of(y, learn))
            judged = evaluate_similarity(model, vectors[check], relevance.subset(check), cutoffs=())
            figures.append(judged.mean_average_precision)
    place = int(np.argmax(figures)) if figures else 0
    wall, cpu = time.perf_counter(), time.process_time()
    model = clone(candidates[place]).fit(vectors, y)
    return Choice(
        model, place, tuple(figures), time.perf_counter() - wall, time.process_time() - cpu
    )


def cross_validate(
    candidates: Sequence[Any],
    X: ArrayLike | sp.spmatrix,
    y: Any,
    folds: Sequence[Fold],
    *,
    cutoffs: Sequence[int] = CUTOFFS,
    random_state: RandomState = None,
    progress: Progress = silent,
) -> Result:
    """Choose and train on the training part of each fold, and evaluate on its test part.

    Parameters
    ----------
    candidates : sequence of models
        As for :func:`choose`; put a single model in a list.
    X : dense or CSR matrix
        One row per picture.
    y : labels, sets of labels, sparse relevance matrix or Relevance
        Which pictures are similar.
    folds : sequence of Fold
        As from :func:`class_folds`.
    cutoffs : sequence of int
        The k for precision at top k.
    random_state : int, Generator or None
        A seed makes the choice repeatable; the models have their own.
    progress : callable
        Called with the number of folds done and the total.
    """
    if not len(folds):
        raise InvalidInput("cross_validate: there must be at least one fold.")
    vectors = as_rows(X)
    rng = generator(random_state)
    judgements, choices = [], []
    for number, fold in enumerate(folds, start=1):
        choice = choose(
            candidates, vectors[fold.train_rows], part_of(y, fold.train_rows), random_state=rng
        )
        judgements.append(
            evaluate_similarity(
                choice.model,
                vectors[fold.test_rows],
                part_of(y, fold.test_rows),
                cutoffs=cutoffs,
            )
        )
        choices.append(choice)
        progress(number, len(folds))
    return Result(tuple(judgements), tuple(choices))


def part_of(y: Any, rows: NDArray[np.intp]) -> Any:
    """Return ``y`` for some of the pictures, in the form in which it was given."""
    if isinstance(y, Relevance):
        return y.subset(rows)
    if sp.issparse(y):
        matrix: Any = y
        return matrix.tocsr()[rows][:, rows]
    if isinstance(y, np.ndarray):
        return y[rows]
    return [y[row] for row in rows]

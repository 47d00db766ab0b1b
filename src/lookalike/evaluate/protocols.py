"""The experimental protocol of paper 1, section 5.3.2."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

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
    """A model chosen among candidates and trained.

    Attributes
    ----------
    model : object
        The best candidate, trained on everything given.
    place : int
        Which of the candidates it is.
    held_out : tuple of float
        Each candidate's mean average precision on the part held out; empty if there was only
        one candidate.
    wall_seconds, cpu_seconds : float
        What training the chosen one on everything took.
    """

    model: Any
    place: int
    held_out: tuple[float, ...]
    wall_seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Result:
    """What cross-validation found, an entry a fold."""

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
        """The time to train the chosen model, by the clock."""
        return Spread.of(choice.wall_seconds for choice in self.choices)

    @property
    def cpu_seconds(self) -> Spread:
        """The time to train the chosen model, over all cores."""
        return Spread.of(choice.cpu_seconds for choice in self.choices)


def class_folds(
    labels: Sequence[Any],
    *,
    train: int = 40,
    test: int = 25,
    folds: int = 5,
    random_state: RandomState = None,
) -> list[Fold]:
    """Draw from each class some pictures to train on and others to test on, several times.

    Parameters
    ----------
    labels : sequence
        One label a picture.
    train, test : int
        How many of each class; the paper takes 40 and 25.
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
        raise InvalidInput("class_folds: labels must name at least one class; got none.")
    small = [label for label, rows in members.items() if len(rows) < train + test]
    if small:
        raise InvalidInput(
            f"class_folds: each class must have {train} + {test} pictures; {len(small)} of "
            f"{len(members)} have fewer, as {small[0]!r} with {len(members[small[0]])}. "
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
    """Choose hyper-parameters on a part held out, then train again on everything.

    Each candidate learns from 80 % of the pictures and is judged by its mean average precision
    on the other 20 %; the best, the earlier among equals, learns again from all.

    Parameters
    ----------
    candidates : sequence of models
        Unfitted; each is cloned, so they stay as they are. With one there is nothing to choose.
    X : dense or CSR matrix
        A row a picture.
    y : labels, sets of labels, sparse relevance matrix or Relevance
        What is alike.
    held_out : float
        The share to judge by.
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
                "choose: too few pictures are alike to hold some out. Give one candidate only."
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
    """Choose and train on the training part of each fold, and judge on its test part.

    Parameters
    ----------
    candidates : sequence of models
        As for :func:`choose`; one model alone goes in a list.
    X : dense or CSR matrix
        A row a picture.
    y : labels, sets of labels, sparse relevance matrix or Relevance
        What is alike.
    folds : sequence of Fold
        As from :func:`class_folds`.
    cutoffs : sequence of int
        The k for precision at top k.
    random_state : int, Generator or None
        A seed makes the choosing repeatable; the models have their own.
    progress : callable
        Told the folds done and in all.
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
    """Return what is alike among some of the pictures, in the form it came in."""
    if isinstance(y, Relevance):
        return y.subset(rows)
    if sp.issparse(y):
        matrix: Any = y
        return matrix.tocsr()[rows][:, rows]
    if isinstance(y, np.ndarray):
        return y[rows]
    return [y[row] for row in rows]

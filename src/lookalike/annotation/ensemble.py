"""Rank words by several annotators together."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.annotation.base import Annotator, check_fitted
from lookalike.annotation.confidence import Confidence, enough
from lookalike.annotation.held_out import Split
from lookalike.annotation.lessons import Lessons
from lookalike.annotation.registry import ANNOTATORS
from lookalike.core import sparse as sp
from lookalike.core.checks import check_share
from lookalike.core.errors import InvalidInput, incomplete
from lookalike.core.json_files import load_json, save_json
from lookalike.core.progress import Progress
from lookalike.core.ranking import judge
from lookalike.core.seeds import RandomState
from lookalike.core.stored import NOT_WHOLE, Arrays, Learned
from lookalike.core.vectors import Vectors

MAX_TRIED = 1001
"""The most weightings to try: steps of a tenth for five models, coarser for more."""


class Ensemble(Annotator):
    """Score words by a weighted sum of models, Σ_m λ_m f_m(x).

    :meth:`fit` fits a copy of each model, finds the weights on held-out pictures, and reports the
    number of models fitted to ``progress``. It is saved as a folder with a file for each model.

    The ensembles of Weston, Bengio and Usunier (2010), Table 7: models, of different size for
    example, combined linearly, with the weights λ that rank the words of validation pictures best
    (the largest mean average precision), found by grid search. The grid is in units of the
    standard deviation of each model's scores there, so that equal shares have equal influence.

    Parameters
    ----------
    models : sequence of Annotator
        Fitted ones for :meth:`fit_weights`; or unfitted ones, which :meth:`fit` copies and fits.
    held_out : float
        The share of the pictures, at most 2,000, on which ``fit`` finds the weights.
    random_state : int, Generator or None
        Makes a run repeatable.

    Attributes
    ----------
    models_ : list of Annotator
        The fitted models.
    weights_ : ndarray of shape (models,)
        λ, in the units of the models' scores.

    Examples
    --------
    >>> from lookalike.annotation import WSABIE
    >>> X = np.array([[1, 0.1], [1, -0.1], [0.1, 1], [-0.1, 1]] * 9)
    >>> models = [WSABIE(dimension=d, held_out=0, random_state=d) for d in (2, 3)]
    >>> model = Ensemble(models, random_state=0).fit(X, ["cat", "cat", "dog", "dog"] * 9)
    >>> [model.words_[i] for i in model.rank([[0.0, 1.0]], k=2).words[0]]
    ['dog', 'cat']
    """

    name = "ensemble"

    models_: list[Annotator]
    weights_: NDArray[np.float32]

    def __init__(
        self,
        models: Sequence[Annotator] = (),
        *,
        held_out: float = 0.1,
        random_state: RandomState = None,
    ) -> None:
        self.models = models
        self.held_out = held_out
        self.random_state = random_state

    def fit_weights(self, X: ArrayLike | sp.spmatrix, y: Any) -> Self:
        """Find the weights of fitted models on pictures that they did not learn from."""
        models = self._given()
        for model in models:
            check_fitted(model)
        first = models[0]
        self._weigh(models, Lessons.judging("Ensemble", first.n_features_in_, first.words_, X, y))
        return self

    def scores(self, X: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the score of every word for each picture, of shape (pictures, words)."""
        checked = self._vectors(X)
        total = np.zeros((checked.shape[0], len(self.words_)), np.float32)
        for weight, model in zip(self.weights_, self.models_, strict=True):
            if weight:
                total += weight * model.scores(checked)
        return total

    def word_queries(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the weighted sum of the models' queries, Σ_m λ_m q_m, if all have them."""
        check_fitted(self)
        total = np.zeros((len(words), self.n_features_in_), np.float32)
        for weight, model in zip(self.weights_, self.models_, strict=True):
            if weight:
                total += weight * model.word_queries(words)
        return total

    def learn_chances(self, X: ArrayLike | sp.spmatrix, y: Any, others: Vectors) -> Self:
        """Do nothing: an ensemble keeps the confidence of its weighted scores."""
        return self

    def save(self, path: str | Path, *, fingerprint: str = "") -> None:
        """Save to a folder: a file for each model, and last ``ensemble.json``, which lists them."""
        _, learned = self._state()
        folder = Path(path)
        token = secrets.token_hex(4)
        names = [f"{number}-{token}.safetensors" for number in range(len(self.models_))]
        for name, model in zip(names, self.models_, strict=True):
            model.save(folder / name, fingerprint=fingerprint)
        index = {
            "kind": self.file_kind,
            "models": names,
            "weights": learned["weights"],
            "confidence": learned["confidence"],
            "fingerprint": fingerprint,
        }
        save_json(folder / "ensemble.json", index)
        for stale in set(folder.glob("*.safetensors")) - {folder / name for name in names}:
            stale.unlink()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load an ensemble from the folder that :meth:`save` wrote, or raise DamagedFile."""
        index_file = Path(path) / "ensemble.json"
        try:
            index = load_json(
                index_file, {"kind", "models", "weights", "confidence", "fingerprint"}
            )
            if index["kind"] != cls.file_kind:
                raise ValueError(f"it contains {index['kind']!r:.80}")
            names = [str(name) for name in index["models"]]
            if not names or any(Path(name).name != name for name in names):
                raise ValueError("a model is outside the folder, or there is none")
            ensemble = cls([ANNOTATORS.load(Path(path) / name) for name in names])
            ensemble._restore_own({}, index)
            ensemble.confidence_ = Confidence.read(index["confidence"])
            ensemble.fingerprint_ = str(index["fingerprint"])
        except NOT_WHOLE as error:
            raise incomplete(index_file, cls.__name__, error) from error
        return ensemble

    def _learn(self, split: Split, rng: np.random.Generator, progress: Progress) -> None:
        fitted: list[Annotator] = []
        for model in self._given():
            from_scratch = type(model)(**model.get_params(deep=False))
            fitted.append(from_scratch.fit(split.learned.vectors, split.learned.names()))
            progress(len(fitted), len(self.models))
        if split.judged is None:
            self._publish(fitted, np.ones(len(fitted), np.float32))
            self.confidence_ = None
        else:
            self._weigh(fitted, split.judged)

    def _own_state(self) -> tuple[Arrays, Learned]:
        return {}, {"weights": self.weights_.tolist()}

    def _restore_own(self, arrays: Arrays, learned: Learned) -> None:
        models = self._given()
        _check_alike(models)
        weights = np.array(learned["weights"], np.float32)
        if weights.shape != (len(models),) or not np.isfinite(weights).all():
            raise ValueError("there must be a finite weight for each model")
        self._publish(models, weights)

    def _check_parameters(self) -> None:
        check_share("Ensemble", "held_out", self.held_out)

    def _given(self) -> list[Annotator]:
        models = list(self.models)
        if not models or not all(isinstance(model, Annotator) for model in models):
            raise InvalidInput(
                f"Ensemble: models must be a list of annotators, at least one; got {models!r:.80}."
            )
        return models

    def _weigh(self, models: list[Annotator], judged: Lessons) -> None:
        _check_alike(models)
        rows = enough(len(judged), len(models[0].words_))
        vectors, has = judged.vectors[rows], judged.has[rows]
        scores = [model.scores(vectors) for model in models]
        spreads = np.array([max(float(table.std()), 1e-12) for table in scores])
        truth = has.toarray() > 0

        def quality(shares: NDArray[np.float64]) -> float:
            weights = (shares / spreads).astype(np.float32)
            total = sum(weight * table for weight, table in zip(weights, scores, strict=True))
            return judge(total, truth, cutoffs=(1,)).mean_average_precision

        best = max(_shares(len(models)), key=quality)
        self._publish(models, (best / spreads).astype(np.float32))
        self.confidence_ = self._confidence_from(judged)

    def _publish(self, models: list[Annotator], weights: NDArray[np.float32]) -> None:
        self.models_ = models
        self.weights_ = weights
        self.words_ = models[0].words_
        self.n_features_in_ = models[0].n_features_in_


def _check_alike(models: list[Annotator]) -> None:
    first = models[0]
    for model in models:
        if model.words_ != first.words_ or model.n_features_in_ != first.n_features_in_:
            raise InvalidInput(
                "Ensemble: all models must have learned the same words in the same order, from "
                "vectors of the same width. Fit them on the same pictures."
            )


def _shares(models: int) -> Iterator[NDArray[np.float64]]:
    """Return all divisions of 1 among models in steps of at least a tenth; even ones first."""
    steps = next(
        steps for steps in range(10, 0, -1) if comb(steps + models - 1, steps) <= MAX_TRIED
    )
    yield np.full(models, 1 / models)
    for bars in combinations(range(steps + models - 1), models - 1):
        edges = np.array([-1, *bars, steps + models - 1])
        yield (np.diff(edges) - 1) / steps

"""The base class of similarities in kernels: one operator for each kernel, and their weights."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.core.checks import check_number, check_share, check_whole, is_number
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.ranking import judge
from lookalike.core.seeds import RandomState, generator, loop_state
from lookalike.core.stored import Arrays, Learned
from lookalike.core.vectors import check_vectors, unit_rows
from lookalike.similarity.base import Similarity, check_triplets, stored_array
from lookalike.similarity.blend import project_positive
from lookalike.similarity.kernels import Floats
from lookalike.similarity.operator import (
    Axes,
    Coordinates,
    Source,
    choose_landmarks,
    cut_together,
    dense_rows,
    kernel_values,
    learn_operator,
    step_mapped,
)
from lookalike.supervision import Relevance, TripletSampler

MOST_VALUES = 1 << 24
"""Kernel values in memory at once."""

Combine: TypeAlias = Literal["views", "hedge", "uniform", "validation", "best", "average"]
Validation: TypeAlias = tuple[Floats, NDArray[np.uint32], NDArray[Any], Relevance | None]


class KernelLearner(Similarity):
    """Compare pictures by operators learned in the spaces of kernels, weighted.

    A subclass has the settings and tells the kernels.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n, d)
        The pictures whose kernel values describe every other.
    sources_ : list of Source
        The kernels, with their views, names and bandwidths.
    weights_ : ndarray of shape (m,)
        The weight of each; they sum to 1.
    mistakes_ : ndarray of shape (m,)
        The triplets that each had in the wrong order when it met them: Σ z of Algorithm 2, or
        their number for the whole view.
    steps_ : int
        Triplets learned from.
    """

    learns_from: ClassVar[tuple[str, ...]] = ("classes", "labels", "relevance", "triplets")

    aggressiveness: float
    steps: int
    positive: bool
    normalize: bool
    blend: float
    landmarks: int
    dimension: int
    random_state: RandomState
    combine: Combine = "uniform"
    discount: float | None = None
    held_out: float = 0.2

    landmarks_: Floats
    sources_: list[Source]
    weights_: NDArray[np.float64]
    mistakes_: NDArray[np.int64]
    steps_: int
    _axes: list[Axes]

    @abstractmethod
    def _sources(self, width: int) -> list[Source]:
        """Return the kernels for vectors of a width, before their bandwidths are known."""

    def fit(
        self, X: ArrayLike | sp.spmatrix, y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Learn from vectors and which of them are similar, as a Relevance or what makes one."""
        self._check_parameters()
        who = type(self).__name__
        rows = dense_rows(check_vectors(who, X))
        relevance = Relevance.of(y, n=len(rows))
        why = relevance.trainable()
        if why:
            raise InvalidInput(f"{who} cannot learn from this: {why}")
        rng = generator(self.random_state)
        triplets = TripletSampler(relevance).draw(loop_state(rng), self.steps)
        validation = None
        if self._validates:
            kept, held = relevance.hold_out(self.held_out, rng)
            if len(held) and relevance.subset(kept).trainable() is None:
                some = TripletSampler(relevance.subset(kept)).draw(loop_state(rng), self.steps)
                validation = rows[kept], some, rows[held], relevance.subset(held)
        return self._learn(rows, triplets, validation, rng, progress)

    def fit_triplets(
        self, X: ArrayLike | sp.spmatrix, triplets: ArrayLike, *, progress: Progress = silent
    ) -> Self:
        """Learn from explicit triplets, each once and in order, as the algorithms are printed."""
        self._check_parameters()
        who = type(self).__name__
        rows = dense_rows(check_vectors(who, X))
        checked = check_triplets(who, triplets, len(rows))
        if not len(checked):
            raise InvalidInput(f"{who}: triplets must have at least one row; got none.")
        rng = generator(self.random_state)
        validation = None
        count = round(self.held_out * len(checked))
        if self._validates and 0 < count < len(checked):
            order = rng.permutation(len(checked))
            validation = rows, checked[np.sort(order[count:])], checked[order[:count]], None
        return self._learn(rows, checked, validation, rng, progress)

    def partial_fit(self, X: ArrayLike | sp.spmatrix, triplets: ArrayLike) -> Self:
        """Continue from the current similarity, one step for each triplet, in order.

        Stored vectors stay as they are: the steps are taken on what is stored of the pictures, and
        change queries and weights. Before ``fit``, the rows of ``X`` are the landmarks, and it
        starts from the identity.
        """
        self._check_parameters()
        who = type(self).__name__
        fitted = hasattr(self, "landmarks_")
        rows = dense_rows(self._vectors(X) if fitted else check_vectors(who, X))
        checked = check_triplets(who, triplets, len(rows))
        start = self if fitted else self._start(rows)
        margins, turned = [], []
        for block, axes in zip(start._blocks(rows), start._axes, strict=True):  # noqa: SLF001
            turn = np.eye(block.shape[1]) if axes.turn is None else axes.turn
            turn = np.ascontiguousarray(turn, dtype=np.float32).copy()
            margins.append(step_mapped(block, turn, checked, self.aggressiveness))
            if self.positive and len(turn):
                turn = project_positive(turn)
            turned.append(replace(axes, turn=turn))
        if not all(np.isfinite(one.turn).all() for one in turned if one.turn is not None):
            raise InvalidInput(
                f"{who}: these triplets would make the similarity infinite, so nothing was "
                f"learned. Scale the vectors to unit length."
            )
        mistakes = start.mistakes_ + self._mistakes(start.sources_, margins)
        steps = start.steps_ + len(checked)
        weights = start.weights_
        if self.combine in ("hedge", "views"):
            weights = self._hedged(start.sources_, mistakes, steps)
        return self._publish(start.landmarks_, start.sources_, turned, weights, mistakes, steps)

    def stored_vectors(self, P: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return what is stored: a block for each kernel, at unit length if normalised; dense."""
        return _side_by_side(self._blocks(dense_rows(self._vectors(P))))

    def query_vectors(self, Q: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the vectors to search with: each block turned, and times its kernel's weight."""
        return _side_by_side(self._asked(dense_rows(self._vectors(Q))))

    def parts(
        self, q: ArrayLike | sp.spmatrix, p: ArrayLike | sp.spmatrix
    ) -> dict[str, NDArray[np.float32]]:
        """Return what each kernel adds to the scores, by its name."""
        asked, stored = (
            self._asked(dense_rows(self._vectors(q))),
            self._blocks(dense_rows(self._vectors(p))),
        )
        names = [source.name for source in self.sources_]
        return {
            name: np.asarray(one @ other.T, dtype=np.float32)
            for name, one, other in zip(names, asked, stored, strict=True)
        }

    def view_parts(
        self, q: ArrayLike | sp.spmatrix, p: ArrayLike | sp.spmatrix
    ) -> dict[str, NDArray[np.float32]]:
        """Return what each view adds to the scores: the sum over its kernels."""
        found = self.parts(q, p)
        views: dict[str, NDArray[np.float32]] = {}
        for source in self.sources_:
            views[source.view] = views.get(source.view, np.float32(0)) + found[source.name]
        return views

    @property
    def view_weights_(self) -> dict[str, float]:
        """The weight of each view: the sum over its kernels."""
        self._width()
        weights: dict[str, float] = {}
        for source, weight in zip(self.sources_, self.weights_, strict=True):
            weights[source.view] = weights.get(source.view, 0.0) + float(weight)
        return weights

    @property
    def _validates(self) -> bool:
        return self.combine in ("validation", "best")

    def _learn(
        self,
        rows: Floats,
        triplets: NDArray[np.uint32],
        validation: Validation | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Self:
        total = len(self._sources(rows.shape[1])) * (2 if validation else 1)
        done = 0

        def told() -> None:
            nonlocal done
            done += 1
            progress(done, total)

        worth = None
        if validation is not None:
            kept, some, held, judges = validation
            sources, axes, _, chosen = self._operators(kept, some, rng, told)
            worth = self._worth(sources, axes, kept, kept[chosen], held, judges)
        sources, axes, margins, chosen = self._operators(rows, triplets, rng, told)
        mistakes = self._mistakes(sources, margins)
        weights = self._weights(sources, mistakes, len(triplets), worth)
        kept_axes = cut_together(axes, weights, self.dimension)
        return self._publish(rows[chosen], sources, kept_axes, weights, mistakes, len(triplets))

    def _operators(
        self,
        rows: Floats,
        triplets: NDArray[np.uint32] | None,
        rng: np.random.Generator,
        told: Any,
    ) -> tuple[list[Source], list[Axes], list[Floats], NDArray[np.intp]]:
        """Learn the operator of every kernel; return also the margins and the landmarks' rows."""
        who = type(self).__name__
        if (rows == rows[:1]).all():
            raise InvalidInput(f"{who}: vectors must differ; all {len(rows)} rows are the same.")
        chosen = choose_landmarks(rows, self.landmarks, rng)
        sources = [one.fitted(who, rows) for one in self._sources(rows.shape[1])]
        axes, margins = [], []
        for source in sources:
            found = Coordinates.of(who, source, rows, chosen)
            W = None
            if triplets is not None:
                W, margin = learn_operator(found, triplets, self.aggressiveness)
                margins.append(margin)
                if not np.isfinite(W).all():
                    raise InvalidInput(
                        f"{who}: what is learned with the kernel {source.name} would not stay "
                        f"finite. Scale the vectors to unit length, or lower aggressiveness."
                    )
            blend = self.blend if self.positive else None
            axes.append(Axes.of(found, W, blend, self.normalize).cut(self.dimension))
            told()
        return sources, axes, margins, chosen

    def _start(self, rows: Floats) -> Self:
        """Return the similarity before it has learned: L = I, for every kernel."""
        rng = generator(self.random_state)
        sources, axes, _, chosen = self._operators(rows, None, rng, lambda: None)
        mistakes = np.zeros(len(sources), dtype=np.int64)
        weights = np.full(len(sources), 1 / len(sources))
        start = type(self)(**self.get_params())
        kept = cut_together(axes, weights, self.dimension)
        return start._publish(rows[chosen], sources, kept, weights, mistakes, 0)

    def _mistakes(self, sources: Sequence[Source], margins: list[Floats]) -> NDArray[np.int64]:
        """Return the triplets in the wrong order for each kernel, or for its view as a whole."""
        judged = margins
        if self.combine == "views":
            views = [source.view for source in sources]
            judged = [
                np.sum(
                    [one for one, its in zip(margins, views, strict=True) if its == view], axis=0
                )
                for view in views
            ]
        return np.array([np.count_nonzero(~(one > 0)) for one in judged], dtype=np.int64)

    def _weights(
        self,
        sources: Sequence[Source],
        mistakes: NDArray[np.int64],
        steps: int,
        worth: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]:
        if self.combine in ("hedge", "views"):
            return self._hedged(sources, mistakes, steps)
        if worth is None:
            return np.full(len(sources), 1 / len(sources))
        if self.combine == "best":
            return np.eye(len(sources))[int(worth.argmax())]
        return np.exp(worth) / np.exp(worth).sum()

    def _hedged(
        self, sources: Sequence[Source], mistakes: NDArray[np.int64], steps: int
    ) -> NDArray[np.float64]:
        """Return β to the number of mistakes, as shares; kernels of a view share its weight."""
        views = [source.view for source in sources]
        sizes = np.array([views.count(view) for view in views]) if self.combine == "views" else 1
        hedged = len(set(views)) if self.combine == "views" else len(sources)
        beta = self.discount
        if beta is None:
            beta = np.sqrt(steps) / (np.sqrt(steps) + np.sqrt(np.log(hedged))) if steps else 1.0
        # From the fewest mistakes on, so that not every power is 0.
        powers = np.exp(np.log(beta) * (mistakes - mistakes.min())) / sizes
        return np.asarray(powers / powers.sum())

    def _worth(
        self,
        sources: list[Source],
        axes: list[Axes],
        rows: Floats,
        landmarks: Floats,
        held: NDArray[Any],
        judges: Relevance | None,
    ) -> NDArray[np.float64]:
        """Return the mean average precision of each kernel, or its share of right triplets."""
        who = type(self).__name__
        pictures = held if judges is not None else rows
        blocks = _mapped(who, sources, axes, pictures, landmarks, unit=self.normalize)
        figures = []
        for block, one in zip(blocks, axes, strict=True):
            asked = block if one.turn is None else block @ one.turn
            if judges is None:
                image, more, less = (held[:, column] for column in range(3))
                right = np.einsum("ij,ij->i", asked[image], block[more] - block[less]) > 0
                figures.append(float(right.mean()))
            else:
                relevant = judges.rows(np.arange(len(held)))
                np.fill_diagonal(relevant, False)
                scores = np.ascontiguousarray(asked @ block.T, dtype=np.float32)
                found = judge(scores, relevant, own=np.arange(len(held)), cutoffs=(1,))
                figures.append(found.mean_average_precision)
        return np.array(figures)

    def _blocks(self, rows: Floats) -> list[Floats]:
        """Return what is stored of pictures, for each kernel."""
        who = type(self).__name__
        return _mapped(who, self.sources_, self._axes, rows, self.landmarks_, unit=self.normalize)

    def _asked(self, rows: Floats) -> list[Floats]:
        blocks = self._blocks(rows)
        turned = [
            block if axes.turn is None else block @ axes.turn
            for block, axes in zip(blocks, self._axes, strict=True)
        ]
        return [one * np.float32(it) for one, it in zip(turned, self.weights_, strict=True)]

    def _publish(
        self,
        landmarks: Floats,
        sources: list[Source],
        axes: list[Axes],
        weights: NDArray[np.float64],
        mistakes: NDArray[np.int64],
        steps: int,
    ) -> Self:
        if not sum(one.map.shape[1] for one in axes):
            raise InvalidInput(
                f"{type(self).__name__}: vectors must differ to the kernels; all values are 0. "
                f"Multiply all vectors by a constant."
            )
        self.landmarks_ = np.ascontiguousarray(landmarks)
        self.sources_ = sources
        self.weights_ = weights
        self.mistakes_ = mistakes
        self.steps_ = int(steps)
        self.n_features_in_ = landmarks.shape[1]
        self._axes = axes
        return self

    def _state(self) -> tuple[Arrays, Learned]:
        self._width()
        if any(kernel.function is not None for one in self.sources_ for _, kernel in one.kernels):
            raise InvalidInput(
                f"{type(self).__name__}: a kernel that is a callable cannot be saved. Use kernels "
                f"by name."
            )
        arrays: Arrays = {
            "landmarks": self.landmarks_,
            "map": np.ascontiguousarray(np.hstack([one.map for one in self._axes])),
        }
        turned = any(one.turn is not None for one in self._axes)
        if turned:
            flat = [np.ravel(one.turn) for one in self._axes if one.turn is not None]
            arrays["turn"] = np.concatenate(flat)
        learned = {
            "width": self.n_features_in_,
            "widths": [int(one.map.shape[1]) for one in self._axes],
            "bandwidths": [
                [kernel.bandwidth for _, kernel in one.kernels] for one in self.sources_
            ],
            "weights": self.weights_.tolist(),
            "mistakes": self.mistakes_.tolist(),
            "steps": self.steps_,
            "turned": turned,
        }
        return arrays, learned

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        landmarks, to = stored_array(arrays, "landmarks", 2), stored_array(arrays, "map", 2)
        width, widths = int(learned["width"]), [int(one) for one in learned["widths"]]
        sources = self._sources(width)
        weights = np.array([float(one) for one in learned["weights"]])
        mistakes = np.array([int(one) for one in learned["mistakes"]], dtype=np.int64)
        steps, turned = int(learned["steps"]), learned["turned"]
        if landmarks.shape[1] != width or to.shape != (len(landmarks), sum(widths)):
            raise ValueError(f"landmarks are of shape {landmarks.shape}, map of {to.shape}.")
        if min(widths) < 0 or len(widths) != len(sources) or not isinstance(turned, bool):
            raise ValueError(f"widths are {widths} for {len(sources)} kernels.")
        if not len(weights) == len(mistakes) == len(sources) or steps < 0 or mistakes.min() < 0:
            raise ValueError(f"weights are {weights}, mistakes {mistakes} in {steps} steps.")
        if not (weights >= 0).all() or not abs(weights.sum() - 1) < 1e-6:
            raise ValueError(f"weights are {weights}.")
        turns: list[Floats | None] = [None] * len(widths)
        if turned:
            flat = stored_array(arrays, "turn", 1)
            ends = np.cumsum([one * one for one in widths])
            if len(flat) != ends[-1]:
                raise ValueError(f"turn has {len(flat)} numbers, expected {ends[-1]}.")
            parts = np.split(flat, ends[:-1])
            turns = [
                np.ascontiguousarray(part.reshape(size, size))
                for part, size in zip(parts, widths, strict=True)
            ]
        maps = np.split(to, np.cumsum(widths)[:-1], axis=1)
        axes = [
            Axes(np.ascontiguousarray(one), turn, np.ones(one.shape[1]))
            for one, turn in zip(maps, turns, strict=True)
        ]
        fitted = [
            source.with_bandwidths(bandwidths)
            for source, bandwidths in zip(sources, learned["bandwidths"], strict=True)
        ]
        self._publish(landmarks, fitted, axes, weights, mistakes, steps)

    def _check_parameters(self) -> None:
        who = type(self).__name__
        self._sources_checked(who)
        check_number(who, "aggressiveness", self.aggressiveness)
        check_whole(who, "steps", self.steps, 1)
        check_whole(who, "landmarks", self.landmarks, 1)
        check_whole(who, "dimension", self.dimension, 1)
        if not is_number(self.blend) or not 0 <= self.blend <= 1:
            raise InvalidInput(f"{who}: blend must be from 0 to 1; got {self.blend!r:.80}.")
        if self.normalize and not self.positive:
            raise InvalidInput(
                f"{who}: normalize needs positive; otherwise a picture's score with itself could "
                f"be below 0. Set positive=True."
            )
        if self.discount is not None:
            check_number(who, "discount", self.discount, below=1)
        check_share(who, "held_out", self.held_out)
        generator(self.random_state)

    @abstractmethod
    def _sources_checked(self, who: str) -> None:
        """Raise InvalidInput if the kernels or what combines them are not valid."""


def _mapped(
    who: str,
    sources: list[Source],
    axes: list[Axes],
    rows: Floats,
    landmarks: Floats,
    *,
    unit: bool,
) -> list[Floats]:
    """Return k(x) @ map for each kernel, at unit length if asked, some rows at a time."""
    kept = [source for source, one in zip(sources, axes, strict=True) if one.map.shape[1]]
    blocks = [np.empty((len(rows), one.map.shape[1]), np.float32) for one in axes]
    step = max(1, MOST_VALUES // max(1, len(landmarks) * len(kept)))
    for start in range(0, len(rows), step):
        values = kernel_values(who, kept, rows[start : start + step], landmarks)
        for source, one, block in zip(sources, axes, blocks, strict=True):
            if source.name in values:
                mapped = values[source.name] @ one.map
                block[start : start + step] = unit_rows(mapped) if unit else mapped
    return blocks


def _side_by_side(blocks: list[Floats]) -> Floats:
    return np.ascontiguousarray(np.hstack(blocks), dtype=np.float32)

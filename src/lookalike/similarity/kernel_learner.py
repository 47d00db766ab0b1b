"""The base class of similarities in kernels: one operator for each kernel, and their weights."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.core.checks import check_number, check_share, check_whole, is_number
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.seeds import RandomState, generator, loop_state
from lookalike.core.stored import Arrays, Learned, stored_whole
from lookalike.core.threads import one_blas_thread
from lookalike.core.vectors import check_vectors
from lookalike.similarity.base import Similarity, check_triplets
from lookalike.similarity.blend import project_positive
from lookalike.similarity.held_out import CLASSES_TO_HOLD_OUT, HeldOutPictures
from lookalike.similarity.kernel_state import KernelState, view_whitening, whitened_views
from lookalike.similarity.kernel_weights import CHOSEN, Combine, Weighing, kernel_worth
from lookalike.similarity.kernels import Floats
from lookalike.similarity.operator import (
    Axes,
    Coordinates,
    Source,
    choose_landmarks,
    cut_together,
    dense_rows,
    learn_operator,
    step_mapped,
    views_in,
)
from lookalike.similarity.reach import Reach, kinds_of, reach_of_rows
from lookalike.supervision import Relevance, TripletSampler

SHARES = (0.1, 0.9)
"""The shares of kernels that compare what is near, far from what was taught and near to it."""

HALF = 0.5
"""The power of the spectrum of the kernels that serve queries far from what was taught."""


@dataclass(frozen=True)
class Lesson:
    """What to learn from: rows, triplets of them, and which are related where that is known."""

    rows: Floats
    triplets: NDArray[np.uint32] | None
    relevance: Relevance | None = None


Validation: TypeAlias = tuple[Lesson, NDArray[Any], Relevance | None]
"""What to learn from, and the rows or the triplets to judge by."""


class KernelLearner(Similarity):
    """Compare pictures by operators learned in the spaces of kernels, weighted.

    A subclass has the settings and tells the kernels.

    Attributes
    ----------
    weights_ : ndarray of shape (m,)
        The weight of each kernel; they sum to 1.
    names_ : list of str
        The kernels by name, with their views.
    mistakes_ : ndarray of shape (m,)
        The triplets that each kernel, or its view, had in the wrong order when it met them: Σ z of
        Algorithm 2.
    steps_ : int
        Triplets learned from.
    landmarks_ : ndarray of shape (n, d)
        The pictures whose kernel values describe every other, as kernels compare them.
    """

    learns_from: ClassVar[tuple[str, ...]] = ("classes", "labels", "relevance", "triplets")

    aggressiveness: float
    steps: int
    positive: bool
    normalize: bool
    blend: float | None
    landmarks: int
    dimension: int
    random_state: RandomState
    combine: Combine = "uniform"
    discount: float | Literal["chosen"] | None = None
    held_out: float = 0.2

    _learned: KernelState

    @abstractmethod
    def _sources(self, width: int) -> list[Source]:
        """Return the kernels for vectors of a width, before their bandwidths are known."""

    @one_blas_thread()
    def fit(
        self, X: ArrayLike | sp.spmatrix, y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Learn from vectors and which of them are similar, as a Relevance or what makes one."""
        who = type(self).__name__
        rows = dense_rows(self._given(X))
        relevance = Relevance.of(y, n=len(rows))
        why = relevance.trainable()
        if why:
            raise InvalidInput(f"{who} cannot learn from this: {why}")
        rng = generator(self.random_state)
        triplets = TripletSampler(relevance).draw(loop_state(rng), self.steps)
        lesson = Lesson(rows, triplets, relevance)
        if self.discount == CHOSEN and self._weighing.counts_mistakes:
            return self._learn_chosen(lesson, rng, progress)
        validation = None
        if self._weighing.validates:
            kept, held = relevance.hold_out(self.held_out, rng)
            if len(held) and relevance.subset(kept).trainable() is None:
                some = TripletSampler(relevance.subset(kept)).draw(loop_state(rng), self.steps)
                first = Lesson(rows[kept], some, relevance.subset(kept))
                validation = first, rows[held], relevance.subset(held)
        return self._learn(lesson, validation, rng, progress)

    @one_blas_thread()
    def fit_triplets(
        self, X: ArrayLike | sp.spmatrix, triplets: ArrayLike, *, progress: Progress = silent
    ) -> Self:
        """Learn from explicit triplets, each once and in order, as the algorithms are printed."""
        who = type(self).__name__
        rows = dense_rows(self._given(X))
        checked = check_triplets(who, triplets, len(rows))
        if not len(checked):
            raise InvalidInput(f"{who}: triplets must have at least one row; got none.")
        rng = generator(self.random_state)
        validation = None
        count = round(self.held_out * len(checked))
        if self._weighing.validates and 0 < count < len(checked):
            order = rng.permutation(len(checked))
            validation = Lesson(rows, checked[np.sort(order[count:])]), checked[order[:count]], None
        return self._learn(Lesson(rows, checked), validation, rng, progress)

    def partial_fit(self, X: ArrayLike | sp.spmatrix, triplets: ArrayLike) -> Self:
        """Continue from the current similarity, one step for each triplet, in order.

        Stored vectors stay as they are: the steps are taken on what is stored of the pictures, and
        change queries and weights. Before ``fit``, the rows of ``X`` are the landmarks, and it
        starts from the identity.
        """
        self._check_parameters()
        who = type(self).__name__
        fitted = hasattr(self, "_learned")
        rows = dense_rows(self._vectors(X) if fitted else check_vectors(who, X))
        checked = check_triplets(who, triplets, len(rows))
        before = self._learned if fitted else self._start(rows)
        margins, moved = [], []
        blocks = before.blocks(who, rows, unit=self.normalize)
        for block, axes in zip(blocks, before.axes, strict=True):
            turn = np.eye(axes.width, dtype=np.float32) if axes.turn is None else axes.turn.copy()
            margins.append(step_mapped(block, turn, checked, self.aggressiveness))
            if not np.isfinite(turn).all():
                raise InvalidInput(
                    f"{who}: these triplets would make the similarity infinite, so nothing was "
                    f"learned. Scale the vectors to unit length."
                )
            positive = self.positive and axes.width
            moved.append(replace(axes, turn=project_positive(turn) if positive else turn))
        mistakes = before.mistakes + self._weighing.mistakes(before.sources, margins)
        steps = before.steps + len(checked)
        weights = before.weights
        if self._weighing.counts_mistakes:
            weights = self._weighing.hedged(before.sources, mistakes, steps, before.discount)
            weights = np.where(before.weights > 0, weights, 0)
            weights /= weights.sum()
        reach = before.reach
        if reach is not None:
            reach = reach.with_landmarks(before.whitened(rows[np.unique(checked[:, 0])]))
        return self._publish(
            replace(
                before, axes=moved, weights=weights, mistakes=mistakes, steps=steps, reach=reach
            )
        )

    def stored_vectors(self, P: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return what is stored: a block for each kernel, at unit length if normalised; dense."""
        return np.hstack(self._blocks(P))

    def query_vectors(self, Q: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the vectors to search with: each block turned, and times its kernel's weight."""
        return np.hstack(self._query_values(Q))

    def parts(
        self, q: ArrayLike | sp.spmatrix, p: ArrayLike | sp.spmatrix
    ) -> dict[str, NDArray[np.float32]]:
        """Return what each kernel adds to the scores, by its name."""
        blocks = zip(self.names_, self._query_values(q), self._blocks(p), strict=True)
        return {name: np.asarray(one @ other.T, np.float32) for name, one, other in blocks}

    def view_parts(
        self, q: ArrayLike | sp.spmatrix, p: ArrayLike | sp.spmatrix
    ) -> dict[str, NDArray[np.float32]]:
        """Return what each view adds to the scores: the sum over its kernels."""
        views: dict[str, NDArray[np.float32]] = {}
        for source, part in zip(self._learned.sources, self.parts(q, p).values(), strict=True):
            views[source.view] = part + views[source.view] if source.view in views else part
        return views

    def reach(self, Q: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the share of the kernels that compare what is near, for each query; else 1."""
        rows = dense_rows(self._vectors(Q))
        if self._learned.reach is None:
            return np.ones(len(rows), dtype=np.float32)
        return self._learned.reach.shares(self._learned.whitened(rows))

    @property
    def weights_(self) -> NDArray[np.float64]:
        """The weight of each kernel; they sum to 1."""
        self._width()
        return self._learned.weights

    @property
    def view_weights_(self) -> dict[str, float]:
        """The weight of each view: the sum over its kernels."""
        weights: dict[str, float] = {}
        for weight, source in zip(self.weights_, self._learned.sources, strict=True):
            weights[source.view] = weights.get(source.view, 0.0) + float(weight)
        return weights

    @property
    def names_(self) -> list[str]:
        """The kernels by name, with their views."""
        self._width()
        return [source.name for source in self._learned.sources]

    @property
    def mistakes_(self) -> NDArray[np.int64]:
        """The triplets that each kernel, or its view, had in the wrong order."""
        self._width()
        return self._learned.mistakes

    @property
    def steps_(self) -> int:
        """Triplets learned from."""
        self._width()
        return self._learned.steps

    @property
    def landmarks_(self) -> Floats:
        """The pictures whose kernel values describe every other."""
        self._width()
        return self._learned.landmarks

    def _learn(
        self,
        lesson: Lesson,
        validation: Validation | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Self:
        total = len(self._sources(lesson.rows.shape[1])) * (2 if validation else 1)
        count = iter(range(1, total + 1))

        def advance() -> None:
            progress(next(count), total)

        worth = None
        if validation is not None:
            first, held, judges = validation
            learned, _ = self._operators(first, rng, advance)
            rows = first.rows if judges is None else held
            who, unit = type(self).__name__, self.normalize
            queries = learned.query_values(who, rows, unit=unit)
            stored = learned.blocks(who, rows, unit=unit)
            worth = kernel_worth(queries, stored, held, judges)
        learned, margins = self._operators(lesson, rng, advance)
        mistakes = self._weighing.mistakes(learned.sources, margins)
        steps = 0 if lesson.triplets is None else len(lesson.triplets)
        weights = self._weighing.weights(learned.sources, mistakes, steps, worth)
        return self._settle(learned, weights, mistakes, steps)

    def _learn_chosen(self, lesson: Lesson, rng: np.random.Generator, progress: Progress) -> Self:
        """Choose β and the kernels, or views, that count, on held-out pictures; learn those."""
        sources = self._sources(lesson.rows.shape[1])
        groups = self._weighing.groups(sources)
        some, discount, total = list(dict.fromkeys(groups)), None, len(sources)
        if len(some) > 1 and lesson.relevance is not None:
            result = self._choose(lesson.rows, lesson.relevance, rng, progress)
            if result is not None:
                some, discount = result
        used = np.array([group in some for group in groups])
        done = iter(range(total + 1, 2 * total + 1))
        learned, margins = self._operators(
            lesson, rng, lambda: progress(next(done), 2 * total), used
        )
        mistakes = self._weighing.mistakes(learned.sources, margins)
        steps = 0 if lesson.triplets is None else len(lesson.triplets)
        weights = np.where(
            used, self._weighing.hedged(learned.sources, mistakes, steps, discount), 0
        )
        weights /= weights.sum()
        return self._settle(learned, weights, mistakes, steps, discount)

    def _settle(
        self,
        learned: KernelState,
        weights: NDArray[np.float64],
        mistakes: NDArray[np.int64],
        steps: int,
        discount: float | None = None,
    ) -> Self:
        return self._publish(
            replace(
                learned,
                axes=cut_together(learned.axes, weights, self.dimension),
                weights=weights,
                mistakes=mistakes,
                steps=steps,
                discount=discount,
            )
        )

    def _choose(
        self,
        rows: Floats,
        relevance: Relevance,
        rng: np.random.Generator,
        progress: Progress,
    ) -> tuple[list[str], float | None] | None:
        """Return the groups of kernels that count and β, by pictures held out; None without any."""
        kinds = kinds_of(rows, relevance, CLASSES_TO_HOLD_OUT, rng)
        judge = HeldOutPictures.choose(rows, relevance, self.held_out, rng, kinds=kinds)
        if judge is None:
            return None
        who, own = type(self).__name__, relevance.subset(judge.kept)
        triplets = TripletSampler(own).draw(loop_state(rng), self.steps)
        sources = self._sources(rows.shape[1])
        count = iter(range(1, len(sources) + 1))
        learned, margins = self._operators(
            Lesson(rows[judge.kept], triplets, own),
            rng,
            lambda: progress(next(count), 2 * len(sources)),
        )
        mistakes = self._weighing.mistakes(learned.sources, margins)
        groups = np.array(self._weighing.groups(sources))
        scores: dict[str, Floats] = {}
        pairs = zip(
            groups.tolist(),
            learned.query_values(who, rows[judge.rows], unit=self.normalize),
            learned.blocks(who, rows[judge.rows], unit=self.normalize),
            strict=True,
        )
        for group, one, other in pairs:
            part = (one @ other.T) * np.float32(len(groups) / np.count_nonzero(groups == group))
            scores[group] = part + scores[group] if group in scores else part
        return self._weighing.choose(scores, judge, sources, mistakes, self.steps)

    def _operators(
        self,
        lesson: Lesson,
        rng: np.random.Generator,
        report: Callable[[], None],
        used: NDArray[np.bool_] | None = None,
    ) -> tuple[KernelState, list[Floats]]:
        """Learn the operator of every kernel; return them at equal weights, and the margins.

        Without triplets they are the identity. Kernels that are not ``used`` are not learned, have
        no axes, and all their triplets are wrong; a whitened view without any used is 0.
        """
        who, triplets = type(self).__name__, lesson.triplets
        if (lesson.rows == lesson.rows[:1]).all():
            raise InvalidInput(
                f"{who}: vectors must differ; all {len(lesson.rows)} rows are the same."
            )
        A = self._whitening(lesson)
        plain = self._sources(lesson.rows.shape[1])
        if used is None:
            used = np.ones(len(plain), dtype=np.bool_)
        elif A is not None:
            kept = views_in([one for one, is_used in zip(plain, used, strict=True) if is_used])
            for at in views_in(plain):
                A[at, at] *= at in kept
        rows = lesson.rows if A is None else whitened_views(lesson.rows, A, plain)
        reach = self._reach(rows, lesson.relevance, plain, rng)
        chosen = choose_landmarks(rows, self.landmarks, rng)
        sources = [one.fitted(who, rows) for one in plain]
        axes, margins = list[Axes](), list[Floats]()
        for source, is_used in zip(sources, used, strict=True):
            if not is_used:
                none = np.zeros((len(chosen), 0), dtype=np.float32)
                axes.append(Axes(none, None, np.zeros(0)))
                margins.append(np.zeros(0 if triplets is None else len(triplets), np.float32))
                report()
                continue
            coordinates = Coordinates.of(who, source, rows, chosen)
            W = None
            if triplets is not None:
                W, margin = learn_operator(coordinates, triplets, self.aggressiveness)
                margins.append(margin)
                if not np.isfinite(W).all():
                    raise InvalidInput(
                        f"{who}: what is learned with the kernel {source.name} would not stay "
                        f"finite. Scale the vectors to unit length, or lower aggressiveness."
                    )
            blend = self.blend
            if blend is None:
                blend = 1.0 if reach is not None and source.is_local else HALF
            whole = Axes.of(coordinates, W, blend if self.positive else None, self.normalize)
            axes.append(whole.cut(self.dimension))
            report()
        weights = np.full(len(sources), 1 / len(sources))
        unmet = np.zeros(len(sources), dtype=np.int64)
        return KernelState(rows[chosen], sources, axes, weights, unmet, 0, A, reach), margins

    def _whitening(self, lesson: Lesson) -> Floats | None:
        """Return what whitens each view by how related pictures differ, or None for none."""
        sources = self._sources(lesson.rows.shape[1])
        for_any = all(kernel.is_for_any for source in sources for _, kernel in source.kernels)
        if lesson.relevance is None or not self.normalize or not for_any:
            return None
        return view_whitening(lesson.rows, lesson.relevance, sources)

    def _reach(
        self,
        rows: Floats,
        relevance: Relevance | None,
        sources: Sequence[Source],
        rng: np.random.Generator,
    ) -> Reach | None:
        """Return the rule by which kernels that compare what is near count, or None for none."""
        both = len({one.is_local for one in sources}) == 2
        if relevance is None or self.blend is not None or not self.normalize or not both:
            return None
        return reach_of_rows(rows, relevance, SHARES, rng)

    @property
    def _weighing(self) -> Weighing:
        return Weighing(self.combine, self.discount)

    def _start(self, rows: Floats) -> KernelState:
        """Return what there is before anything was learned: L = I, for every kernel."""
        rng = generator(self.random_state)
        start, _ = self._operators(Lesson(rows, None), rng, lambda: None)
        return replace(start, axes=cut_together(start.axes, start.weights, self.dimension))

    def _blocks(self, P: ArrayLike | sp.spmatrix) -> list[Floats]:
        rows = dense_rows(self._vectors(P))
        return self._learned.blocks(type(self).__name__, rows, unit=self.normalize)

    def _query_values(self, Q: ArrayLike | sp.spmatrix) -> list[Floats]:
        rows = dense_rows(self._vectors(Q))
        return self._learned.query_values(type(self).__name__, rows, unit=self.normalize)

    def _publish(self, learned: KernelState) -> Self:
        if not learned.width:
            raise InvalidInput(
                f"{type(self).__name__}: vectors must differ to the kernels; all values are 0. "
                f"Multiply all vectors by a constant."
            )
        self._learned = learned
        self.n_features_in_ = learned.landmarks.shape[1]
        return self

    def _state(self) -> tuple[Arrays, Learned]:
        self._width()
        kernels = [one for source in self._learned.sources for _, one in source.kernels]
        if any(one.function is not None for one in kernels):
            raise InvalidInput(
                f"{type(self).__name__}: a kernel that is a callable cannot be saved. Use kernels "
                f"by name."
            )
        return self._learned.stored()

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        sources = self._sources(stored_whole(learned["width"]))
        self._publish(KernelState.restored(arrays, learned, sources))

    def _check_parameters(self) -> None:
        who = type(self).__name__
        self._check_kernels(who)
        check_number(who, "aggressiveness", self.aggressiveness)
        check_whole(who, "steps", self.steps, 1)
        check_whole(who, "landmarks", self.landmarks, 1)
        check_whole(who, "dimension", self.dimension, 1)
        if self.blend is not None and not (is_number(self.blend) and 0 <= self.blend <= 1):
            raise InvalidInput(f"{who}: blend must be from 0 to 1; got {self.blend!r:.80}.")
        if self.normalize and not self.positive:
            raise InvalidInput(
                f"{who}: normalize needs positive; otherwise a picture's score with itself could "
                f"be below 0. Set positive=True."
            )
        if self.discount is not None and self.discount != CHOSEN:
            check_number(who, "discount", self.discount, below=1)
        check_share(who, "held_out", self.held_out)
        generator(self.random_state)

    @abstractmethod
    def _check_kernels(self, who: str) -> None:
        """Raise InvalidInput if the kernels, or what combines them, are not valid."""

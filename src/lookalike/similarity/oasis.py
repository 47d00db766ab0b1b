"""OASIS: a bilinear similarity learned online from triplets, by passive-aggressive steps."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.checks import check_choice, check_number, check_whole, is_number, is_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress, silent
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import Arrays, Learned, stored_whole, with_settings
from lookalike.core.threads import one_blas_thread
from lookalike.core.vectors import Vectors, check_vectors
from lookalike.similarity.base import check_triplets, stored_array
from lookalike.similarity.bilinear import Bilinear
from lookalike.similarity.blend import POINTS, project_positive
from lookalike.similarity.choosing import choose_reach
from lookalike.similarity.held_out import (
    CLASSES_TO_HOLD_OUT,
    Form,
    HeldOutPictures,
    HeldOutTriplets,
    Verdict,
)
from lookalike.similarity.reach import Placed, Reach, kinds_of, scaled_landmarks
from lookalike.similarity.training import (
    Divergence,
    Negatives,
    Sampling,
    Span,
    Symmetric,
    Trainer,
    Triplets,
    check_positive,
    usable,
)
from lookalike.similarity.trials import (
    Choices,
    Setup,
    Start,
    choose_steps,
    run_trials,
    starts_by_worth,
)
from lookalike.similarity.whitening import turned_back, whitened
from lookalike.supervision import Relevance

MAX_SPECTRUM = 4096
"""Most columns for which eigenvalues of W are computed by default: seconds, thrice W's memory."""

LONGER = 3
"""How many times the steps of a trial are taken afterwards, from all pictures."""

_log = logging.getLogger(__name__)


@with_settings
class OASIS(Bilinear):
    """Learn S(p, q) = pᵀWq so that related pictures score above others by a margin of 1.

    Starting from the identity, a step for a triplet (p, p⁺, p⁻) with loss
    l = max(0, 1 − pᵀW(p⁺ − p⁻)) (Eq. 4) is

        W ← W + τ·p(p⁺ − p⁻)ᵀ,   τ = min(C, l / |p(p⁺ − p⁻)ᵀ|²)   (Eq. 8 and 11)

    Chechik, Sharma, Shalit and Bengio, *Large Scale Online Learning of Image Similarity through
    Ranking* (2010), sections 2, 5.4 and 6. The algorithm exactly as in the paper is
    ``OASIS(aggressiveness=0.1, positive="no", normalize=False, blend=1.0)``.

    Parameters
    ----------
    aggressiveness : float
        C of Eq. 6: the longest step. The paper has 0.1, which comes as far in thrice the steps.
    steps : int or None
        Triplets for each ranker. None evaluates on a held-out part during training and stops when
        that no longer improves (section 5.2.1), then learns again from everything; at the latest
        after 1,000,000 steps, 75 a picture where each query has its own blend, or 5·10¹⁰ numbers of
        W changed, at least 4,096 steps. A run that ends there says so in the log.
    symmetric : {"no", "after", "during", "dissimilarity"}
        Section 6.1: project W onto the symmetric matrices when training ends (Proj-OASIS) or
        after each step (Online-Proj-OASIS), or learn −(p−q)ᵀW(p−q), Eq. 22 (Dissim-OASIS).
    positive : {"auto", "no", "after"} or int
        Section 6.2: project W onto the positive matrices when training ends, or every so many
        steps. "auto" means "after" up to 4,096 columns and "no" beyond, where the eigenvalues
        would take minutes.
    normalize : bool or None
        Divide the score by √(pᵀWp) and √(qᵀWq), so that no picture is near everything. Needs a
        positive W; None means True if W is positive.
    blend : float or None
        How far to go from the start (0) to what was learned (1), for every query: a power of the
        spectrum of a positive W, otherwise linear interpolation. None starts from whitened
        vectors and fits, on held-out pictures, how far each query goes by its nearness to what
        was taught; see *Notes*.
    averaged : int
        The number of models, each on its own thread with its own triplets of all pictures, that are
        averaged (section 5.4, Eq. 21).
    sampling, negatives : str
        How triplets are drawn; see :class:`~lookalike.supervision.TripletSampler`.
    divergence : {"frobenius", "logdet"}
        What a step keeps small: |W − W_t|², or tr(WW_t⁻¹) − log det(WW_t⁻¹), which section 6.2
        leaves open; with it W stays symmetric and positive, and a step costs O(d²).
    held_out : float
        The share of pictures, or of triplets, held out to choose ``steps`` and ``blend``.
    random_state : int, Generator or None
        Makes a run repeatable.

    Attributes
    ----------
    W_ : ndarray of shape (d, d)
        The similarity in use, after projection and blending.
    steps_ : int
        Steps that each ranker took.
    blend_ : float
        The point of W_ between start and learned.
    reach_ : Reach or None
        How far each query goes from the start to W_; None if all go the whole way.
    normalized_, positive_ : bool
        Whether scores are divided by the self-scores, and whether W is positive.
    history_ : list of (int, float)
        Steps and the best held-out figure at each evaluation; empty if nothing had to be chosen.

    Notes
    -----
    A step costs O(k_i(k₊ + k₋)) on sparse and O(d²) on dense vectors, or O(n²) with fewer dense
    pictures than columns, since W differs from the identity only in the space they span. W takes
    4d² bytes for each ranker; choosing needs one more.

    *A blend for each query.* With ``blend=None`` learning starts from whitened vectors, S = A² in
    place of the identity: A weighs what differs between related pictures less
    (:func:`~lookalike.similarity.whitening.whitening`), which serves pictures of kinds that were
    never taught, too. Steps are taken on Ax at unit length. Of pictures with several labels, A may
    compare the labels that a vector predicts instead, where that ranks held-out pictures best
    (:func:`~lookalike.similarity.whitening.by_words`). They are judged by how rare the labels are
    that two have in common. A query is asked with

        (1 − b)·Sq/√(qᵀSq) + b·Wq/√(qᵀWq)

    against items scaled by 1/√(pᵀWp), so what is stored does not depend on b, which follows the
    nearness of Aq to what was taught (:class:`~lookalike.similarity.reach.Reach`). The rule is
    fitted on held-out pictures of what was taught and of classes that were left out whole: those
    may not lose to the cosine of the vectors, the first are to gain most. Where that gains nothing
    but one blend for all queries does, that is used; where neither gains, the same is tried from
    the identity; where nothing is gained or can be held out, it is cosine. Of clicks, and of fewer
    than ten labels, neighbourhoods of pictures are left out instead of classes. Learning then goes
    on, with all pictures, from the average of what the held-out trials learned (section 5.4).
    Sparse vectors, and scores that are not normalised, start from the identity; from triplets, and
    with Eq. 22 unnormalised, one blend is chosen for all queries. ``partial_fit`` takes its steps
    on the vectors as they are, and keeps the rule; its pictures count as taught while there are
    fewer than 4,096.

    *Departures.* The gradient in the text below Eq. 22 is that of the loss; the step goes in the
    opposite direction. ``normalize``, ``blend`` and whitening are not in the paper: with them the
    default never ranks worse than no learning on the held-out part. The images p of a shard's
    triplets come from the shard, while p⁺ and p⁻ come from all pictures.

    Examples
    --------
    >>> X = np.array([[1, 0.1], [1, -0.1], [0.1, 1], [-0.1, 1]])
    >>> model = OASIS(steps=100, blend=1.0, random_state=0).fit(X, ["a", "a", "b", "b"])
    >>> bool(model.scores(X[:1], X[1:2]) > model.scores(X[:1], X[2:3]))
    True
    """

    name = "oasis"
    file_kind = "oasis/3"
    learns_from = ("classes", "labels", "relevance", "triplets")

    aggressiveness: float = 0.3
    steps: int | None = None
    symmetric: Symmetric = "no"
    positive: Literal["auto", "no", "after"] | int = "auto"
    normalize: bool | None = None
    blend: float | None = None
    averaged: int = 1
    sampling: Sampling = "uniform"
    negatives: Negatives = "unrelated"
    divergence: Divergence = "frobenius"
    held_out: float = 0.2
    random_state: RandomState = None

    W_: NDArray[np.float32] = field(init=False)
    reach_: Reach | None = field(init=False)
    _choices: Choices | None = field(default=None, init=False)

    @one_blas_thread()
    def fit(
        self, X: ArrayLike | sp.spmatrix, y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Learn from vectors and which of them are similar, as a Relevance or what makes one.

        ``progress`` is called with the number of steps done and the maximum.
        """
        given = usable(self._given(X))
        relevance = Relevance.of(y, n=given.shape[0])
        why = relevance.trainable() if self.negatives == "unrelated" else None
        if why:
            raise InvalidInput(f"OASIS cannot learn from this: {why}")
        rng = generator(self.random_state)
        self.history_: list[tuple[int, float]] = []
        form, trainer = self._form(given.shape[1]), self._trainer(given.shape[1])
        if self.blend is None and form != "distance":
            return self._fit_reach(given, _graded(relevance), rng, progress)
        span = Span(given)
        vectors = span.inside(given)
        steps, point = self.steps, self.blend
        if steps is None or point is None:
            kinds = None
            if point is None:
                kinds = kinds_of(given, relevance, CLASSES_TO_HOLD_OUT, rng)
            judge = HeldOutPictures.choose(vectors, relevance, self.held_out, rng, kinds=kinds)
            if judge is None:
                steps, point = self._unjudged(10 * vectors.shape[0])
            else:
                kept = vectors[judge.kept]
                sources = trainer.samplers(relevance.subset(judge.kept))
                verdict = partial(judge.verdict, form=form)
                steps, point = self._choose(trainer, kept, sources, verdict, rng, progress)
        sources = trainer.samplers(relevance)
        W = trainer.learn(vectors, sources, steps if point else 0, rng, progress)
        return self._settle(W, span, steps, point)

    @one_blas_thread()
    def fit_as(
        self, other: Self, X: ArrayLike | sp.spmatrix, y: Any, *, progress: Progress = silent
    ) -> Self:
        """Learn with what another chose on pictures held out from it, if it chose to learn."""
        choice = other._choices
        if choice is None or not choice.point:
            return self.fit(X, y, progress=progress)
        given, rng = usable(self._given(X)), generator(self.random_state)
        relevance = _graded(Relevance.of(y, n=given.shape[0]))
        placed = Placed.of(given.shape[1], relevance, rng)
        self.history_ = []
        return self._follow(choice, given, relevance, placed, None, rng, progress)

    @one_blas_thread()
    def fit_triplets(
        self, X: ArrayLike | sp.spmatrix, triplets: ArrayLike, *, progress: Progress = silent
    ) -> Self:
        """Learn from explicit triplets, rows of (image, more similar, less similar).

        ``steps=None`` and ``blend=None`` are chosen by the share of held-out triplets that are
        in the right order.
        """
        given = usable(self._given(X))
        checked = check_triplets("OASIS", triplets, given.shape[0])
        if not len(checked):
            raise InvalidInput("OASIS: triplets must have at least one row; got none.")
        rng = generator(self.random_state)
        span = Span(given)
        vectors = span.inside(given)
        steps, point, self.history_ = self.steps, self.blend, []
        trainer = self._trainer(given.shape[1])
        if steps is None or point is None:
            judge = HeldOutTriplets.choose(vectors, checked, self.held_out, rng)
            if judge is None:
                steps, point = self._unjudged(10 * len(checked))
            else:
                verdict = partial(judge.verdict, form=self._form(given.shape[1]))
                sources = trainer.lists(judge.kept)
                steps, point = self._choose(trainer, vectors, sources, verdict, rng, progress)
        sources = trainer.lists(checked)
        W = trainer.learn(vectors, sources, steps if point else 0, rng, progress)
        return self._settle(W, span, steps, point)

    def partial_fit(self, X: ArrayLike | sp.spmatrix, triplets: ArrayLike) -> Self:
        """Continue from the current similarity, one step for each triplet, in order.

        Before ``fit`` it starts from the identity. A W that is symmetric or positive stays so.
        """
        self._check_parameters()
        fitted = hasattr(self, "W_")
        vectors = usable(self._vectors(X) if fitted else check_vectors("OASIS", X))
        checked = check_triplets("OASIS", triplets, vectors.shape[0])
        width = vectors.shape[1]
        W = self.W_.copy() if fitted else np.eye(width, dtype=np.float32)
        moved, _ = self._trainer(width).stepper(vectors).take(W, checked)
        if not np.isfinite(W).all():
            raise InvalidInput(
                "OASIS: these triplets would make W infinite, so nothing was learned. Scale the "
                "vectors to unit length."
            )
        done = self.steps_ if fitted else 0
        if self._is_positive(width):
            W = project_positive(W)
        elif self.symmetric == "after":
            W = (W + W.T) / np.float32(2)
        # From the start, what these triplets teach is used in full.
        point = (self.blend_ if fitted else 0.0) or float(moved > 0)
        reach = self.reach_ if fitted else None
        if reach is not None:
            reach = reach.with_landmarks(vectors[np.unique(checked[:, 0])])
        return self._publish(W, done + len(checked), point, reach)

    @classmethod
    def _made(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        # Files of before call it rankers.
        named = {"averaged" if name == "rankers" else name: settings[name] for name in settings}
        return super()._made(arrays, named)

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        W = stored_array(arrays, "W", 2)
        if W.shape[0] != W.shape[1]:
            raise ValueError(f"W is of shape {W.shape}.")
        steps, point = stored_whole(learned["steps_"]), float(learned["blend_"])
        normalized = learned["normalized_"]
        if not 0 <= point <= 1 or not isinstance(normalized, bool):
            raise ValueError(f"blend_ is {point}, normalized_ {normalized!r:.80}.")
        reach, rule = None, learned["reach_"]
        if rule is not None:
            reach = Reach.restored(arrays, rule, len(W))
        self._publish(W, steps, point, reach)
        self.normalized_ = normalized

    def _fit_reach(
        self, given: Vectors, relevance: Relevance, rng: np.random.Generator, progress: Progress
    ) -> Self:
        """Train without some kinds of pictures, fit how far each query goes, and go on with all."""
        span, width = Span(given), given.shape[1]
        vectors = span.inside(given)
        form, trainer = self._form(width), self._trainer(width)
        placed = Placed.of(width, kinds_of(given, relevance, CLASSES_TO_HOLD_OUT, rng), rng)
        how = Setup(trainer, form, self.held_out, self.steps, "identity")
        starts: list[Start] = ["identity"]
        if form == "normalized" and not sp.issparse(vectors):
            starts = starts_by_worth(how, vectors, relevance, placed, rng)
        for start in starts:
            how = replace(how, start=start)
            trials = run_trials(how, vectors, relevance, placed, rng, progress)
            self.history_ = trials.history
            if not trials.each or trials.steps is None:
                steps, point = self._unjudged(10 * vectors.shape[0])
                return self._settle(np.eye(vectors.shape[1], dtype=np.float32), span, steps, point)
            point, rule = choose_reach(trials.each, form)
            steps = trials.steps * (1 if self.steps else LONGER)
            if point:
                break
        choice = Choices(how, steps, point, rule)
        return self._follow(choice, given, relevance, placed, trials.W, rng, progress)

    def _follow(
        self,
        choice: Choices,
        given: Vectors,
        relevance: Relevance,
        placed: Placed,
        W: NDArray[np.float64] | None,
        rng: np.random.Generator,
        progress: Progress,
    ) -> Self:
        """Learn from all pictures as was chosen, from W on or from where it starts."""
        self._choices = choice
        span = Span(given)
        vectors = span.inside(given)
        if not choice.point:
            unit = np.eye(vectors.shape[1], dtype=np.float32)
            return self._settle(unit, span, choice.steps, 0.0)
        A = choice.how.turn(vectors, relevance)
        start = None
        if W is not None:
            back = None if A is None else np.asarray(np.linalg.inv(A), np.float64)
            start = turned_back(W, back).astype(np.float32, copy=False)
        trainer = choice.how.trainer
        sources = trainer.samplers(relevance)
        learned = trainer.learn(whitened(vectors, A), sources, choice.steps, rng, progress, start)
        S = None if A is None else span.whole(np.asarray(A @ A, np.float32))
        marks = scaled_landmarks(given[placed.rows], S)
        reach = None if choice.rule is None else Reach(marks, *choice.rule, start=S)
        return self._settle(learned, span, choice.steps, choice.point, reach, A)

    def _choose(
        self,
        trainer: Trainer,
        vectors: Vectors,
        sources: list[Triplets],
        verdict: Callable[[NDArray[np.float32]], Verdict],
        rng: np.random.Generator,
        progress: Progress,
    ) -> tuple[int, float]:
        """Return the steps and the blend, where they were not given, by the held-out part."""
        points = POINTS[1:] if self.blend is None else (self.blend,)
        result = choose_steps(
            trainer, vectors, sources, verdict, rng, progress, steps=self.steps, points=points
        )
        self.history_ = result.history
        return result.steps, result.point if self.blend is None else self.blend

    def _unjudged(self, steps: int) -> tuple[int, float]:
        """Choose if nothing can be held out: without a given blend, keep the start."""
        if self.blend is None:
            # Whoever learned sees that nothing changed; a server's terminal is not theirs.
            _log.info(
                "OASIS: too few pictures are related to hold any out, so the starting similarity "
                "is kept. Give more pictures, or set blend."
            )
        return self.steps or steps, 0.0 if self.blend is None else self.blend

    def _settle(
        self,
        W: NDArray[np.float32],
        span: Span,
        steps: int,
        point: float,
        reach: Reach | None = None,
        A: NDArray[np.float64] | None = None,
    ) -> Self:
        if not np.isfinite(W).all():
            raise InvalidInput(
                "OASIS: W would not stay finite on these vectors. Scale them to unit length, or "
                "lower aggressiveness."
            )
        result = turned_back(self._trainer(span.width).path(W).at(point), A)
        return self._publish(span.whole(np.asarray(result, np.float32)), steps, point, reach)

    def _publish(
        self, W: NDArray[np.float32], steps: int, point: float, reach: Reach | None = None
    ) -> Self:
        self.W_ = W
        self.reach_ = reach
        self.steps_ = int(steps)
        self.blend_ = float(point)
        self.n_features_in_ = len(W)
        self.positive_ = self._is_positive(len(W))
        self.normalized_ = self._is_normalized(len(W))
        return self

    def _trainer(self, width: int) -> Trainer:
        return Trainer(
            aggressiveness=self.aggressiveness,
            symmetric=self.symmetric,
            positive=self._is_positive(width),
            every=int(self.positive) if is_whole(self.positive) else None,
            averaged=self.averaged,
            sampling=self.sampling,
            negatives=self.negatives,
            divergence=self.divergence,
        )

    def _is_positive(self, width: int) -> bool:
        if self.positive == "auto":
            return width <= MAX_SPECTRUM
        return bool(self.positive != "no")

    def _is_normalized(self, width: int) -> bool:
        return self._is_positive(width) if self.normalize is None else self.normalize

    def _form(self, width: int) -> Form:
        if self._is_normalized(width):
            return "normalized"
        return "distance" if self.symmetric == "dissimilarity" else "bilinear"

    def _check_parameters(self) -> None:
        check_number("OASIS", "aggressiveness", self.aggressiveness)
        if self.steps is not None:
            check_whole("OASIS", "steps", self.steps, 1)
        check_whole("OASIS", "averaged", self.averaged, 1)
        check_choice("OASIS", "symmetric", self.symmetric, get_args(Symmetric))
        check_choice("OASIS", "sampling", self.sampling, get_args(Sampling))
        check_choice("OASIS", "negatives", self.negatives, get_args(Negatives))
        check_choice("OASIS", "divergence", self.divergence, get_args(Divergence))
        if self.divergence == "logdet" and self.symmetric == "dissimilarity":
            raise InvalidInput(
                "OASIS: divergence='logdet' keeps pᵀWq symmetric and has no steps for Eq. 22; got "
                "symmetric='dissimilarity'. Set symmetric='no'."
            )
        check_positive(self.positive, self.normalize)
        if self.blend is not None and not (is_number(self.blend) and 0 <= self.blend <= 1):
            raise InvalidInput(f"OASIS: blend must be from 0 to 1; got {self.blend!r:.80}.")
        check_number("OASIS", "held_out", self.held_out, below=1)
        generator(self.random_state)


def _graded(relevance: Relevance) -> Relevance:
    """Return relevance by how rare shared labels are, where pictures have several."""
    if relevance.labels_ is None or relevance.is_single:
        return relevance
    return relevance.by_rarity()

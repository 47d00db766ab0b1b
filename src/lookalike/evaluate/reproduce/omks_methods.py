"""The methods of paper 5, section 6.4, over named views of pictures."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.ranking import Judgement, judge
from lookalike.evaluate.reproduce.oasis_tables import plain_oasis
from lookalike.evaluate.reproduce.omks_views import NamedViews
from lookalike.similarity.euclidean import Euclidean
from lookalike.similarity.kernels import Floats, Kernel
from lookalike.similarity.kitml import KITML
from lookalike.similarity.krca import KRCA
from lookalike.similarity.lmnn import LMNN
from lookalike.similarity.operator import learn_coefficients
from lookalike.similarity.rca import RCA

KERNELS = ("rbf:0.5", "rbf:1", "rbf:2", "cosine")
"""The four kernels of section 6.3.2."""

CUTOFFS = (1, 2, 3, 4, 5, 10, 50)
AGGRESSIVENESS = (0.1, 1.0)
"""C to choose from on the validation parts."""

PENALTIES = (8.0, 16.0, 32.0, 64.0)
"""T·ln(1/β) to choose from on the validation parts, beside that of Theorem 2."""

ALL, SLOW, SLOWEST = 1_000_000, 1000, 400
"""Training pictures up to which methods are run; KITML projects on every pair."""

WHO = "reproduce omks"


@dataclass(frozen=True)
class Split:
    """Rows to learn from, to choose by, to ask with and to rank.

    Each of ``choices`` has rows to learn from and a validation part that judges what was learned.
    With what was chosen, ``train`` are learned from.
    """

    choices: tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]
    train: NDArray[np.intp]
    query: NDArray[np.intp]
    test: NDArray[np.intp]


@dataclass(frozen=True)
class Outcome:
    """What a method reached on one split, and the CPU seconds of training what was chosen."""

    judgement: Judgement
    seconds: float
    chosen: str = ""


@dataclass
class Experiment:
    """One split of one set of pictures, with what several methods share."""

    views: NamedViews
    labels: NDArray[np.str_]
    split: Split
    ratio: float
    seed: int
    ranked: NDArray[Any] | None = None
    _scores: dict[str, "KernelScores"] = field(default_factory=dict)

    def judged(self, scores: NDArray[Any]) -> Judgement:
        """Judge the scores of queries and test pictures, and keep them as ``ranked``."""
        self.ranked = scores
        return self._judge(scores, self.split.query, self.split.test)

    def valued(self, scores: Sequence[NDArray[Any]]) -> float:
        """Return the mean average precision of each validation part by itself, on average."""
        parts = zip(scores, self.split.choices, strict=True)
        outcome = [
            self._judge(some, held, held).mean_average_precision for some, (_, held) in parts
        ]
        return float(np.mean(outcome))

    def _judge(
        self, scores: NDArray[Any], queries: NDArray[np.intp], items: NDArray[np.intp]
    ) -> Judgement:
        relevant = self.labels[queries][:, None] == self.labels[items]
        own = None
        if np.array_equal(queries, items):
            own = np.arange(len(queries))
            np.fill_diagonal(relevant, False)
        return judge(np.asarray(scores, np.float32), relevant, own=own, cutoffs=CUTOFFS)

    def triplets(self, rows: NDArray[np.intp], ratio: float) -> NDArray[np.uint32]:
        """Draw a share of all positive pairs, each once, and a negative for each (section 6.2)."""
        rng = np.random.default_rng([self.seed, len(rows)])
        _, codes = np.unique(self.labels[rows], return_inverse=True)
        alike = codes[:, None] == codes
        np.fill_diagonal(alike, False)
        pairs = np.flatnonzero(alike)
        drawn = rng.permutation(pairs)[: max(1, round(ratio * len(pairs)))]
        image, more = np.divmod(drawn, len(rows))
        # Rows lie by class around a circle: those after the image's class are of others.
        order, sizes = np.argsort(codes, kind="stable"), np.bincount(codes)
        own = codes[image]
        after = rng.integers(len(rows) - sizes[own])
        less = order[(np.cumsum(sizes)[own] + after) % len(rows)]
        return np.stack([image, more, less], axis=1).astype(np.uint32)

    def concatenated(self) -> NamedViews:
        """Return all views side by side, as one view."""
        return {"all": np.hstack(list(self.views.values()))}

    def each_kernel(self) -> Iterator[tuple[str, NDArray[np.float32], str]]:
        """Yield the 36 kernels: a name, the view's rows and the kernel's name."""
        for view, rows in self.views.items():
            for kernel in KERNELS:
                yield f"{view} {kernel}", rows, kernel

    def kernel_scores(self) -> dict[str, "KernelScores"]:
        """Learn OKS with each of the 36 kernels, once."""
        if not self._scores:
            for name, rows, kernel in self.each_kernel():
                fitted = Kernel.of(WHO, kernel).fitted(WHO, rows[self.split.train])
                self._scores[name] = learn_kernel(self, fitted.square(WHO, rows), self.ratio)
        return self._scores


@dataclass(frozen=True)
class Lesson:
    """What OKS learned with one kernel: how it scores pictures, as Eq. 19 has it.

    ``mistakes`` and ``steps`` are Σ z of Algorithm 2 and the triplets.
    """

    scores: Floats
    mistakes: int
    steps: int


@dataclass(frozen=True)
class KernelScores:
    """OKS with one kernel: what it is worth, and how it scores.

    Attributes
    ----------
    value : float
        The mean average precision on the validation parts.
    held : tuple of Lesson
        With the scores of each validation part.
    whole : Lesson
        With the scores of the queries and the test pictures.
    seconds : float
        The CPU time of learning ``whole``.
    """

    value: float
    held: tuple[Lesson, ...]
    whole: Lesson
    seconds: float


def learn_kernel(experiment: Experiment, K: Floats, ratio: float) -> KernelScores:
    """Run Algorithm 1 on the kernel values of all pictures; C is chosen on validation parts."""
    split = experiment.split

    def learned(
        C: float, rows: NDArray[np.intp], queries: NDArray[np.intp], items: NDArray[np.intp]
    ) -> tuple[Lesson, float]:
        triplets = experiment.triplets(rows, ratio)
        own = K[np.ix_(rows, rows)]
        begin = time.process_time()
        A, margins = learn_coefficients(own, triplets, C)
        seconds = time.process_time() - begin
        mistakes = int(np.count_nonzero(margins <= 0))
        return Lesson(_scores(K, A, rows, queries, items), mistakes, len(triplets)), seconds

    value, best, held = -1.0, AGGRESSIVENESS[0], tuple[Lesson, ...]()
    for C in AGGRESSIVENESS:
        tried = tuple(learned(C, first, part, part)[0] for first, part in split.choices)
        worth = experiment.valued([one.scores for one in tried])
        if worth > value:
            value, best, held = worth, C, tried
    whole, seconds = learned(best, split.train, split.query, split.test)
    return KernelScores(value, held, whole, seconds)


def _scores(
    K: Floats,
    A: Floats,
    train: NDArray[np.intp],
    queries: NDArray[np.intp],
    items: NDArray[np.intp],
) -> Floats:
    """Return Eq. 19 for all pairs, also of pictures outside the span of the training part."""
    learned = K[np.ix_(queries, train)] @ A @ K[np.ix_(train, items)]
    return np.asarray(K[np.ix_(queries, items)] + learned, dtype=np.float32)


def oks_best(experiment: Experiment) -> Outcome:
    """OKS with the kernel that is best on the validation parts."""
    every = experiment.kernel_scores()
    name = max(every, key=lambda one: every[one].value)
    return Outcome(experiment.judged(every[name].whole.scores), every[name].seconds, name)


def oks_average(experiment: Experiment) -> Outcome:
    """OKS with the mean of all kernels."""
    K = average_kernel(experiment)
    result = learn_kernel(experiment, K, experiment.ratio)
    return Outcome(experiment.judged(result.whole.scores), result.seconds)


def average_kernel(experiment: Experiment) -> Floats:
    """Return the mean of the values of all kernels."""
    total: Any = 0
    count = 0
    for _, rows, kernel in experiment.each_kernel():
        fitted = Kernel.of(WHO, kernel).fitted(WHO, rows[experiment.split.train])
        total, count = total + fitted.square(WHO, rows), count + 1
    return np.asarray(total / np.float32(count), dtype=np.float32)


def weighted(
    weights: Callable[[Sequence[KernelScores]], NDArray[np.float64]],
) -> Callable[[Experiment], Outcome]:
    """Return the method that adds the similarities of all kernels by some weights."""

    def run(experiment: Experiment) -> Outcome:
        return _added(experiment, weights(list(experiment.kernel_scores().values())))

    return run


def omks_of_theorem_2(experiment: Experiment) -> Outcome:
    """OMKS in plain form, with the discount of Theorem 2."""
    every = experiment.kernel_scores()
    return _added(experiment, hedge_weights([one.whole for one in every.values()], None))


def omks(experiment: Experiment) -> Outcome:
    """OMKS, with the discount that is best on the validation parts."""
    every = list(experiment.kernel_scores().values())

    def value(penalty: float | None) -> float:
        lessons = zip(*(one.held for one in every), strict=True)
        return experiment.valued([_sum(hedge_weights(some, penalty), some) for some in lessons])

    best = max((None, *PENALTIES), key=value)
    return _added(experiment, hedge_weights([one.whole for one in every], best))


def _added(experiment: Experiment, shares: NDArray[np.float64]) -> Outcome:
    """Return what the similarities of all kernels reach together."""
    every = experiment.kernel_scores()
    scores = _sum(shares, [one.whole for one in every.values()])
    seconds = sum(one.seconds for one in every.values())
    names = list(every)
    best = ", ".join(f"{names[at]} {shares[at]:.2f}" for at in np.argsort(-shares)[:5])
    return Outcome(experiment.judged(scores), seconds, best)


def _sum(shares: NDArray[np.float64], lessons: Sequence[Lesson]) -> NDArray[Any]:
    """Return Eq. 20."""
    total: Any = sum(share * one.scores for share, one in zip(shares, lessons, strict=True))
    return np.asarray(total)


def hedge_weights(lessons: Sequence[Lesson], penalty: float | None) -> NDArray[np.float64]:
    """Return θ of Algorithm 2 as shares, with β = exp(−penalty/T), or that of Theorem 2."""
    mistakes = np.array([one.mistakes for one in lessons])
    steps = lessons[0].steps
    if penalty is None:
        penalty = steps * np.log1p(np.sqrt(np.log(len(lessons)) / steps))
    powers = np.exp(-penalty / steps * (mistakes - mistakes.min()))
    return np.asarray(powers / powers.sum())


def validation_weights(every: Sequence[KernelScores]) -> NDArray[np.float64]:
    """Return e to the mean average precision on the validation parts, as shares (OMKS-W)."""
    powers = np.exp([one.value for one in every])
    return np.asarray(powers / powers.sum())


def uniform_weights(every: Sequence[KernelScores]) -> NDArray[np.float64]:
    """Return the same share for all (OMKS-U)."""
    return np.full(len(every), 1 / len(every))


def vectors_best(
    model: Callable[[str, Experiment], Any],
    settings: Sequence[str] = ("",),
    *,
    joined: bool = False,
) -> Any:
    """Return a method on the view, with the kernel or C, that is best on the validation parts."""

    def run(experiment: Experiment) -> Outcome:
        split, labels = experiment.split, experiment.labels
        views = experiment.concatenated() if joined else experiment.views
        best: tuple[float, str, str] = (-1.0, "", "")
        several = len(views) * len(settings) > 1
        for view, rows in views.items() if several else ():
            for setting in settings:
                scores = []
                for first, held in split.choices:
                    learned = model(setting, experiment).fit(rows[first], labels[first])
                    scores.append(learned.scores(rows[held], rows[held]))
                best = max(best, (experiment.valued(scores), view, setting))
        _, view, setting = best if several else (0.0, next(iter(views)), settings[0])
        begin = time.process_time()
        learned = model(setting, experiment).fit(views[view][split.train], labels[split.train])
        seconds = time.process_time() - begin
        scores = learned.scores(views[view][split.query], views[view][split.test])
        return Outcome(experiment.judged(scores), seconds, f"{view} {setting}".strip())

    return run


def kitml_average(experiment: Experiment) -> Outcome:
    """KITML with the mean of all kernels, by the rows of its values on the training part."""
    split = experiment.split
    K = average_kernel(experiment)
    values, axes = np.linalg.eigh(K[np.ix_(split.train, split.train)].astype(np.float64))
    is_kept = values > 1e-6 * values[-1]
    rows = (K[:, split.train] @ (axes[:, is_kept] / np.sqrt(values[is_kept]))).astype(np.float32)
    begin = time.process_time()
    learned = KITML(kernel="linear", random_state=experiment.seed)
    learned.fit(rows[split.train], experiment.labels[split.train])
    seconds = time.process_time() - begin
    scores = learned.scores(rows[split.query], rows[split.test])
    return Outcome(experiment.judged(scores), seconds)


PLAIN, FULL_RANK = "OMKS, β of Theorem 2", "KITMLFR-Best"
SHRINKAGES = ("none", "Ledoit-Wolf")


def _rca(shrinkage: str) -> RCA:
    return RCA(shrinkage=0.0 if shrinkage == "none" else None)


OASIS_C = tuple(map(str, AGGRESSIVENESS))


def _oasis(C: str, experiment: Experiment) -> Any:
    """Return OASIS with as many triplets as the kernels have (section 6.6)."""
    steps = len(experiment.triplets(experiment.split.train, experiment.ratio))
    return plain_oasis(steps=steps, aggressiveness=float(C), random_state=experiment.seed)


@dataclass(frozen=True)
class Method:
    """A method of section 6.4, and the most training pictures for which it is run."""

    run: Callable[[Experiment], Outcome]
    most: int = ALL
    quick: bool = True


METHODS: dict[str, Method] = {
    "Eucl.-Best": Method(vectors_best(lambda kernel, on: Euclidean())),
    "RCA-Best": Method(vectors_best(lambda shrinkage, on: _rca(shrinkage), SHRINKAGES)),
    "LMNN-Best": Method(vectors_best(lambda kernel, on: LMNN()), quick=False),
    "OASIS-Best": Method(vectors_best(_oasis, OASIS_C)),
    "KRCA-Best": Method(vectors_best(lambda kernel, on: KRCA(kernel=kernel), KERNELS), quick=False),
    "KITML-Best": Method(
        vectors_best(lambda kernel, on: KITML(kernel=kernel, random_state=on.seed), KERNELS),
        most=SLOW,
        quick=False,
    ),
    "KITML-Avg": Method(kitml_average, most=SLOW, quick=False),
    "Eucl.-Con": Method(vectors_best(lambda kernel, on: Euclidean(), joined=True)),
    "RCA-Con": Method(vectors_best(lambda kernel, on: RCA(), joined=True)),
    "LMNN-Con": Method(vectors_best(lambda kernel, on: LMNN(), joined=True), quick=False),
    "OASIS-Con": Method(vectors_best(_oasis, OASIS_C, joined=True)),
    "KRCA-Con": Method(
        vectors_best(lambda kernel, on: KRCA(kernel=kernel), KERNELS, joined=True),
        quick=False,
    ),
    "KITML-Con": Method(
        vectors_best(
            lambda kernel, on: KITML(kernel=kernel, random_state=on.seed), KERNELS, joined=True
        ),
        most=SLOW,
        quick=False,
    ),
    "OKS-Best": Method(oks_best),
    "OKS-Avg": Method(oks_average),
    "OMKS-U": Method(weighted(uniform_weights)),
    "OMKS-W": Method(weighted(validation_weights)),
    "OMKS": Method(omks),
    PLAIN: Method(omks_of_theorem_2),
    FULL_RANK: Method(
        vectors_best(
            lambda kernel, on: KITML(kernel=kernel, dimension=ALL, random_state=on.seed), KERNELS
        ),
        most=SLOWEST,
        quick=False,
    ),
}
"""The methods by name, in the order of Table 1, and those of its text."""

"""Kernels by name: how alike two pictures are in one view, as positive definite functions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.core.checks import check_number, check_whole
from lookalike.core.errors import InvalidInput

Floats: TypeAlias = NDArray[np.float32]
Blocks: TypeAlias = Mapping[str, int | None] | Sequence[tuple[str, int | None]] | None
KernelFunction: TypeAlias = Callable[[Floats, Floats], NDArray[Any]]

SAMPLED = 2000
"""Pictures whose mean distance is a bandwidth."""

MAX_VALUES = 1 << 24
"""Numbers in memory at once while kernel values that compare column by column are computed."""

CANCELLED = 1e-4
"""Squared distances below this share of the squared lengths are computed from differences."""

UNEQUAL = 1e-4
"""How far K and its transpose may differ, as a share of the largest value: rounding."""


class Pairs:
    """Rows of one view beside others, with what several kernels of the view share."""

    def __init__(self, X: Floats, Y: Floats) -> None:
        self.X, self.Y = X, Y

    @cached_property
    def products(self) -> Floats:
        """The inner products."""
        return np.asarray(self.X @ self.Y.T, dtype=np.float32)

    @cached_property
    def squared_distances(self) -> Floats:
        """|x − y|², from 0."""
        own, other = (np.einsum("ij,ij->i", rows, rows)[:, None] for rows in (self.X, self.Y))
        squares = np.asarray(own + other.T - 2 * self.products, dtype=np.float32)
        # Of rows that are nearly the same, all digits cancel; a row is at distance 0 of itself.
        near = np.argwhere(squares <= CANCELLED * (own + other.T))
        step = max(1, MAX_VALUES // max(1, self.X.shape[1]))
        for start in range(0, len(near), step):
            at, to = near[start : start + step].T
            squares[at, to] = np.square(self.X[at] - self.Y[to]).sum(axis=1)
        return squares

    @cached_property
    def chi_squares(self) -> Floats:
        """Σ (x − y)² / (x + y), where columns in which both are 0 add nothing."""
        return self._by_column(_chi_square)

    @cached_property
    def minima(self) -> Floats:
        """Σ min(x, y)."""
        return self._by_column(lambda x, y: np.minimum(x, y).sum(axis=2))

    def _by_column(self, function: Callable[[Floats, Floats], Floats]) -> Floats:
        values = np.empty((len(self.X), len(self.Y)), np.float32)
        step = max(1, MAX_VALUES // max(1, self.Y.size))
        for start in range(0, len(self.X), step):
            some = self.X[start : start + step]
            values[start : start + step] = function(some[:, None, :], self.Y[None, :, :])
        return values


def _chi_square(x: Floats, y: Floats) -> Floats:
    total = x + y
    squares = np.divide((x - y) ** 2, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(squares.sum(axis=2), dtype=np.float32)


def _cosine(pairs: Pairs) -> Floats:
    lengths = [np.linalg.norm(rows, axis=1) for rows in (pairs.X, pairs.Y)]
    own, other = (np.divide(1, it, out=np.zeros_like(it), where=it > 0) for it in lengths)
    return np.asarray(0.5 + 0.5 * pairs.products * own[:, None] * other, dtype=np.float32)


DISTANCES: dict[str, Callable[[Pairs], Floats]] = {
    "rbf": lambda pairs: pairs.squared_distances,
    "exponential": lambda pairs: np.sqrt(pairs.squared_distances),
    "chi2": lambda pairs: pairs.chi_squares,
}
"""Kernels exp(−d/(γσ²)), with γ the mean of d over the training pictures."""

PLAIN: dict[str, Callable[[Pairs], Floats]] = {
    "cosine": _cosine,
    "linear": lambda pairs: pairs.products,
    "intersection": lambda pairs: pairs.minima,
}
"""Kernels without σ, divided by the mean of their values of a training picture and itself."""

SELF: dict[str, Callable[[Floats], NDArray[np.floating]]] = {
    "cosine": lambda X: np.ones(len(X)),
    "linear": lambda X: np.einsum("ij,ij->i", X, X, dtype=np.float64),
    "intersection": lambda X: X.sum(axis=1, dtype=np.float64),
}
"""The values of pictures and themselves."""

FROM_ZERO = ("chi2", "intersection")
"""Kernels of histograms, which are positive definite for values from 0 only."""


@dataclass(frozen=True)
class Kernel:
    """A kernel κ(x, x′), of one view.

    By name: ``linear`` is x·x′/γ; ``intersection`` is Σ min(x, x′)/γ; ``cosine`` is (1 + cos)/2
    (paper 5, section 6.3.2); ``rbf:σ`` is exp(−|x − x′|²/(γσ²)); ``exponential:σ`` has |x − x′| in
    place of its square, as the formula of section 6.3.2 is printed; ``chi2:σ`` has
    Σ (x − x′)²/(x + x′). γ is the mean distance of the training pictures, or their mean value with
    themselves, so nothing depends on the vectors' unit; σ is 1 where none is given. A zero row has
    the cosine 0 to every other.

    Attributes
    ----------
    name : str
        As given, such as ``rbf:0.5``.
    function : callable or None
        One that was given instead of a name: two matrices come in, the values of all pairs of
        their rows go out.
    sigma : float
    bandwidth : float
        γ, set by :meth:`fitted`.
    """

    name: str
    function: KernelFunction | None = None
    sigma: float = 1.0
    bandwidth: float = 1.0

    @classmethod
    def of(cls, who: str, given: str | KernelFunction) -> Self:
        """Return the kernel for a name, such as ``rbf:0.5``, or for a callable."""
        if callable(given):
            return cls(str(getattr(given, "__name__", "function")), given)
        if not isinstance(given, str):
            raise InvalidInput(f"{who}: a kernel must be a name or a callable; got {given!r:.80}.")
        name, colon, sigma = given.strip().partition(":")
        if name not in DISTANCES and (name not in PLAIN or colon):
            raise InvalidInput(
                f"{who}: a kernel must be one of {', '.join(PLAIN)}, or one of "
                f"{', '.join(DISTANCES)} with σ, such as rbf:0.5; got {given!r:.80}."
            )
        try:
            width = float(sigma) if colon else 1.0
        except ValueError:
            width = np.nan
        check_number(who, f"σ of the kernel {given!r:.80}", width)
        return cls(given.strip(), sigma=width)

    @property
    def is_local(self) -> bool:
        """Whether it is a function of a distance, with a bandwidth."""
        return self.function is None and self.name.partition(":")[0] in DISTANCES

    @property
    def is_for_any(self) -> bool:
        """Whether it compares any vectors, and not only histograms or what a callable takes."""
        return self.function is None and self.name.partition(":")[0] not in FROM_ZERO

    def fitted(self, who: str, X: Floats) -> Self:
        """Return the kernel with γ of the training pictures, or 1 where that would be 0."""
        if self.function is not None:
            return self
        family = self.name.partition(":")[0]
        sample = X[:: -(-len(X) // SAMPLED)]
        self._check_rows(who, sample)
        with np.errstate(over="ignore", invalid="ignore"):
            if family in DISTANCES:
                distances = DISTANCES[family](Pairs(sample, sample))
                total, count = distances.sum(dtype=np.float64), len(sample) * (len(sample) - 1)
            else:
                total, count = SELF[family](sample).sum(), len(sample)
        mean = float(total) / max(1, count)
        if not np.isfinite(mean):
            raise self._not_finite(who)
        return replace(self, bandwidth=mean if mean > 0 else 1.0)

    def values(self, who: str, pairs: Pairs) -> Floats:
        """Return the values of all pairs of rows, or raise InvalidInput if one is not finite."""
        family = self.name.partition(":")[0]
        with np.errstate(over="ignore", invalid="ignore"):
            if self.function is not None:
                values = np.asarray(self.function(pairs.X, pairs.Y), dtype=np.float32)
            else:
                self._check_rows(who, pairs.X)
                if family in DISTANCES:
                    scale = -1 / (self.bandwidth * self.sigma**2)
                    values = np.exp(DISTANCES[family](pairs) * np.float32(scale))
                else:
                    values = PLAIN[family](pairs) / np.float32(self.bandwidth)
        if values.shape != (len(pairs.X), len(pairs.Y)):
            raise InvalidInput(
                f"{who}: the kernel {self.name} must return a value for each pair of rows, of "
                f"shape {(len(pairs.X), len(pairs.Y))}; got {values.shape}."
            )
        if not np.isfinite(values).all():
            raise self._not_finite(who)
        return values

    def square(self, who: str, X: Floats) -> Floats:
        """Return the values of all pairs of training pictures, symmetric."""
        values = self.values(who, Pairs(X, X))
        largest = float(np.abs(values).max(initial=0))
        if float(np.abs(values - values.T).max(initial=0)) > UNEQUAL * largest:
            raise InvalidInput(
                f"{who}: the kernel {self.name} must be symmetric, κ(x, y) = κ(y, x); it is not."
            )
        return np.asarray((values + values.T) / 2, dtype=np.float32)

    def _not_finite(self, who: str) -> InvalidInput:
        return InvalidInput(
            f"{who}: the values of the kernel {self.name} must be finite; got NaN or infinity. "
            f"Scale the vectors to unit length, or use another kernel."
        )

    def _check_rows(self, who: str, X: Floats) -> None:
        if self.name.partition(":")[0] in FROM_ZERO and X.size and X.min() < 0:
            raise InvalidInput(
                f"{who}: the kernel {self.name} is for histograms, with values from 0; got "
                f"{X.min():.3g}. Use rbf or cosine."
            )


def kernels_of(who: str, given: str | Sequence[str | KernelFunction]) -> list[Kernel]:
    """Return kernels for names, as a sequence or as one text with commas, or for callables."""
    named = given.split(",") if isinstance(given, str) else given
    kernels = [Kernel.of(who, one) for one in ([named] if callable(named) else named)]
    names = [one.name for one in kernels]
    if not names or len(set(names)) < len(names):
        raise InvalidInput(f"{who}: kernels must be different, at least one; got {names!r:.80}.")
    return kernels


def views_of(who: str, blocks: Blocks, width: int) -> dict[str, slice]:
    """Return the columns of each view by its name; with no blocks the whole row is one view.

    ``blocks`` are names and numbers of columns, in order; together they must be all columns. A
    width of None stands for all the columns that are left.
    """
    if blocks is None:
        return {"": slice(0, width)}
    pairs = list(blocks.items() if isinstance(blocks, Mapping) else blocks)
    views: dict[str, slice] = {}
    start = 0
    for name, size in pairs:
        columns = width - start if size is None else check_whole(who, f"block {name}", size, 1)
        if name in views or columns < 1:
            raise InvalidInput(f"{who}: blocks must be named differently and not empty; {name!r}.")
        views[str(name)] = slice(start, start + columns)
        start += columns
    if start != width:
        raise InvalidInput(
            f"{who}: the blocks have {start} columns together, the vectors {width}. Describe the "
            f"pictures again, or give the blocks of the feature that made the vectors."
        )
    return views

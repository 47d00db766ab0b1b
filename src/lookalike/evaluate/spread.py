"""A figure and how far it varied."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from lookalike.core.errors import InvalidInput


@dataclass(frozen=True)
class Spread:
    """A mean over folds, with the sample standard deviation.

    Examples
    --------
    >>> spread = Spread.of([0.31, 0.33, 0.35])
    >>> spread.scaled(100)
    33.0 ± 2.0
    """

    mean: float
    deviation: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """Return the mean and standard deviation of values (divisor n - 1; 0 for one value)."""
        array = np.array(list(values), dtype=np.float64)
        if not array.size:
            raise InvalidInput("Spread: there must be at least one value.")
        deviation = float(array.std(ddof=1)) if array.size > 1 else 0.0
        return cls(float(array.mean()), deviation, array.size)

    @property
    def error(self) -> float:
        """The standard error of the mean, as in the error bars of paper 1."""
        return float(self.deviation / np.sqrt(self.count))

    def scaled(self, factor: float) -> Self:
        """Return it multiplied by a positive factor, such as 100 for percent."""
        return type(self)(self.mean * factor, self.deviation * factor, self.count)

    def text(self, digits: int = 1) -> str:
        """Return it as text, such as ``33.1 ± 1.6``."""
        return f"{self.mean:.{digits}f} ± {self.deviation:.{digits}f}"

    def __repr__(self) -> str:
        return self.text()

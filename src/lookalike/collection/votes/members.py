"""The pictures of all votes as arrays, in the order they came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.vectors import Vectors
from lookalike.index.growing import GrowingArray


@dataclass(frozen=True)
class Rows:
    """Vectors in the order they came; adding gives a new one."""

    _rows: Any = None

    @property
    def matrix(self) -> Any:
        """A row each; None before there are any."""
        return self._rows.rows if isinstance(self._rows, GrowingArray) else self._rows

    def extended(self, new: Vectors) -> Rows:
        """Add vectors."""
        if not sp.issparse(new):
            return Rows(GrowingArray(new) if self._rows is None else self._rows.extended(new))
        return Rows(sp.csr_matrix(new if self._rows is None else sp.vstack([self._rows, new])))


@dataclass(frozen=True)
class Members:
    """The pictures of all votes, one row each; adding gives a new one.

    ``item`` is the place of a picture's vectors and ``step`` the length of its step. A vote has the
    row after its last picture, how many of its pictures are picked and stand before the rejected
    ones, the width of its kernel, the least cosine with one of its pictures at which it is not
    faint, a person, the part it belongs to, and the place of its query.
    """

    item: GrowingArray[np.int32]
    step: GrowingArray[np.float64]
    stop: GrowingArray[np.int64]
    picked: GrowingArray[np.int64]
    width: GrowingArray[np.float64]
    reach: GrowingArray[np.float64]
    person: GrowingArray[np.int64]
    fold: GrowingArray[np.int64]
    subject: GrowingArray[np.int64]

    @classmethod
    def none(cls) -> Members:
        """Return those of no votes."""
        kinds: dict[str, Any] = {"item": np.int32}
        kinds |= dict.fromkeys(("step", "width", "reach"), np.float64)
        names = [one.name for one in fields(cls)]
        return cls(**{it: GrowingArray(np.zeros(0, kinds.get(it, np.int64))) for it in names})

    def extended(self, new: Mapping[str, ArrayLike]) -> Members:
        """Add the pictures of votes."""
        return Members(
            **{name: getattr(self, name).extended(np.asarray(it)) for name, it in new.items()}
        )

    def last(self, count: int) -> NDArray[np.bool_]:
        """Return which of the first votes are the last of a person on a query.

        It has what that person said there before, too.
        """
        persons, subjects = self.person.rows[:count], self.subject.rows[:count]
        pairs = persons * (subjects.max(initial=0) + 1) + subjects
        last = np.zeros(count, bool)
        last[count - 1 - np.unique(pairs[::-1], return_index=True)[1]] = True
        return last

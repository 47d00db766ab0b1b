"""The pictures of all votes, in the order they came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lookalike.core import sparse as sp
from lookalike.core.vectors import Vectors
from lookalike.index.growing import GrowingArray


class Rows:
    """Vectors in the order they came; adding gives a new one."""

    def __init__(self) -> None:
        self._dense: GrowingArray[np.float32] | None = None
        self._sparse: Any = None

    @property
    def matrix(self) -> Any:
        """A row each."""
        return self._sparse if self._dense is None else self._dense.rows

    def extended(self, new: Vectors) -> Rows:
        """Add vectors."""
        rows = Rows()
        if sp.issparse(new):
            before = [] if self._sparse is None else [self._sparse]
            rows._sparse = sp.csr_matrix(sp.vstack([*before, new]))
        elif self._dense is None:
            rows._dense = GrowingArray(new)
        else:
            rows._dense = self._dense.extended(new)
        return rows


@dataclass(frozen=True)
class Members:
    """The pictures of all votes, one row each; adding gives a new one.

    ``anchor`` and ``item`` are the places of their vectors, ``side`` is +1, -1, or 0 in votes of
    older logs, and ``step`` the lengths of their steps. A vote has its number in the log, the row
    after its last picture, the width and power of its kernel, the least cosine with one of its
    anchors at which it is not faint, a person, the part it belongs to, the place of its query, and
    whether it rejects anything.
    """

    anchor: GrowingArray[np.int32]
    item: GrowingArray[np.int32]
    side: GrowingArray[np.int8]
    step: GrowingArray[np.float64]
    number: GrowingArray[np.int64]
    stop: GrowingArray[np.int64]
    width: GrowingArray[np.float64]
    power: GrowingArray[np.int8]
    reach: GrowingArray[np.float64]
    person: GrowingArray[np.int64]
    fold: GrowingArray[np.int64]
    subject: GrowingArray[np.int64]
    rejects: GrowingArray[np.int64]

    @classmethod
    def none(cls) -> Members:
        """Start without any."""
        kinds: dict[str, Any] = {
            **dict.fromkeys(("anchor", "item"), np.int32),
            **dict.fromkeys(("step", "width", "reach"), np.float64),
            **dict.fromkeys(("side", "power"), np.int8),
        }
        return cls(
            **{
                one.name: GrowingArray(np.zeros(0, kinds.get(one.name, np.int64)))
                for one in fields(cls)
            }
        )

    def extended(self, new: Mapping[str, ArrayLike]) -> Members:
        """Add the pictures of votes."""
        return Members(
            **{name: getattr(self, name).extended(np.asarray(it)) for name, it in new.items()}
        )

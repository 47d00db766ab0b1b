"""The base class of similarities that learn nothing."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from lookalike.core import sparse as sp
from lookalike.core.checks import check_whole
from lookalike.core.progress import Progress, silent
from lookalike.core.stored import Arrays, Learned
from lookalike.core.vectors import check_vectors
from lookalike.similarity.base import Similarity


class Unlearned(Similarity):
    """Compare vectors as they are: of any width, or of the width set by ``fit``."""

    learns_from = ()

    def fit(
        self, X: ArrayLike | sp.spmatrix, y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Set the width of the vectors; ``y`` is ignored, and the call is optional."""
        self.n_features_in_ = check_vectors(type(self).__name__, X).shape[1]
        progress(1, 1)
        return self

    def _width(self) -> int | None:
        return getattr(self, "n_features_in_", None)

    def _state(self) -> tuple[Arrays, Learned]:
        return {}, {"width": self._width()}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        width = learned["width"]
        if width is not None:
            self.n_features_in_ = check_whole(type(self).__name__, "width", width, 1)

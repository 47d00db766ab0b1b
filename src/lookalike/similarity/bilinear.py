"""What a bilinear similarity answers once W is there; how W is learned is for a subclass."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.errors import InvalidInput
from lookalike.core.stored import Arrays, Learned
from lookalike.core.vectors import Vectors
from lookalike.similarity.base import Formula, Similarity, with_column
from lookalike.similarity.blend import PowerPath
from lookalike.similarity.held_out import inverse_root, self_scores
from lookalike.similarity.reach import Reach, blended_formula
from lookalike.similarity.training import Symmetric


class Bilinear(Similarity):
    """Score a query q and a picture p by pᵀWq, or by it over the roots of the self-scores.

    Attributes
    ----------
    W_ : float32 array of shape (d, d)
    reach_ : Reach or None
        How far each query goes with W; None where all go as far.
    steps_ : int
    blend_ : float
        The part of W that is used.
    normalized_ : bool
        Whether scores are divided by √(qᵀWq·pᵀWp).
    """

    symmetric: Symmetric
    W_: NDArray[np.float32]
    reach_: Reach | None
    steps_: int
    blend_: float
    normalized_: bool

    def stored_vectors(self, P: ArrayLike | sp.spmatrix) -> Vectors:
        """Return the vectors to store: p, and with Eq. 22 unnormalised a last column −pᵀWp."""
        vectors = self._vectors(P)
        if self._is_distance():
            return with_column(vectors, -self_scores(self.W_, vectors))
        return vectors

    def item_scales(self, P: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the factor of each item's scores, which changes as W learns: 1/√(pᵀWp), or 1."""
        vectors = self._vectors(P)
        if not self.normalized_:
            return np.ones(vectors.shape[0], dtype=np.float32)
        return inverse_root(self_scores(self.W_, vectors))

    def query_vectors(self, Q: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the vectors to search with: Wᵀq, or Wᵀq/√(qᵀWq), blended with q; dense."""
        vectors = self._vectors(Q)
        turned = np.ascontiguousarray(vectors @ self.W_, dtype=np.float32)
        if self._is_distance():
            return np.hstack([2 * turned, np.ones((len(turned), 1), dtype=np.float32)])
        if self.normalized_:
            turned *= inverse_root(self_scores(self.W_, vectors))[:, None]
        if self.reach_ is None:
            return turned
        return self.reach_.blended(vectors, turned, unit=self.normalized_)

    def reach(self, Q: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        """Return the share of what was learned that each query uses, from 0 to 1."""
        vectors = self._vectors(Q)
        if self.reach_ is None:
            return np.full(vectors.shape[0], self.blend_, dtype=np.float32)
        return self.reach_.shares(vectors)

    def root(self) -> NDArray[np.float32]:
        """Return A with pᵀWq = (Ap)ᵀ(Aq): it maps pictures into a Euclidean space (section 6).

        Without a positive W, that of the nearest positive one. Time O(d³).
        """
        self._width()
        return PowerPath(self.W_).at(0.5)

    def formula(self) -> Formula:
        """Return pᵀWq, divided by the roots of the self-scores if normalised, and blended."""
        if self._is_distance():
            raise InvalidInput(
                "OASIS: symmetric='dissimilarity' without normalize=True has no formula over "
                "stored vectors of the same width. Learn with normalize=True."
            )
        return blended_formula(self.W_, self.reach_, unit=self.normalized_)

    @property
    def learned(self) -> bool:
        """Whether it may rank unit vectors differently from their cosine: not with blend 0."""
        self._width()
        return self.blend_ != 0

    def _state(self) -> tuple[Arrays, Learned]:
        self._width()
        learned: Learned = {
            "steps_": self.steps_,
            "blend_": self.blend_,
            "normalized_": self.normalized_,
            "reach_": None,
        }
        if self.reach_ is None:
            return {"W": self.W_}, learned
        return {"W": self.W_, **self.reach_.arrays()}, {**learned, "reach_": self.reach_.rule()}

    def _is_distance(self) -> bool:
        return self.symmetric == "dissimilarity" and not self.normalized_

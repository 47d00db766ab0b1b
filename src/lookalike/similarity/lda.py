"""Find the directions that tell classes apart (LDA), and compare by cosine."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from lookalike.core.errors import InvalidInput
from lookalike.similarity.base import check_vectors
from lookalike.similarity.linear_map import (
    LinearMap,
    check_whole,
    class_codes,
    principal_axes,
    unit_spread,
)


class LDA(LinearMap):
    """Linear discriminant analysis with shrinkage, compared by cosine.

    Principal components first, then the directions w of the largest wᵀS_b w / wᵀS_w w, S_b the
    covariance between classes and S_w within, each class's shrunk as Ledoit and Wolf (2004) say
    (scikit-learn's ``LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")``). Not in
    paper 1; of the peers that learn from classes it is the one to beat.

    Memory O(nd), time O(nd·min(n, d) + nk² + k³) with k principal components.

    Parameters
    ----------
    dimension : int
        Principal components kept before learning. Of the directions, one less than there are
        classes are kept.

    Attributes
    ----------
    components_ : ndarray of shape (min(classes − 1, k), d)

    Notes
    -----
    Pictures that are the only one of their class are left out.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.1, 5.0], [1.0, 0.0], [1.1, 5.0]]
    >>> learned = LDA().fit(X, ["left", "left", "right", "right"])
    >>> int(learned.scores([[0.0, 5.0]], X[:1] + X[3:]).argmax())
    0
    """

    _cosine = True

    def __init__(self, *, dimension: int = 128) -> None:
        self.dimension = dimension

    def fit(self, X: ArrayLike | sp.spmatrix, y: Any = None) -> Self:
        """Learn from vectors and one class label for each."""
        dimension = check_whole("LDA", "dimension", self.dimension, 1)
        vectors = check_vectors("LDA", X)
        codes = class_codes("LDA", y, vectors.shape[0])
        kept = np.bincount(codes)[codes] > 1
        mean, axes, rotated = principal_axes("LDA", vectors[kept], dimension)
        scale = unit_spread(rotated)
        analysis = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")
        try:
            analysis.fit(rotated * scale, codes[kept])
        except np.linalg.LinAlgError as error:
            raise InvalidInput(
                "LDA: vectors must vary within classes; each class's are all the same. "
                "Give pictures of a class that differ."
            ) from error
        directions = analysis.scalings_[:, : len(analysis.classes_) - 1]
        self._keep(directions.T @ axes * scale, mean)
        return self

"""Find the directions that separate classes (LDA), and compare by cosine."""

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from lookalike.core.checks import check_whole
from lookalike.core.errors import InvalidInput
from lookalike.core.progress import Progress
from lookalike.core.stored import with_settings
from lookalike.core.vectors import Vectors
from lookalike.similarity.linear_map import LearnedMap, LinearMap, Rotated


@with_settings
class LDA(LinearMap):
    """Linear discriminant analysis with shrinkage, compared by cosine.

    Principal components first, then the directions w of the largest wᵀS_b w / wᵀS_w w, S_b the
    covariance between classes and S_w within, each class's shrunk as by Ledoit and Wolf (2004)
    (scikit-learn's ``LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")``). Not in
    paper 1; of the methods that learn from classes it is the strongest baseline.

    Memory O(nd), time O(nd·min(n, d) + nk² + k³) with k principal components.

    Parameters
    ----------
    dimension : int
        Principal components kept before learning. At most one direction fewer than there are
        classes is kept.

    Attributes
    ----------
    components_ : ndarray of shape (min(classes − 1, k), d)

    Notes
    -----
    Pictures that are the only one of their class are left out.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.1, 5.0], [1.0, 0.0], [1.1, 5.0]]
    >>> int(LDA().fit(X, [*"aabb"]).scores([[0.0, 5.0]], X[::3]).argmax())
    0
    """

    name = "lda"
    _cosine = True

    dimension: int = 128

    def _check_parameters(self) -> None:
        check_whole("LDA", "dimension", self.dimension, 1)

    def _learn(self, vectors: Vectors, codes: NDArray[np.int64], progress: Progress) -> LearnedMap:
        is_kept = np.bincount(codes)[codes] > 1
        rotated = Rotated.of("LDA", vectors[is_kept], int(self.dimension))
        progress(1, 2)
        analysis = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")
        try:
            analysis.fit(rotated.Z, codes[is_kept])
        except np.linalg.LinAlgError as error:
            raise InvalidInput(
                "LDA: vectors must vary within classes; those of each class are all the same. "
                "Give classes whose pictures differ."
            ) from error
        progress(2, 2)
        directions = analysis.scalings_[:, : len(analysis.classes_) - 1]
        return rotated.map(directions.T)

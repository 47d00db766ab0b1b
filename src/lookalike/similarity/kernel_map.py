"""The base class of linear maps learned in the space of a kernel."""

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.core.checks import check_number, check_whole
from lookalike.core.progress import Progress, silent
from lookalike.core.stored import Arrays, Learned
from lookalike.core.threads import one_blas_thread
from lookalike.similarity.base import Formula, Similarity, stored_array
from lookalike.similarity.kernels import Floats, Kernel
from lookalike.similarity.linear_map import LinearMap, moderate
from lookalike.similarity.operator import (
    MAX_EXACT,
    Coordinates,
    Source,
    choose_landmarks,
    dense_rows,
    kernel_values,
)


class KernelMap(LinearMap):
    """Learn z = A (φ(x) − mean) with φ(x) the coordinates of κ(x, ·) by the training pictures.

    A subclass inherits a linear learner as well, and has ``kernel`` among its settings. The
    coordinates are those of kernel principal components without centring; with more than 4,096
    training pictures, those of the pictures nearest to k means.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n, d)
        The training pictures.
    map_ : ndarray of shape (n, r)
        φ(x) = k(x) @ map_, for the kernel values k(x) of x and the landmarks.
    """

    kernel: str

    landmarks_: Floats
    map_: Floats
    _source: Source

    @one_blas_thread()
    def fit(
        self, X: ArrayLike | sp.spmatrix, y: Any = None, *, progress: Progress = silent
    ) -> Self:
        """Learn from vectors and one class label for each, as a sequence or a Relevance."""
        who = type(self).__name__
        rows = dense_rows(self._given(X))
        source = _source(who, self.kernel, rows.shape[1]).fitted(who, rows)
        chosen = choose_landmarks(rows, MAX_EXACT, np.random.default_rng(0))
        coordinates = Coordinates.of(who, source, rows, chosen)
        super().fit(coordinates.rows, y, progress=progress)
        self._place(rows[chosen], coordinates.map, source)
        return self

    def formula(self) -> Formula:
        """Raise InvalidInput: a kernel has no formula of arrays."""
        return Similarity.formula(self)

    def _map(self, X: ArrayLike | sp.spmatrix) -> NDArray[np.float32]:
        who = type(self).__name__
        rows = dense_rows(self._vectors(X))
        values = kernel_values(who, [self._source], rows, self.landmarks_)[self._source.name]
        z = (values @ self.map_ - self.mean_) @ self.components_.T
        mapped = np.ascontiguousarray(z, dtype=np.float32)
        moderate(who, mapped)
        return mapped

    def _place(self, landmarks: Floats, to: Floats, source: Source) -> None:
        self.landmarks_, self.map_, self._source = landmarks, to, source
        self.n_features_in_ = landmarks.shape[1]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        Kernel.of(type(self).__name__, self.kernel)

    def _state(self) -> tuple[Arrays, Learned]:
        arrays, learned = super()._state()
        ((_, kernel),) = self._source.kernels
        learned = {**learned, "width": self.n_features_in_, "bandwidth": kernel.bandwidth}
        return {**arrays, "landmarks": self.landmarks_, "map": self.map_}, learned

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        who = type(self).__name__
        super()._restore(arrays, learned)
        landmarks, to = stored_array(arrays, "landmarks", 2), stored_array(arrays, "map", 2)
        width = check_whole(who, "width", learned["width"], 1)
        if landmarks.shape[1] != width or to.shape != (len(landmarks), len(self.mean_)):
            raise ValueError(f"landmarks are of shape {landmarks.shape}, map of {to.shape}.")
        bandwidth = check_number(who, "bandwidth", learned["bandwidth"])
        source = _source(who, self.kernel, width).with_bandwidths([bandwidth])
        self._place(landmarks, to, source)


def _source(who: str, kernel: str, width: int) -> Source:
    made = Kernel.of(who, kernel)
    return Source(made.name, "", ((slice(0, width), made),))

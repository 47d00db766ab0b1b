"""Reduce vectors: principal components fitted on a collection, then unit length."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.checks import check_whole
from lookalike.core.errors import InvalidInput, NotFitted
from lookalike.core.fingerprint import fingerprint
from lookalike.core.stored import Arrays, Learned
from lookalike.core.vectors import unit_rows
from lookalike.features.base import Fingerprinted

KIND = "reduction/1"
"""The kind of the first version's files; still part of the fingerprint."""


class Reduction(Fingerprinted):
    """Centre vectors, keep their first principal components, scale to unit length.

    x becomes C(x − m) / ‖C(x − m)‖, with m the mean and the rows of C the leading eigenvectors of
    the covariance of the vectors it was fitted on. A vector of zeros carries no information and
    stays zero, as does one whose reduction is zero.

    Parameters
    ----------
    dimension : int, default=256
        The number of components.

    Attributes
    ----------
    mean_ : ndarray of float32, shape (d,)
    components_ : ndarray of float32, shape (dimension, d)
    parent_ : str
        The fingerprint of the vectors it was fitted on.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> Reduction(dimension=3).fit(X, parent="0" * 32).apply(X).shape
    (50, 3)
    """

    name: ClassVar[str] = "reduction"
    file_kind: ClassVar[str] = "reduction/2"

    mean_: NDArray[np.float32]
    components_: NDArray[np.float32]
    parent_: str

    def __init__(self, *, dimension: int = 256) -> None:
        self.dimension = dimension

    def fit(self, vectors: ArrayLike, *, parent: str) -> Self:
        """Compute the components of ``vectors``, which have the fingerprint ``parent``.

        The same vectors give the same components: the solver is exact and not randomised.
        """
        from sklearn.decomposition import PCA

        X = _checked(vectors)
        check_whole("Reduction", "dimension", self.dimension, 1, X.shape[1])
        if len(X) <= self.dimension:
            raise InvalidInput(
                f"Reduction: {self.dimension} dimensions need at least {self.dimension + 1} "
                f"vectors; got {len(X)}. Add pictures or lower dimension."
            )
        solver = "covariance_eigh" if len(X) >= X.shape[1] else "full"
        pca = PCA(self.dimension, svd_solver=solver)
        with np.errstate(invalid="ignore", divide="ignore"):  # identical vectors
            pca.fit(X.astype(np.float64))
        self._keep(pca.mean_, pca.components_, parent)
        return self

    @classmethod
    def of(cls, mean: NDArray[Any], components: NDArray[Any], *, parent: str) -> Self:
        """Return a reduction with these ``mean_`` and ``components_``, or raise ValueError."""
        reduction = cls(dimension=len(components))
        reduction._restore({"mean": mean, "components": components}, {"parent": parent})
        return reduction

    def apply(self, vectors: ArrayLike) -> NDArray[np.float32]:
        """Return vectors reduced to rows of unit length."""
        self._check_fitted()
        X = _checked(vectors)
        if X.shape[1] != len(self.mean_):
            raise InvalidInput(
                f"Reduction: vectors must have {len(self.mean_)} columns, as in fit; "
                f"got {X.shape[1]}."
            )
        reduced = X @ self.components_.T - self._shift
        reduced[~X.any(axis=1)] = 0
        rows: NDArray[np.float32] = unit_rows(reduced)
        return rows

    @property
    def fingerprint(self) -> str:
        """A hash of the parent's fingerprint and the components: 32 hexadecimal digits."""
        self._check_fitted()
        return self._fingerprint

    def _state(self) -> tuple[Arrays, Learned]:
        self._check_fitted()
        arrays: Arrays = {"mean": self.mean_, "components": self.components_}
        return arrays, {"parent": self.parent_}

    def _restore(self, arrays: Arrays, learned: Learned) -> None:
        mean, components, parent = arrays["mean"], arrays["components"], learned["parent"]
        if (
            not isinstance(parent, str)
            or {mean.dtype, components.dtype} != {np.dtype(np.float32)}
            or mean.ndim != 1
            or components.shape != (self.dimension, len(mean))
            or not (np.isfinite(mean).all() and np.isfinite(components).all())
        ):
            raise ValueError("invalid mean or components")
        self._keep(mean, components, parent)
        # Files of the first version have none.
        self.fingerprint_ = self.fingerprint_ or self._fingerprint

    @classmethod
    def _made(cls, arrays: Arrays, settings: dict[str, Any]) -> Self:
        return cls(**{"dimension": len(arrays["components"]), **settings})

    def _check_parameters(self) -> None:
        check_whole("Reduction", "dimension", self.dimension, 1)

    def _keep(self, mean: NDArray[Any], components: NDArray[Any], parent: str) -> None:
        self.mean_ = np.asarray(mean, dtype=np.float32)
        self.components_ = np.ascontiguousarray(components, dtype=np.float32)
        self.parent_ = parent
        self._shift = self.components_ @ self.mean_
        self._fingerprint = fingerprint(
            {"kind": KIND, "parent": parent},
            {"mean": self.mean_, "components": self.components_},
        )

    def _check_fitted(self) -> None:
        if not hasattr(self, "components_"):
            raise NotFitted("Reduction is not fitted; call fit first.")


def _checked(vectors: ArrayLike) -> NDArray[np.float32]:
    try:
        X = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"Reduction: vectors must be a dense array of numbers: {error}"
        ) from error
    if X.ndim != 2 or not np.isfinite(X).all():
        raise InvalidInput(
            f"Reduction: vectors must be a finite matrix with one row per picture; got the shape "
            f"{X.shape}" + (" with values that are not finite." if X.ndim == 2 else ".")
        )
    return X

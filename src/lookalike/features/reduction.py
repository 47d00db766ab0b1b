"""Shorten vectors: principal components fitted on a collection, then unit length."""

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core.arrays import load_arrays, save_arrays
from lookalike.core.errors import DamagedFile, InvalidInput, NotFitted
from lookalike.core.fingerprint import fingerprint
from lookalike.features.base import unit_rows

KIND = "reduction/1"


class Reduction:
    """Centre vectors, keep their first principal components, scale to unit length.

    x becomes C(x − m) / ‖C(x − m)‖, with m the mean and the rows of C the leading eigenvectors of
    the covariance of the vectors it was fitted on. A vector of zeros says nothing of a picture
    and stays zeros, as does one whose reduction has no length.

    Parameters
    ----------
    dimension : int, default=256
        How many components are kept.

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

    mean_: NDArray[np.float32]
    components_: NDArray[np.float32]
    parent_: str

    def __init__(self, *, dimension: int = 256) -> None:
        self.dimension = dimension

    def fit(self, vectors: ArrayLike, *, parent: str) -> Self:
        """Find the components of ``vectors``, which have the fingerprint ``parent``.

        The same vectors give the same components: the solver is exact and draws nothing.
        """
        from sklearn.decomposition import PCA

        X = _checked(vectors)
        if not isinstance(self.dimension, int) or not 1 <= self.dimension <= X.shape[1]:
            raise InvalidInput(
                f"Reduction: dimension must be an integer from 1 to the length of the vectors, "
                f"{X.shape[1]}; got {self.dimension!r}."
            )
        if len(X) <= self.dimension:
            raise InvalidInput(
                f"Reduction: {self.dimension} dimensions need at least {self.dimension + 1} "
                f"vectors; got {len(X)}. Add pictures or ask for fewer dimensions."
            )
        solver = "covariance_eigh" if len(X) >= X.shape[1] else "full"
        pca = PCA(self.dimension, svd_solver=solver)
        with np.errstate(invalid="ignore", divide="ignore"):  # vectors that are all the same
            pca.fit(X.astype(np.float64))
        self._keep(pca.mean_, pca.components_, parent)
        return self

    def apply(self, vectors: ArrayLike) -> NDArray[np.float32]:
        """Reduce vectors, a row each, to rows of unit length."""
        self._check_fitted()
        X = _checked(vectors)
        if X.shape[1] != len(self.mean_):
            raise InvalidInput(
                f"Reduction: vectors must have the length {len(self.mean_)} it was fitted on; "
                f"got {X.shape[1]}."
            )
        reduced = X @ self.components_.T - self._shift
        reduced[~X.any(axis=1)] = 0
        return unit_rows(reduced)

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits naming the parent's fingerprint and the components."""
        self._check_fitted()
        return self._fingerprint

    def save(self, path: Path) -> None:
        """Write the reduction to one file."""
        self._check_fitted()
        arrays = {"mean": self.mean_, "components": self.components_}
        save_arrays(path, arrays, kind=KIND, manifest={"parent": self.parent_})

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what :meth:`save` wrote."""
        arrays, manifest = load_arrays(path, kind=KIND)
        mean, components = arrays.get("mean"), arrays.get("components")
        parent = manifest.get("parent")
        if (
            mean is None
            or components is None
            or not isinstance(parent, str)
            or {mean.dtype, components.dtype} != {np.dtype(np.float32)}
            or (mean.ndim, components.ndim) != (1, 2)
            or components.shape[1] != len(mean)
            or not (np.isfinite(mean).all() and np.isfinite(components).all())
        ):
            raise DamagedFile(f"{path} does not describe a reduction.")
        reduction = cls(dimension=len(components))
        reduction._keep(mean, components, parent)
        return reduction

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
            raise NotFitted("Reduction: it knows no components yet. Call fit first.")


def _checked(vectors: ArrayLike) -> NDArray[np.float32]:
    try:
        X = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"Reduction: vectors must be a dense array of numbers: {error}"
        ) from error
    if X.ndim != 2 or not np.isfinite(X).all():
        raise InvalidInput(
            f"Reduction: vectors must be finite and have a row a picture; got the shape {X.shape}"
            + (" with values that are not finite." if X.ndim == 2 else ".")
        )
    return X

"""Learn a metric that keeps pairs near and far, in the space of a kernel (KITML)."""

from lookalike.core.stored import with_settings
from lookalike.similarity.itml import ITML
from lookalike.similarity.kernel_map import KernelMap

MAX_DIMENSION, SHARE = 200, 5
"""The dimension of the paper: a fifth of the pictures, at most 200."""


@with_settings
class KITML(KernelMap, ITML):
    """Kernel ITML of low rank: ITML on the leading coordinates of a kernel.

    Jain, Kulis, Davis and Dhillon, *Metric and kernel learning using a linear transformation*
    (2012), a method of paper 5, section 6.4, with its low rank.

    Parameters
    ----------
    kernel : str
        Such as ``rbf:0.5``; see :class:`~lookalike.similarity.kernels.Kernel`.
    dimension : int or None
        Principal components kept; None is a fifth of the training pictures, at most 200, as in
        paper 5. As many as pictures, or more, are KITML of full rank (its KITMLFR).
    slack, pairs, max_passes, tolerance, random_state
        As for :class:`~lookalike.similarity.ITML`.

    Attributes
    ----------
    n_iter_ : int
        Passes used.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.1, 5.0], [1.0, 0.0], [1.1, 5.0]]
    >>> model = KITML(kernel="linear", dimension=2, pairs=100, random_state=0)
    >>> int(model.fit(X, [*"aabb"]).scores([[0.0, 5.0]], X[::3]).argmax())
    0
    """

    name = "kitml"

    kernel: str = "rbf:1"

    def _rank(self, pictures: int) -> int | None:
        return (
            min(MAX_DIMENSION, max(1, pictures // SHARE))
            if self.dimension is None
            else self.dimension
        )

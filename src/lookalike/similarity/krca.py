"""Whiten what varies within classes, in the space of a kernel (KRCA)."""

from lookalike.core.stored import with_settings
from lookalike.similarity.kernel_map import KernelMap
from lookalike.similarity.rca import RCA


@with_settings
class KRCA(KernelMap, RCA):
    """Kernel relevant component analysis: RCA on the coordinates of a kernel.

    Tsang, Cheung and Kwok, *Kernel relevant component analysis for distance metric learning*
    (2005), a method of paper 5, section 6.4. What RCA learns depends on inner products alone, so
    learning it on coordinates whose inner products are the kernel's values is the same.

    Parameters
    ----------
    kernel : str
        Such as ``rbf:0.5``; see :class:`~lookalike.similarity.kernels.Kernel`.
    dimension : int or None
        Principal components kept before learning; None keeps all that the pictures span.

    shrinkage : float or None
        As for :class:`~lookalike.similarity.RCA`.

    Attributes
    ----------
    shrinkage_ : float
        The weight of the multiple of the identity that was used.

    Notes
    -----
    Departures: as of :class:`~lookalike.similarity.RCA`.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.1, 5.0], [1.0, 0.0], [1.1, 5.0]]
    >>> int(KRCA(kernel="linear").fit(X, [*"aabb"]).scores([[0.0, 5.0]], X[::3]).argmax())
    0
    """

    name = "krca"

    kernel: str = "rbf:1"

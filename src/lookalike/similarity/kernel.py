"""Online kernel similarity (OKS): OASIS in the space of a kernel."""

from lookalike.core.seeds import RandomState
from lookalike.core.stored import with_settings
from lookalike.similarity.kernel_learner import KernelLearner
from lookalike.similarity.kernels import Kernel, KernelFunction
from lookalike.similarity.operator import Source


@with_settings
class KernelSimilarity(KernelLearner):
    """Learn S(q, p) = ⟨κ(q, ·), L[κ(p, ·)]⟩ so that related pictures score above others.

    Starting from L = I, a step for a triplet (p, p⁺, p⁻) is

        L ← L + τ·κ(p, ·)(κ(p⁺, ·) − κ(p⁻, ·))ᵀ,   τ = min(C, l/|Z|²)

    with the loss l = max(0, 1 − S(p, p⁺) + S(p, p⁻)) and |Z|² = κ(p, p)·(κ(p⁺, p⁺) − 2κ(p⁺, p⁻) +
    κ(p⁻, p⁻)): Xia, Hoi, Jin and Zhao, *Online Multiple Kernel Similarity Learning for Visual
    Search* (2014), Algorithm 1, Eq. 17 and 18. The algorithm as printed is
    ``KernelSimilarity(positive=False, normalize=False)`` with all pictures as landmarks.

    Parameters
    ----------
    kernel : str or callable
        Such as ``rbf:0.5``; see :class:`~lookalike.similarity.kernels.Kernel`.
    aggressiveness : float
        C of Eq. 15: the longest step.
    steps : int
        Triplets drawn by ``fit``.
    positive : bool
        Project L onto the positive operators after learning.
    normalize : bool
        Divide the score by the roots of both self-scores, so that no picture is near everything.
        Needs ``positive``.
    blend : float
        How far to go from the start (0) to what was learned (1): a power of the spectrum of a
        positive L.
    landmarks : int
        The most pictures whose kernel values describe every other. With fewer training pictures
        the operator is exact; of more, those nearest to k means are kept.
    dimension : int
        The most numbers stored for a picture.
    random_state : int, Generator or None
        Makes a run repeatable.

    Attributes
    ----------
    landmarks_ : ndarray of shape (n, d)
        The landmarks.
    mistakes_ : ndarray of shape (1,)
        The triplets that were in the wrong order when it met them.

    Notes
    -----
    The paper's step looks at all earlier ones, O(|SV|); here it takes O(n) for n training pictures,
    since the values of L on them are kept (``similarity/_fast/kernel.py``). Memory 12n² bytes up to
    4,096 training pictures. For more, the steps are taken on coordinates of the landmarks, O(r²)
    each for r landmarks.

    With ``normalize``, ``fit`` whitens vectors by how related pictures differ, view by view, before
    kernels compare them (:func:`~lookalike.similarity.whitening.whitening`); not for kernels of
    histograms and callables, nor in ``fit_triplets``.

    *Departures.* ``positive``, ``normalize``, ``blend`` and whitening are not in the paper. What
    κ(q, ·) and κ(p, ·) have in common outside the span of the landmarks is left out of the score:
    so scores are inner products of stored vectors.

    Examples
    --------
    >>> X = [[1, 0.1], [1, -0.1], [0.1, 1], [-0.1, 1]]
    >>> model = KernelSimilarity(steps=100, random_state=0).fit(X, ["a", "a", "b", "b"])
    >>> bool(model.scores(X[:1], X[1:2]) > model.scores(X[:1], X[2:3]))
    True
    """

    name = "oks"
    file_kind = "oks/2"

    kernel: str | KernelFunction = "rbf:0.5"
    aggressiveness: float = 0.1
    steps: int = 150_000
    positive: bool = True
    normalize: bool = True
    blend: float = 1.0
    landmarks: int = 1024
    dimension: int = 512
    random_state: RandomState = None

    def _sources(self, width: int) -> list[Source]:
        kernel = Kernel.of(type(self).__name__, self.kernel)
        return [Source(kernel.name, "", ((slice(0, width), kernel),))]

    def _check_kernels(self, who: str) -> None:
        Kernel.of(who, self.kernel)

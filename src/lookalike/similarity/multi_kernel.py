"""Online multiple kernel similarity (OMKS): several views and kernels, and weights that learn."""

from collections.abc import Sequence
from typing import Literal, get_args

from lookalike.core.checks import check_choice
from lookalike.core.seeds import RandomState
from lookalike.core.stored import with_settings
from lookalike.similarity.kernel_learner import KernelLearner
from lookalike.similarity.kernel_weights import Combine
from lookalike.similarity.kernels import Blocks, KernelFunction, kernels_of, views_of
from lookalike.similarity.operator import Source

AVERAGE = "average"


@with_settings
class MultiKernelSimilarity(KernelLearner):
    """Learn an operator for each kernel of each view, and how much each counts.

        f(q, p) = Σ_i θ_i·S_i(q, p)   (Eq. 20)

    where S_i is learned as in :class:`~lookalike.similarity.KernelSimilarity` and a kernel's weight
    is multiplied by β whenever it has a triplet in the wrong order: Xia, Hoi, Jin and Zhao, *Online
    Multiple Kernel Similarity Learning for Visual Search* (2014), Algorithm 2. The algorithm as
    printed is ``MultiKernelSimilarity(combine="hedge", discount=None, positive=False,
    normalize=False)`` with all pictures as landmarks.

    Parameters
    ----------
    kernels : str or sequence of str and callables
        Kernels of each view, such as ``"linear,rbf:0.5"``; see
        :class:`~lookalike.similarity.kernels.Kernel`.
    blocks : mapping of str to int, or sequence of pairs, or None
        The views: names and numbers of columns, in order. None: the whole row is one view.
    combine : {"views", "hedge", "uniform", "validation", "best", "average"}
        ``hedge`` has the weights of Algorithm 2. ``views`` applies it to views, where all kernels
        of a view count the same: what a triplet teaches of the bandwidth is memory rather than
        merit, since narrow kernels remember what they were taught. ``uniform`` has the same weight
        for all (OMKS-U); ``validation`` e to the mean average precision on held-out pictures
        (OMKS-W); ``best`` takes the best of those alone (OKS-Best); ``average`` learns one operator
        for the mean of all kernels (OKS-Avg).
    discount : float, "chosen" or None
        β. ``chosen``: chosen by ``fit`` on held-out pictures, together with the views (or kernels)
        that count: the best alone, unless several are certain to rank better; the others have the
        weight 0 and store nothing. None is √T/(√T + √ln m) for T triplets and m kernels, or views
        (Theorem 2), as it is from triplets and where too few pictures are related. The more
        triplets, the more of the weight that leaves to one.
    aggressiveness, steps, positive, normalize, landmarks, dimension, random_state
        As for :class:`~lookalike.similarity.KernelSimilarity`; ``normalize`` divides each S_i by
        its own self-scores.
    blend : float or None
        How far every kernel goes from the start (0) to what was learned (1). None: a share for
        each query; see *Notes*.
    held_out : float
        The share of pictures, or of triplets, held out for ``validation``, ``best`` and the
        discount.

    Attributes
    ----------
    weights_ : ndarray of shape (m,)
        θ as shares, in the order of ``names_``.
    view_weights_ : dict of str to float
        The share of each view.
    mistakes_ : ndarray of shape (m,)
        Σ z of Algorithm 2 for each kernel; with ``views`` for its view as a whole.

    Notes
    -----
    Kernels learn independently, so the weights follow from their numbers of mistakes alone. All
    kernels together are stored in at most ``dimension`` numbers: the axes of all of them on which
    training pictures, weighted, vary most. ``parts`` tells what each kernel adds to a score.

    *A share for each query.* Kernels with a bandwidth rank what was taught best, and other pictures
    worst. So with ``blend=None``, from labels or relevance, they are used whole, and count in their
    view from 0.1 for queries far from what was taught to 0.9 for those near to it
    (:class:`~lookalike.similarity.reach.Reach`); the other kernels have the rest, at half the
    power of their spectrum. With kernels of one sort only, and from triplets, all have half the
    power and the same weight for all queries.

    Examples
    --------
    >>> X = [[1, 0.1, 0.3], [1, -0.1, 0.9], [0.1, 1, 0.3], [-0.1, 1, 0.9]]
    >>> model = MultiKernelSimilarity(blocks={"good": 2, "bad": 1}, steps=100, random_state=0)
    >>> weights = model.fit(X, ["a", "a", "b", "b"]).view_weights_
    >>> weights["good"] > weights["bad"]
    True
    """

    name = "omks"
    file_kind = "omks/2"

    kernels: str | Sequence[str | KernelFunction] = "linear,rbf:0.5"
    blocks: Blocks = None
    combine: Combine = "views"
    discount: float | Literal["chosen"] | None = "chosen"
    aggressiveness: float = 0.1
    steps: int = 150_000
    positive: bool = True
    normalize: bool = True
    blend: float | None = None
    landmarks: int = 1024
    dimension: int = 512
    held_out: float = 0.2
    random_state: RandomState = None

    def _sources(self, width: int) -> list[Source]:
        who = type(self).__name__
        kernels = kernels_of(who, self.kernels)
        views = views_of(who, self.blocks, width)
        if self.combine == "average":
            every = tuple((at, kernel) for at in views.values() for kernel in kernels)
            return [Source(AVERAGE, AVERAGE, every)]
        return [
            Source(f"{view} {kernel.name}".strip(), view, ((at, kernel),))
            for view, at in views.items()
            for kernel in kernels
        ]

    def _check_kernels(self, who: str) -> None:
        check_choice(who, "combine", self.combine, get_args(Combine))
        kernels_of(who, self.kernels)

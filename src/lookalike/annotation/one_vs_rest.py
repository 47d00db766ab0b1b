"""One classifier per word: the pictures that have it against the rest."""

import numpy as np

from lookalike.annotation._fast.linear import WIDE, one_vs_rest_steps
from lookalike.annotation.held_out import Matrix
from lookalike.annotation.lessons import blocks
from lookalike.annotation.linear import LinearAnnotator, Taught
from lookalike.core.checks import check_number
from lookalike.core.progress import Progress
from lookalike.core.seeds import RandomState
from lookalike.core.stored import with_settings


@with_settings
class OneVsRest(LinearAnnotator):
    """Learn which pictures have each word, independently of the other words.

    The baseline One-vs-Rest of Weston, Bengio and Usunier (2010), section 6.3: f_i(x) = w_iᵀx,
    without a bias, by PA-I of Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, *Online
    Passive-Aggressive Algorithms* (2006). With s = 1 for a picture that has the word and −1 for
    one that does not,

        w_i ← w_i + s·τ·x,   τ = min(C, |1 − s·w_iᵀx|₊ / |x|²)

    Parameters
    ----------
    aggressiveness : float
        C, the maximum step, for pictures of length 1.
    epochs : int or None
        The maximum number of passes over the pictures. None means 30, fewer for more than 20,000
        pictures, and at least 5.
    held_out : float
        The share of the pictures, at most 2,000, to hold out: the passes are evaluated by
        precision at 1 on them, the last that is within a standard error of the best is kept, and
        confidence is learned there. Training ends when a fifth of ``epochs`` in a row were no
        better. A word's only picture is never held out. 0 holds out nothing and does all passes.
    random_state : int, Generator or None
        Makes a run repeatable.

    Notes
    -----
    A pass costs O(n·Y·nnz), since every picture is an example for every word; a model takes
    4·Y·d bytes, and twice that while it learns. Words are independent, so 64 at a time pass over
    all pictures while their vectors stay in the cache.

    *Departure.* ``aggressiveness`` is for pictures of mean squared length 1.

    Examples
    --------
    >>> X = np.array([[1, 0.1], [1, -0.1], [0.1, 1], [-0.1, 1]])
    >>> model = OneVsRest(random_state=0).fit(X, ["cat", "cat", "dog", "dog"])
    >>> [model.words_[i] for i in model.rank([[0.0, 1.0]], k=2).words[0]]
    ['dog', 'cat']
    """

    name = "one_vs_rest"

    aggressiveness: float = 0.1
    epochs: int | None = None
    held_out: float = 0.1
    random_state: RandomState = None

    def _pass(
        self, W: Matrix, taught: Taught, left: float, rng: np.random.Generator, progress: Progress
    ) -> None:
        order = rng.permutation(len(taught)).astype(np.uint32)
        C = np.float32(self.aggressiveness / taught.mean_length)
        for some in blocks(len(W), WIDE):
            block = np.zeros((W.shape[1], WIDE), np.float32)
            block[:, : some.stop - some.start] = W[some].T
            one_vs_rest_steps(
                block,
                np.uint64(some.start),
                taught.pictures,
                taught.lengths,
                taught.truth,
                order,
                C,
            )
            W[some] = block[:, : some.stop - some.start].T
            progress(len(order) * some.stop // len(W), len(order))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("OneVsRest", "aggressiveness", self.aggressiveness)

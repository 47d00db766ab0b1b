"""S3PLH: semi-supervised directions, each correcting the errors of those before it."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lookalike.codes.base import LinearEncoder, Matrix, centred
from lookalike.core.checks import check_number, check_whole
from lookalike.core.progress import Progress
from lookalike.core.seeds import RandomState, generator
from lookalike.core.stored import with_settings
from lookalike.core.vectors import Vectors

_ROWS = 256

_ZERO = 1e-4
"""An eigenvalue that counts as 0, of matrices at a norm of about 1."""


@with_settings
class S3PLH(LinearEncoder):
    """Semi-supervised sequential projection learning for hashing.

    Bit k is the side of the direction w_k through the mean that maximises wᵀM_k w with

        M_k = X_lᵀ S_k X_l + η XᵀX,

    X_l the labelled rows and X all of them, S_k the pairs: 1 for pictures that share a label, −1
    for those that do not. Then the pairs that w_k gets wrong weigh more,

        S_{k+1} = S_k − α T(S̃_k, S_k), S̃_k = X_l w_k w_kᵀ X_lᵀ,

    where T keeps an entry of S̃ whose sign differs from that of S and is 0 elsewhere, and w_k is
    taken out of X (Wang, Kumar and Chang, *Sequential Projection Learning for Hashing with
    Compact Codes*, ICML 2010; paper 3, section 4.1).

    Memory O(m²) for m labelled pictures, time O(bits · m² d).

    Parameters
    ----------
    bits : int
        The length of a code.
    labelled : int
        At most how many labelled pictures are learned from, drawn at random (paper 3: 5,000).
    regularisation : float
        η, the part of the unlabelled term; both terms are taken at a norm of 1.
    step : float
        α, for S̃ scaled to a largest entry of 1.
    random_state : int, Generator or None
        Which pictures are drawn, and the mixtures; see Notes.

    Notes
    -----
    Departures: pairs that share a label and pairs that do not weigh the same in all, since with
    many classes nearly all pairs are of the second kind, and a pair's S̃ is relative to its own
    weight. Once no direction is left that the pairs speak for (all eigenvalues of M_k are about 0
    or below, as soon as there are more bits than classes or columns), what is left is the null
    space, of which rounding would choose; there w_k is a random mixture of the directions learned
    before, by ``random_state``, so that further bits cut the learned space anew.

    Examples
    --------
    >>> X = [[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]]
    >>> S3PLH(bits=1, random_state=0).fit(X, [*"aabb"]).encode(X)[:, 0].tolist()
    [128, 128, 0, 0]
    """

    name = "s3plh"
    needs_labels = True

    bits: int = 64
    labelled: int = 5000
    regularisation: float = 0.1
    step: float = 0.5
    random_state: RandomState = None

    def _check_parameters(self) -> None:
        check_whole("S3PLH", "labelled", self.labelled, 2)
        check_number("S3PLH", "regularisation", self.regularisation)
        check_number("S3PLH", "step", self.step)

    def _learn(self, vectors: Vectors, has: Any, progress: Progress) -> None:
        rng = generator(self.random_state)
        rows, mean = centred(vectors, rng)
        labelled = np.flatnonzero(np.diff(has.indptr))
        if len(labelled) > self.labelled:
            labelled = np.sort(rng.choice(labelled, self.labelled, replace=False))
        some = vectors[labelled]
        dense = np.asarray(some if isinstance(some, np.ndarray) else some.toarray(), np.float64)
        pairs = pair_signs(has[labelled])
        self._set(self._directions(rows.T @ rows, dense - mean, pairs, rng, progress), mean)

    def _directions(
        self,
        scatter: Matrix,
        labelled: Matrix,
        pairs: NDArray[np.float32],
        rng: np.random.Generator,
        progress: Progress,
    ) -> Matrix:
        directions = np.empty((self.bits, len(scatter)))
        first = float(np.trace(scatter))
        for bit in range(self.bits):
            small = labelled.astype(np.float32)
            fit = (small.T @ (pairs @ small)).astype(np.float64)
            M = _unit(fit) + self.regularisation * _unit(scatter)
            values, vectors = np.linalg.eigh((M + M.T) / 2)
            used_up = np.trace(scatter) <= 1e-9 * first
            if bit and (used_up or values[-1] <= _ZERO):
                mixed = rng.standard_normal((self.bits - bit, bit)) @ directions[:bit]
                directions[bit:] = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
                break
            w = vectors[:, -1]
            w *= np.sign(w[np.abs(w).argmax()])
            directions[bit] = w
            projected = labelled @ w
            _reweigh(pairs, projected.astype(np.float32), float(self.step))
            labelled = labelled - np.outer(projected, w)
            kept = np.eye(len(w)) - np.outer(w, w)
            scatter = kept @ scatter @ kept
            progress(bit + 1, self.bits)
        progress(self.bits, self.bits)
        return directions


def pair_signs(has: sp.csr_matrix) -> NDArray[np.float32]:
    """Return a positive number for pairs that share a label, a negative one for the others.

    Each kind adds up to the number of pairs; a picture with itself is 0.
    """
    shared = np.asarray((has @ has.T).todense()) > 0
    np.fill_diagonal(shared, False)
    count = len(shared) * (len(shared) - 1)
    near = int(np.count_nonzero(shared))
    signs = np.where(
        shared, np.float32(count / max(near, 1)), np.float32(-count / max(count - near, 1))
    )
    np.fill_diagonal(signs, 0.0)
    return signs


def hashing_objective(signs: ArrayLike, shared: NDArray[np.bool_]) -> float:
    """Return J(H), what semi-supervised hashing maximises (paper 3, section 4.1).

    The sum over bits of Σ h(p_i)h(p_j) over pairs that share a label, less that over pairs that do
    not, plus the variance of the bit.

    Parameters
    ----------
    signs : array of shape (n, bits)
        H: +1 or −1 for each bit of each picture.
    shared : bool array of shape (n, n)
        Which pairs share a label; each pair counts once, and no picture with itself.

    Examples
    --------
    >>> shared = np.array([[True, True, False], [True, True, False], [False, False, True]])
    >>> hashing_objective([[1], [1], [-1]], shared).__round__(2)
    3.89
    """
    H = np.asarray(signs, dtype=np.float64)
    pairs = np.where(shared, 1.0, -1.0)
    np.fill_diagonal(pairs, 0.0)
    return float(np.einsum("ik,ij,jk->", H, pairs, H, optimize=True) / 2 + H.var(axis=0).sum())


def _reweigh(pairs: NDArray[np.float32], projected: NDArray[np.float32], step: float) -> None:
    """Add weight, in place, to the pairs that a direction gets wrong."""
    largest = float(np.square(projected).max(initial=0.0))
    if largest == 0.0:
        return
    scale = np.float32(step / largest)
    for first in range(0, len(pairs), _ROWS):
        some = pairs[first : first + _ROWS]
        result = np.outer(projected[first : first + _ROWS] * scale, projected)
        # |S| grows by the part of S̃ that has the other sign.
        some *= 1 + np.maximum(-np.sign(some) * result, 0)


def _unit(M: Matrix) -> Matrix:
    norm = float(np.linalg.norm(M))
    return M / norm if norm > 0 else M

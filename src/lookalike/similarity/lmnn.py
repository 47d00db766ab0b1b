"""Learn a metric in which neighbours of the same class are nearest, by a margin (LMNN)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.checks import check_number, check_whole
from lookalike.core.stored import with_settings
from lookalike.similarity._fast.lmnn import hinges
from lookalike.similarity.descent import Descent
from lookalike.similarity.linear_map import Matrix

BLOCK = 512
"""Rows of the distance matrix in memory at once."""


@with_settings
class LMNN(Descent):
    """Large margin nearest neighbours: pull target neighbours, push impostors.

    With d_ij = (x_i − x_j)ᵀ M (x_i − x_j), j ⇝ i the nearest of i's class by Euclidean distance
    and l of any other class, minimise over positive semidefinite M

        ω Σ_{j⇝i} d_ij + (1 − ω) Σ_{j⇝i, l} [1 + d_ij − d_il]₊

    (Weinberger, Blitzer and Saul, 2006, Eq. 3, weighted as in paper 1, section 6.1; settings of
    paper 1, sections 5.3.1, item 4, and 5.3.2). Between full passes, only pairs (i, l) that were
    within twice the margin at the last one are evaluated, as in Weinberger and Saul (2008).

    Memory O(nd + d² + active pairs), at most n² of them; a full pass takes O(n²k), an iteration
    O(nk² + k³ + active pairs · k), where k ≤ min(n − 1, d) is the dimension of what the vectors
    span.

    Parameters
    ----------
    neighbours : int
        Target neighbours of each picture; fewer in a small class.
    weight : float
        ω, between 0 and 1. The paper chose from 0.125, 0.25 and 0.5 by cross-validation.
    max_iterations : int
        Maximum number of gradient evaluations.
    tolerance : float
        Stop when a step lowers the loss by less than this fraction and a full pass finds no new
        impostors.

    Examples
    --------
    >>> X = [[0.0, 0.0], [0.1, 5.0], [1.0, 0.0], [1.1, 5.0]]
    >>> int(LMNN().fit(X, [*"aabb"]).scores([[0.0, 5.0]], X[::3]).argmax())
    0
    """

    name = "lmnn"

    neighbours: int = 3
    weight: float = 0.5
    max_iterations: int = 100
    tolerance: float = 1e-4

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("LMNN", "neighbours", self.neighbours, 1)
        check_number("LMNN", "weight", self.weight, below=1)

    def _loss(self, Z: Matrix, codes: NDArray[np.int64]) -> Margins:
        return Margins(Z, codes, int(self.neighbours), float(self.weight))


class Margins:
    """The loss of LMNN on the active pairs, chosen by :meth:`activate`."""

    def __init__(self, Z: Matrix, codes: NDArray[np.int64], neighbours: int, weight: float) -> None:
        self.Z = Z
        self.codes = codes
        self.weight = weight
        self.targets, self.starts = target_neighbours(Z, codes, neighbours)
        self.pairs = np.empty(0, dtype=np.int64)

    def activate(self, M: Matrix) -> int:
        """Activate pairs within twice the margin under ``M``; return how many violators are new."""
        Z, n = self.Z, len(self.Z)
        ZM = Z @ M
        own = np.einsum("ij,ij->i", ZM, Z)
        result: list[NDArray[np.int64]] = []
        violators: list[NDArray[np.int64]] = []
        for first in range(0, n, BLOCK):
            rows = np.arange(first, min(first + BLOCK, n))
            distances = own[rows, None] + own - 2 * (ZM[rows] @ Z.T)
            reach = np.full(len(rows), -np.inf)
            for at, i in enumerate(rows):
                mine = self.targets[self.starts[i] : self.starts[i + 1]]
                reach[at] = distances[at, mine].max(initial=-np.inf)
            excess = distances - reach[:, None]
            excess[self.codes[rows, None] == self.codes[None, :]] = np.inf
            for limit, pairs in ((2.0, result), (1.0, violators)):
                places, others = np.nonzero(excess < limit)
                pairs.append(rows[places] * n + others)
        new = ~np.isin(np.concatenate(violators), self.pairs, assume_unique=True)
        self.pairs = np.concatenate(result)
        return int(np.count_nonzero(new))

    def loss(self, M: Matrix) -> tuple[float, Matrix]:
        """Return the loss on the active pairs and its gradient in M."""
        Z, n = self.Z, len(self.Z)
        rows, impostors = np.divmod(self.pairs, n)
        starts_of_pairs = np.searchsorted(rows, np.arange(n + 1)).astype(np.uint64)
        pulled, pushed = np.empty(len(self.targets)), np.empty(len(self.pairs))
        pull, push = hinges(
            Z @ M,
            Z,
            self.targets,
            self.starts,
            starts_of_pairs,
            impostors.astype(np.uint32),
            pulled,
            pushed,
        )
        sources = np.repeat(np.arange(n), self.starts[1:] - self.starts[:-1])
        pull_weight, push_weight = self.weight, 1 - self.weight
        hit = pushed > 0
        values = np.concatenate([pull_weight + push_weight * pulled, -push_weight * pushed[hit]])
        ends = (
            np.concatenate([sources, rows[hit]]),
            np.concatenate([self.targets, impostors[hit]]),
        )
        E = sp.csr_matrix((values, ends), shape=(n, n))
        both = E + E.T
        degrees = np.asarray(both.sum(axis=1)).ravel()
        gradient = (Z * degrees[:, None]).T @ Z - Z.T @ (both @ Z)
        return pull_weight * pull + push_weight * push, gradient


def target_neighbours(
    Z: Matrix, codes: NDArray[np.int64], neighbours: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the nearest rows of each row's own class as one list, and where each row starts."""
    nearest: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)] * len(Z)
    for code in range(int(codes.max()) + 1):
        members = np.flatnonzero(codes == code)
        squares = np.einsum("ij,ij->i", Z[members], Z[members])
        distances = squares[:, None] + squares - 2 * (Z[members] @ Z[members].T)
        np.fill_diagonal(distances, np.inf)
        count = min(neighbours, len(members) - 1)
        order = np.argsort(distances, axis=1, kind="stable")[:, :count]
        for at, i in enumerate(members):
            nearest[i] = members[order[at]]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in nearest])])
    return np.concatenate(nearest).astype(np.uint32), starts.astype(np.uint32)

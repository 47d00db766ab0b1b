"""The objective of a sparse similarity over triplets, and its minimum by L-BFGS-B."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.features._fast.kmeans import in_threads
from lookalike.similarity._fast.sparse import TINY, add_gradient, all_products, hinge, pair_scores
from lookalike.similarity.sparse_matrix import Mask, loop_rows

F64 = NDArray[np.float64]

SLICES = 8
"""The pairs are summed in so many slices, whatever the number of threads."""
ROUND = 10
"""Iterations with the same active triplets (section IV-C)."""
TOLERANCES = {"maxcor": 8, "gtol": 0.0, "ftol": 1e-10}
"""Of L-BFGS-B. Each unknown has a tiny slope: their size says nothing of the end."""
SLACK = 0.5
"""Triplets whose margin is exceeded by less than this share of it count as active, too."""


@dataclass(frozen=True)
class PairProducts:
    """∂S_ij/∂M of many pairs of pictures, kept as paper 4, section IV-C, proposes.

    S_ij = Σ_u M_uu·i_u·j_u + Σ_{u,v} M_uv·(i_u·j_v + i_v·j_u) is linear in M, so these are all that
    an evaluation needs. They have as many elements as the two pictures have words in common or near
    each other.

    Attributes
    ----------
    ends : ndarray of int64
        Where the elements of each pair end.
    found : ndarray of int32
        The unknown of each element.
    products : ndarray of float32
        Its value.
    """

    ends: NDArray[np.int64]
    places: NDArray[np.int32]
    products: NDArray[np.float32]

    @classmethod
    def of(cls, vectors: sp.csr_matrix, mask: Mask, pairs: NDArray[np.int32]) -> Self:
        """Return those of pairs sorted by their first picture."""
        rows, lists = loop_rows(vectors), mask.lists
        ends = np.zeros(len(pairs) + 1, np.int64)
        bounds = np.linspace(0, len(pairs), SLICES + 1).astype(np.int64)
        none = np.zeros(0, np.int32), np.zeros(0, np.float32)

        def work(slice_: int, result: Any, products: Any, is_counting: bool) -> None:
            first, last = int(bounds[slice_]), int(bounds[slice_ + 1])
            all_products(pairs, first, last, *rows, *lists, ends, result, products, is_counting)

        list(in_threads(lambda at: work(at, *none, True), SLICES))
        np.cumsum(ends, out=ends)
        result, products = np.empty(ends[-1], np.int32), np.empty(ends[-1], np.float32)
        list(in_threads(lambda at: work(at, result, products, False), SLICES))
        return cls(ends, result, products)


@dataclass(frozen=True)
class Objective:
    """Eq. 4 of paper 4: Σ w·[Ŝ_il − Ŝ_ij + γ]₊ with Ŝ_ij = S_ij² / (S_ii·S_jj).

    Attributes
    ----------
    pairs : ndarray of int32, shape (n, 2)
        The pairs of pictures in triplets, sorted, then one of each picture with itself.
    own : ndarray of int64, shape (n, 2)
        For each pair, the places of its two pictures' pairs with themselves.
    triplets : ndarray of int32, shape (m, 2)
        The places of the pairs (i, j) and (i, l) of each triplet.
    weights : ndarray of float64
        They sum to 1.
    """

    mask: Mask
    margin: float
    pairs: NDArray[np.int32]
    own: NDArray[np.int64]
    triplets: NDArray[np.int32]
    weights: F64
    products: PairProducts

    @classmethod
    def of(
        cls,
        vectors: sp.csr_matrix,
        mask: Mask,
        triplets: NDArray[np.int32],
        weights: F64,
        margin: float,
    ) -> Self:
        """Return the objective of triplets of rows of ``vectors``, all at unit length."""
        rows = triplets.astype(np.int64)
        n = vectors.shape[0]
        keys = np.concatenate([rows[:, 0] * n + rows[:, 1], rows[:, 0] * n + rows[:, 2]])
        different, places = np.unique(keys, return_inverse=True)
        between = np.stack([different // n, different % n], axis=1)
        pictures = np.unique(between)
        pairs = np.concatenate([between, np.stack([pictures, pictures], axis=1)]).astype(np.int32)
        own = len(between) + np.searchsorted(pictures, pairs)
        m = len(rows)
        by_pair = np.stack([places[:m], places[m:]], axis=1).astype(np.int32)
        products = PairProducts.of(vectors, mask, pairs)
        return cls(mask, margin, pairs, own, by_pair, weights / weights.sum(), products)

    @cached_property
    def between(self) -> int:
        """How many pairs are of two pictures."""
        return int(self.own.min()) if len(self.own) else 0

    def value(self, M: F64, active: NDArray[np.int64] | None = None) -> tuple[float, F64, F64]:
        """Return the objective at M, its gradient, and what is within the brackets of Eq. 4.

        With ``active``, only those triplets count.
        """
        triplets = self.triplets if active is None else self.triplets[active]
        weights = self.weights if active is None else self.weights[active]
        used = np.unique(triplets)
        rows = np.concatenate([used, np.unique(self.own[used])]) if len(used) else used
        rows = rows.astype(np.int64)
        parts = self._slices(len(rows))
        scores = np.zeros(len(self.pairs))
        self._each(parts, lambda a, b, _: pair_scores(rows, a, b, *self._active_pairs, M, scores))
        selves = np.maximum(scores[self.own[: self.between]], TINY)
        normal = np.zeros(len(self.pairs))
        between = scores[: self.between]
        normal[: self.between] = between**2 / (selves[:, 0] * selves[:, 1])
        losses, slopes = np.empty(len(triplets)), np.zeros(len(self.pairs))
        total = hinge(triplets, weights, self.margin, normal, losses, slopes)
        by_score = np.zeros(len(self.pairs))
        outer = slopes[: self.between]
        by_score[: self.between] = outer * 2 * between / (selves[:, 0] * selves[:, 1])
        for side in (0, 1):
            shares = -outer * normal[: self.between] / selves[:, side]
            by_score += np.bincount(
                self.own[: self.between, side], shares, minlength=len(self.pairs)
            )
        gradients = [np.zeros(len(M)) for _ in range(SLICES)]
        self._each(
            parts,
            lambda a, b, at: add_gradient(rows, a, b, *self._active_pairs, by_score, gradients[at]),
        )
        for other in gradients[1:]:
            gradients[0] += other
        return float(total), gradients[0], losses

    def minimise(self, start: F64, iterations: int, look: Callable[[F64], bool]) -> tuple[F64, int]:
        """Return the last M and the number of iterations, M ≥ 0 (Eq. 5), by L-BFGS-B.

        ``look`` is called with M after each, and ends the search by returning True. Between full
        passes over the triplets, every ten iterations, only active ones are evaluated.
        """
        from scipy.optimize import Bounds, minimize

        M, done, is_over = start, 0, False

        def after(now: F64) -> None:
            nonlocal done, M, is_over
            done += 1
            M = np.array(now)
            is_over = look(M)
            if is_over:
                raise StopIteration

        while done < iterations and not is_over:
            losses = self.value(M)[2]
            active = np.flatnonzero(losses > -SLACK * self.margin)
            before = done
            search: Any = minimize  # its stubs know no callback that takes M alone
            search(
                lambda now, active: self.value(now, active)[:2],
                M,
                args=(active,),
                jac=True,
                method="L-BFGS-B",
                bounds=Bounds(np.zeros(len(M)), np.full(len(M), np.inf)),
                callback=after,
                options={**TOLERANCES, "maxiter": min(ROUND, iterations - done)},
            )
            if done == before:
                break
        return M, done

    @property
    def _active_pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        return self.products.ends, self.products.places, self.products.products

    @staticmethod
    def _slices(count: int) -> NDArray[np.int64]:
        return np.linspace(0, count, SLICES + 1).astype(np.int64)

    @staticmethod
    def _each(parts: NDArray[np.int64], work: Callable[[int, int, int], None]) -> None:
        list(in_threads(lambda at: work(int(parts[at]), int(parts[at + 1]), at), SLICES))

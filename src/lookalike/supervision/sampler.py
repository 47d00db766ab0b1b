"""Draw triplets from relevance, without ever listing them all."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lookalike.core import sparse as sp
from lookalike.core.checks import check_choice
from lookalike.core.errors import InvalidInput
from lookalike.supervision._fast import sampling as loops
from lookalike.supervision.relevance import Relevance, flat


class TripletSampler:
    """Draw triplets (image, more similar, less similar) as described in paper 1, section 2.3.

    With ``"uniform"``, the image is drawn uniformly from those that have both a related and an
    unrelated picture, and the more similar one uniformly from all that are related to it (once
    each, however many labels they share), never the image itself. With ``"relevance"``, the pair
    (i, j) is drawn in proportion to r(i, j), which is the number of shared labels for plain labels
    and Eq. 19 for clicks, from the lists, without the matrix. The less similar one is drawn
    uniformly from the pictures known to be unrelated (``"unrelated"``), or from all but the two
    (``"all"``), as the paper does when there are very many classes.

    Parameters
    ----------
    relevance : Relevance
        Which pictures are related.
    sampling : {"uniform", "relevance"}
        How the image and the more similar one are drawn.
    negatives : {"unrelated", "all"}
        What the less similar one is drawn from. An unlabelled picture is not known to be
        unrelated, so only ``"all"`` draws it.
    anchors : array of int, optional
        The rows from which the image is drawn, such as a shard; the others may be any row.

    Attributes
    ----------
    anchors_ : ndarray of uint32
        The rows from which the image is drawn.

    Examples
    --------
    >>> from lookalike.core.seeds import generator, loop_state
    >>> sampler = TripletSampler(Relevance.of(["cat", "cat", "dog"]))
    >>> sampler.draw(loop_state(generator(0)), 2)
    array([[0, 1, 2],
           [1, 0, 2]], dtype=uint32)
    """

    def __init__(
        self,
        relevance: Relevance,
        *,
        sampling: Literal["uniform", "relevance"] = "uniform",
        negatives: Literal["unrelated", "all"] = "unrelated",
        anchors: ArrayLike | None = None,
    ) -> None:
        check_choice("TripletSampler", "sampling", sampling, ("uniform", "relevance"))
        check_choice("TripletSampler", "negatives", negatives, ("unrelated", "all"))
        self.relevance = relevance
        self.sampling = sampling
        self.negatives = negatives
        links = relevance.links
        self._links = flat(links.indptr), flat(links.indices)
        self._members = (
            None
            if relevance.labels_ is None
            else (flat(relevance.members.indptr), flat(relevance.members.indices))
        )
        self._known = flat(np.flatnonzero(relevance.known))
        possible = self._possible()
        if anchors is not None:
            possible &= _mask(anchors, len(relevance))
        if sampling == "relevance":
            self._prepare_weights()
            possible &= self._totals > 0
        if not possible.any():
            raise InvalidInput(
                "TripletSampler: none of the anchors has both a related and an unrelated picture. "
                "Give other anchors."
            )
        self.anchors_ = flat(np.flatnonzero(possible))
        if sampling == "relevance":
            self._anchor_sums = np.cumsum(self._totals[self.anchors_])

    def draw(self, state: NDArray[np.uint64], count: int) -> NDArray[np.uint32]:
        """Draw ``count`` triplets, advancing ``state`` (see :func:`core.seeds.loop_state`).

        Returns
        -------
        ndarray of uint32, shape (count, 3)
            Rows (image, more similar, less similar). The same state and count give the same rows.
        """
        if state.shape != (4,) or state.dtype != np.uint64 or not state.any():
            raise InvalidInput(
                "TripletSampler.draw: state must be four uint64, not all 0; "
                "make it with core.seeds.loop_state."
            )
        if count < 0:
            raise InvalidInput(f"TripletSampler.draw: count must be 0 or more; got {count}.")
        triplets = np.empty((count, 3), dtype=np.uint32)
        self._draw_alike(state, triplets)
        self._draw_less_alike(state, triplets)
        return triplets

    def _draw_alike(self, state: NDArray[np.uint64], out: NDArray[np.uint32]) -> None:
        if self.sampling == "uniform":
            if self._members is None:
                loops.row_pairs(state, out, self.anchors_, *self._links)
            else:
                loops.label_pairs(state, out, self.anchors_, *self._links, *self._members)
        elif self._members is None:
            loops.weighted_row_pairs(
                state, out, self.anchors_, self._anchor_sums, *self._links, self._sums
            )
        else:
            loops.weighted_label_pairs(
                state,
                out,
                self.anchors_,
                self._anchor_sums,
                *self._links,
                self.relevance.links.data,
                *self._members,
                self._sums,
            )

    def _draw_less_alike(self, state: NDArray[np.uint64], out: NDArray[np.uint32]) -> None:
        if self.negatives == "all":
            loops.any_other(state, out, len(self.relevance))
        elif self._members is None:
            loops.unpaired(state, out, self._known, *self._links)
        elif self.relevance.is_single:
            loops.other_class(state, out, *self._links, *self._members)
        else:
            loops.unshared(state, out, self._known, *self._links)

    def _possible(self) -> NDArray[np.bool_]:
        """Return the rows that can be the image of a triplet, or raise InvalidInput."""
        relevance = self.relevance
        # With negatives from all pictures, triplets of one class alone would be noise; with
        # unlabelled pictures among the negatives they are not.
        if self.negatives == "unrelated" or relevance.known.all():
            reason = relevance.trainable()
        elif not relevance.has_alike.any() or len(relevance) < 3:
            reason = "No two pictures are related, or there are fewer than three."
        else:
            reason = None
        if reason is not None:
            raise InvalidInput(
                f"TripletSampler: no triplet can be drawn. {reason} "
                f"Give at least two labels, one of them to at least two pictures."
            )
        if self.negatives == "all":
            return relevance.has_alike.copy()
        possible: NDArray[np.bool_] = relevance.has_alike & relevance.has_unlike
        return possible

    def _prepare_weights(self) -> None:
        """Return the running sums of the weights in each list, and the sum of each row of r."""
        links = self.relevance.links
        if self.relevance.labels_ is None:
            self._sums = _running_sums(links)
            self._totals = _row_totals(links, self._sums)
            return
        members = self.relevance.members
        self._sums = _running_sums(members)
        masses = _row_totals(members, self._sums)[links.indices]
        parts = sp.csr_matrix(
            (links.data * (masses - links.data), links.indices, links.indptr), shape=links.shape
        )
        self._totals = np.maximum(np.asarray(parts.sum(axis=1)).ravel(), 0.0)


def _running_sums(matrix: sp.csr_matrix) -> NDArray[np.float64]:
    """Return running sums along each row, restarted per row so that none loses precision."""
    sums = np.empty(matrix.nnz, dtype=np.float64)
    for start, end in zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True):
        np.cumsum(matrix.data[start:end], out=sums[start:end])
    return sums


def _row_totals(matrix: sp.csr_matrix, sums: NDArray[np.float64]) -> NDArray[np.float64]:
    totals = np.zeros(matrix.shape[0], dtype=np.float64)
    filled = np.diff(matrix.indptr) > 0
    totals[filled] = sums[matrix.indptr[1:][filled] - 1]
    return totals


def _mask(anchors: ArrayLike, n: int) -> NDArray[np.bool_]:
    rows = np.asarray(anchors)
    if rows.ndim != 1 or not rows.size or rows.dtype.kind not in "iu":
        raise InvalidInput(
            f"TripletSampler: anchors must be row numbers; got {rows.dtype} of shape {rows.shape}."
        )
    if rows.min() < 0 or rows.max() >= n:
        raise InvalidInput(
            f"TripletSampler: anchors must be from 0 to {n - 1}; got {rows.min()} to {rows.max()}."
        )
    mask = np.zeros(n, dtype=np.bool_)
    mask[rows] = True
    return mask

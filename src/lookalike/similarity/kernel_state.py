"""What a similarity in kernels has learned: landmarks, kernels, axes and weights, as one value."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.core.stored import Arrays, Learned, stored_whole
from lookalike.core.vectors import unit_rows
from lookalike.similarity.base import stored_array
from lookalike.similarity.kernels import Floats
from lookalike.similarity.operator import Axes, Source, kernel_values, views_in
from lookalike.similarity.reach import Reach
from lookalike.similarity.whitening import whitening
from lookalike.supervision import Relevance

MAX_VALUES = 1 << 24
"""Kernel values in memory at once."""


@dataclass(frozen=True)
class KernelState:
    """Operators of several kernels over the same landmarks, and how much each counts.

    Attributes
    ----------
    landmarks : ndarray of shape (n, d)
    sources : sequence of Source
        The kernels, m of them, with their bandwidths.
    axes : sequence of Axes
        What is stored of pictures for each kernel.
    weights : ndarray of shape (m,)
        They sum to 1.
    mistakes : ndarray of shape (m,)
    steps : int
    whitening : ndarray of shape (d, d) or None
        A, by which rows are whitened before kernels compare them, view by view.
    reach : Reach or None
        The share of the kernels that compare what is near, for each query; None: their weight.
    discount : float or None
        The β that was chosen on held-out pictures; None where it was not.
    """

    landmarks: Floats
    sources: Sequence[Source]
    axes: Sequence[Axes]
    weights: NDArray[np.float64]
    mistakes: NDArray[np.int64]
    steps: int
    whitening: Floats | None = None
    reach: Reach | None = None
    discount: float | None = None

    def whitened(self, rows: Floats) -> Floats:
        """Return rows as kernels compare them."""
        if self.whitening is None:
            return rows
        return whitened_views(rows, self.whitening, self.sources)

    def query_weights(self, rows: Floats) -> NDArray[np.float64]:
        """Return the weight of each kernel for each query.

        By a reach, a view's weight is divided between its kernels that compare what is near and
        the others.
        """
        if self.reach is None:
            return np.broadcast_to(self.weights, (len(rows), len(self.weights)))
        near = self.reach.shares(self.whitened(rows)).astype(np.float64)[:, None]
        local = np.array([one.is_local for one in self.sources])
        views = np.array([one.view for one in self.sources])
        result = np.tile(self.weights, (len(rows), 1))
        for view in np.unique(views):
            groups = [(views == view) & local, (views == view) & ~local]
            sums = [self.weights[one].sum() for one in groups]
            if min(sums) > 0:
                for group, total, share in zip(groups, sums, (near, 1 - near), strict=True):
                    result[:, group] *= share * sum(sums) / total
        return result

    def blocks(self, who: str, given: Floats, *, unit: bool) -> list[Floats]:
        """Return what is stored of pictures, k(x) @ map, for each kernel, some rows at a time."""
        rows = self.whitened(given)
        kept = [one for one, axes in zip(self.sources, self.axes, strict=True) if axes.width]
        blocks = [np.empty((len(rows), axes.width), np.float32) for axes in self.axes]
        step = max(1, MAX_VALUES // max(1, len(self.landmarks) * len(kept)))
        for start in range(0, len(rows), step):
            values = kernel_values(who, kept, rows[start : start + step], self.landmarks)
            for source, axes, block in zip(self.sources, self.axes, blocks, strict=True):
                if axes.width:
                    mapped = values[source.name] @ axes.map
                    block[start : start + step] = unit_rows(mapped) if unit else mapped
        return blocks

    def query_values(self, who: str, rows: Floats, *, unit: bool) -> list[Floats]:
        """Return the same for queries: each block turned, and times its kernel's weight."""
        blocks = self.blocks(who, rows, unit=unit)
        weights = self.query_weights(rows).astype(np.float32).T[:, :, None]
        return [
            (block if axes.turn is None else block @ axes.turn) * weight
            for block, axes, weight in zip(blocks, self.axes, weights, strict=True)
        ]

    @property
    def width(self) -> int:
        """The numbers stored for a picture."""
        return sum(axes.width for axes in self.axes)

    def stored(self) -> tuple[Arrays, Learned]:
        """Return it as arrays and JSON values."""
        arrays: Arrays = {
            "landmarks": self.landmarks,
            "map": np.ascontiguousarray(np.hstack([one.map for one in self.axes])),
        }
        turns = [np.ravel(one.turn) for one in self.axes if one.turn is not None]
        if turns:
            arrays["turn"] = np.concatenate(turns)
        if self.whitening is not None:
            arrays["whitening"] = self.whitening
        if self.reach is not None:
            arrays["taught"] = self.reach.landmarks
        learned = {
            "width": int(self.landmarks.shape[1]),
            "widths": [one.width for one in self.axes],
            "bandwidths": [[one.bandwidth for _, one in it.kernels] for it in self.sources],
            "weights": self.weights.tolist(),
            "mistakes": self.mistakes.tolist(),
            "steps": self.steps,
            "discount": self.discount,
            "turned": bool(turns),
            "whitened": self.whitening is not None,
            "reach": None if self.reach is None else self.reach.rule(),
        }
        return arrays, learned

    @classmethod
    def restored(cls, arrays: Arrays, learned: Learned, sources: Sequence[Source]) -> "KernelState":
        """Return what :meth:`stored` returned, or raise ValueError if it is not valid."""
        landmarks, to = stored_array(arrays, "landmarks", 2), stored_array(arrays, "map", 2)
        widths = [stored_whole(one) for one in learned["widths"]]
        weights = np.array([float(one) for one in learned["weights"]])
        mistakes = np.array([stored_whole(one) for one in learned["mistakes"]], dtype=np.int64)
        steps, width = stored_whole(learned["steps"]), stored_whole(learned["width"])
        turned, whitened = learned["turned"], learned["whitened"]
        if landmarks.shape[1] != width or to.shape != (len(landmarks), sum(widths)):
            raise ValueError(f"landmarks are of shape {landmarks.shape}, map of {to.shape}.")
        if not len(widths) == len(weights) == len(mistakes) == len(sources):
            raise ValueError(f"widths are {widths}, weights {weights}, mistakes {mistakes}.")
        if not (weights >= 0).all() or not abs(weights.sum() - 1) < 1e-6:
            raise ValueError(f"weights are {weights}.")
        if not isinstance(turned, bool):
            raise ValueError(f"turned is {turned!r:.80}.")
        turns = _turns(arrays, widths) if turned else [None] * len(widths)
        maps = np.split(to, np.cumsum(widths)[:-1], axis=1)
        axes = [
            Axes(np.ascontiguousarray(one), turn, np.ones(one.shape[1]))
            for one, turn in zip(maps, turns, strict=True)
        ]
        pairs = zip(sources, learned["bandwidths"], strict=True)
        fitted = [source.with_bandwidths(bandwidths) for source, bandwidths in pairs]
        A, reach, width = None, None, landmarks.shape[1]
        if not isinstance(whitened, bool):
            raise ValueError(f"whitened is {whitened!r:.80}.")
        if whitened:
            A = stored_array(arrays, "whitening", 2)
            if A.shape != (width, width):
                raise ValueError(f"whitening is of shape {A.shape}.")
        if learned["reach"] is not None:
            taught = {"landmarks": stored_array(arrays, "taught", 2)}
            reach = Reach.restored(taught, learned["reach"], width)
        discount = learned.get("discount")
        if discount is not None and not 0 < float(discount) <= 1:
            raise ValueError(f"discount is {discount!r:.80}.")
        return cls(landmarks, fitted, axes, weights, mistakes, steps, A, reach, discount)


def view_whitening(rows: Floats, relevance: Relevance, sources: Sequence[Source]) -> Floats:
    """Return what whitens each view by how related pictures differ."""
    A = np.eye(rows.shape[1], dtype=np.float32)
    for at in views_in(sources):
        result = whitening(rows[:, at], relevance)
        if result is not None:
            A[at, at] = result
    return A


def whitened_views(rows: Floats, A: Floats, sources: Sequence[Source]) -> Floats:
    """Return each view of rows times its part of A, at unit length before and after."""
    result = np.empty_like(rows)
    for at in views_in(sources):
        result[:, at] = unit_rows(unit_rows(rows[:, at]) @ A[at, at])
    return result


def _turns(arrays: Arrays, widths: Sequence[int]) -> list[Floats | None]:
    flat = stored_array(arrays, "turn", 1)
    ends = np.cumsum([one * one for one in widths])
    if len(flat) != ends[-1]:
        raise ValueError(f"turn has {len(flat)} numbers, expected {ends[-1]}.")
    parts = zip(np.split(flat, ends[:-1]), widths, strict=True)
    return [np.ascontiguousarray(part.reshape(size, size)) for part, size in parts]

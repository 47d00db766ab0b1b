"""What a similarity in kernels has learned: landmarks, kernels, axes and weights, as one value."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lookalike.core.stored import Arrays, Learned
from lookalike.core.vectors import unit_rows
from lookalike.similarity.base import stored_array
from lookalike.similarity.kernels import Floats
from lookalike.similarity.operator import Axes, Source, kernel_values

MOST_VALUES = 1 << 24
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
    """

    landmarks: Floats
    sources: Sequence[Source]
    axes: Sequence[Axes]
    weights: NDArray[np.float64]
    mistakes: NDArray[np.int64]
    steps: int

    def blocks(self, who: str, rows: Floats, *, unit: bool) -> list[Floats]:
        """Return what is stored of pictures, k(x) @ map, for each kernel, some rows at a time."""
        kept = [one for one, axes in zip(self.sources, self.axes, strict=True) if axes.width]
        blocks = [np.empty((len(rows), axes.width), np.float32) for axes in self.axes]
        step = max(1, MOST_VALUES // max(1, len(self.landmarks) * len(kept)))
        for start in range(0, len(rows), step):
            values = kernel_values(who, kept, rows[start : start + step], self.landmarks)
            for source, axes, block in zip(self.sources, self.axes, blocks, strict=True):
                if axes.width:
                    mapped = values[source.name] @ axes.map
                    block[start : start + step] = unit_rows(mapped) if unit else mapped
        return blocks

    def asked(self, who: str, rows: Floats, *, unit: bool) -> list[Floats]:
        """Return the same for queries: each block turned, and times its kernel's weight."""
        blocks = self.blocks(who, rows, unit=unit)
        return [
            (block if axes.turn is None else block @ axes.turn) * np.float32(weight)
            for block, axes, weight in zip(blocks, self.axes, self.weights, strict=True)
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
        learned = {
            "width": int(self.landmarks.shape[1]),
            "widths": [one.width for one in self.axes],
            "bandwidths": [[one.bandwidth for _, one in it.kernels] for it in self.sources],
            "weights": self.weights.tolist(),
            "mistakes": self.mistakes.tolist(),
            "steps": self.steps,
            "turned": bool(turns),
        }
        return arrays, learned

    @classmethod
    def restored(cls, arrays: Arrays, learned: Learned, sources: Sequence[Source]) -> "KernelState":
        """Return what :meth:`stored` returned, or raise ValueError if it is not valid."""
        landmarks, to = stored_array(arrays, "landmarks", 2), stored_array(arrays, "map", 2)
        widths = [int(one) for one in learned["widths"]]
        weights = np.array([float(one) for one in learned["weights"]])
        mistakes = np.array([int(one) for one in learned["mistakes"]], dtype=np.int64)
        steps, turned = int(learned["steps"]), learned["turned"]
        if landmarks.shape[1] != int(learned["width"]) or to.shape != (len(landmarks), sum(widths)):
            raise ValueError(f"landmarks are of shape {landmarks.shape}, map of {to.shape}.")
        if not len(widths) == len(weights) == len(mistakes) == len(sources) or min(widths) < 0:
            raise ValueError(f"widths are {widths}, weights {weights}, mistakes {mistakes}.")
        if not (weights >= 0).all() or not abs(weights.sum() - 1) < 1e-6:
            raise ValueError(f"weights are {weights}.")
        if steps < 0 or mistakes.min() < 0 or not isinstance(turned, bool):
            raise ValueError(f"mistakes are {mistakes} in {steps} steps, turned {turned!r:.80}.")
        turns = _turns(arrays, widths) if turned else [None] * len(widths)
        maps = np.split(to, np.cumsum(widths)[:-1], axis=1)
        axes = [
            Axes(np.ascontiguousarray(one), turn, np.ones(one.shape[1]))
            for one, turn in zip(maps, turns, strict=True)
        ]
        pairs = zip(sources, learned["bandwidths"], strict=True)
        fitted = [source.with_bandwidths(bandwidths) for source, bandwidths in pairs]
        return cls(landmarks, fitted, axes, weights, mistakes, steps)


def _turns(arrays: Arrays, widths: Sequence[int]) -> list[Floats | None]:
    flat = stored_array(arrays, "turn", 1)
    ends = np.cumsum([one * one for one in widths])
    if len(flat) != ends[-1]:
        raise ValueError(f"turn has {len(flat)} numbers, expected {ends[-1]}.")
    parts = zip(np.split(flat, ends[:-1]), widths, strict=True)
    return [np.ascontiguousarray(part.reshape(size, size)) for part, size in parts]

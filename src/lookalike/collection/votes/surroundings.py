"""What the pictures of a collection say of votes, without a label: how far they reach."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lookalike.collection.vectors.queries import VectorSource
from lookalike.collection.votes.steps import Weights
from lookalike.core.vectors import Vectors, dense

MEAN_KERNEL = 1.5e-3
"""What the kernel is to be on average between two pictures of a collection.

It sets the width, wherever cosines lie, without a label (decision 13)."""

NEIGHBOURS = 10
"""Nearest pictures that are compared for what two pictures have in common."""

MAX_AMONG = 4096
"""Pictures of the collection among which these are looked for."""

MAX_SAMPLE = 500
MAX_GAMMA, MIN_GAMMA = 25.0, 2.0


@dataclass(frozen=True)
class Surroundings:
    """The pictures of a collection at one moment."""

    source: VectorSource

    @cached_property
    def width(self) -> float:
        """γ of the kernel, by the mean of the kernel between pictures of the collection."""
        X = self._sample(MAX_SAMPLE)
        cosines = dense(X @ X.T)[np.triu_indices(X.shape[0], 1)]
        narrow, wide = MAX_GAMMA, MIN_GAMMA
        if not len(cosines):
            return float(np.sqrt(narrow * wide))
        for _ in range(20):
            middle = np.sqrt(narrow * wide)
            if np.exp(-((middle * (1 - cosines)) ** 2)).mean() > MEAN_KERNEL:
                wide = middle
            else:
                narrow = middle
        return round(float(narrow), 2)

    def in_common(self, vectors: Vectors) -> Weights:
        """Return how many of its nearest pictures each vector has in common with the first."""
        cosines = dense(vectors @ self.among.T)
        nearest = np.argpartition(-cosines, min(NEIGHBOURS, cosines.shape[1]) - 1, axis=1)
        near = [{*row} for row in nearest[:, :NEIGHBOURS].tolist()]
        return np.array([len(near[0] & one) for one in near], np.float64)

    @cached_property
    def among(self) -> Vectors:
        """The pictures among which neighbours are looked for."""
        return self._sample(MAX_AMONG)

    def _sample(self, count: int) -> Vectors:
        """Return vectors of the collection, at most so many, from all over it."""
        ids = self.source.ids
        return self.source.take(ids[np.unique(np.linspace(0, len(ids) - 1, count).astype(np.intp))])

"""What the pictures of a collection say of votes, without a label: how far they reach."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lookalike.collection.vectors.queries import VectorSource
from lookalike.core.vectors import dense

MEAN_KERNEL = 1.5e-3
"""What the kernel is to be on average between two pictures of a collection.

It sets the width, wherever cosines lie, without a label (decision 13)."""

MAX_SAMPLE = 500
MAX_GAMMA, MIN_GAMMA = 25.0, 2.0


@dataclass(frozen=True)
class Surroundings:
    """The pictures of a collection at one moment."""

    source: VectorSource

    @cached_property
    def width(self) -> float:
        """γ of the kernel, by the mean of the kernel between pictures of the collection."""
        ids = self.source.ids
        places = np.linspace(0, len(ids) - 1, MAX_SAMPLE).astype(np.intp)
        X = self.source.take(ids[np.unique(places)])
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

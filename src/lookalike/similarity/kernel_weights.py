"""How much each kernel counts: by its mistakes, by how it ranks pictures held out, or alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookalike.core.ranking import judge
from lookalike.similarity.choosing import worth as worth_of
from lookalike.similarity.held_out import HeldOutPictures
from lookalike.similarity.kernels import Floats
from lookalike.similarity.operator import Source
from lookalike.supervision import Relevance

CHOSEN = "chosen"
"""The discount that is chosen on held-out pictures."""

ETAS = (0.0, 4.0, 16.0, 64.0)
"""The discounts β = exp(−η/T) that are tried: what has a share s of its triplets wrong has the
weight exp(−ηs)."""

Combine: TypeAlias = Literal["views", "hedge", "uniform", "validation", "best", "average"]


@dataclass(frozen=True)
class Weighing:
    """The rule for the weights, and β of Algorithm 2 (paper 5) where it goes by mistakes."""

    combine: Combine
    discount: float | Literal["chosen"] | None

    @property
    def counts_mistakes(self) -> bool:
        """Whether kernels, or views, count by the triplets they had in the wrong order."""
        return self.combine in ("hedge", "views")

    @property
    def validates(self) -> bool:
        """Whether kernels count by how they rank what is held out."""
        return self.combine in ("validation", "best")

    def groups(self, sources: Sequence[Source]) -> list[str]:
        """Return what each kernel is weighted with: its view, or itself."""
        return [one.view if self.combine == "views" else one.name for one in sources]

    def mistakes(self, sources: Sequence[Source], margins: list[Floats]) -> NDArray[np.int64]:
        """Return the triplets in the wrong order for each kernel, or for its view as a whole."""
        judged = margins
        if self.combine == "views":
            sums: dict[str, Floats] = {}
            for source, margin in zip(sources, margins, strict=True):
                sums[source.view] = sums.get(source.view, np.float32(0)) + margin
            judged = [sums[source.view] for source in sources]
        return np.array([np.count_nonzero(~(one > 0)) for one in judged], dtype=np.int64)

    def weights(
        self,
        sources: Sequence[Source],
        mistakes: NDArray[np.int64],
        steps: int,
        worth: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]:
        """Return the weight of each kernel; ``worth`` is that of each on held-out pictures."""
        if self.counts_mistakes:
            return self.hedged(sources, mistakes, steps)
        if worth is None:
            return np.full(len(sources), 1 / len(sources))
        if self.combine == "best":
            return np.asarray(np.eye(len(sources))[int(worth.argmax())])
        return np.asarray(np.exp(worth) / np.exp(worth).sum())

    def hedged(
        self,
        sources: Sequence[Source],
        mistakes: NDArray[np.int64],
        steps: int,
        chosen: float | None = None,
    ) -> NDArray[np.float64]:
        """Return β to the number of mistakes, as shares; kernels of a view share its weight."""
        groups = self.groups(sources)
        beta = chosen if self.discount == CHOSEN else self.discount
        if beta is None:
            root = np.sqrt(np.log(len(set(groups))))
            beta = np.sqrt(steps) / (np.sqrt(steps) + root) if steps else 1.0
        # From the fewest mistakes on, so that not every power is 0.
        powers = np.exp(np.log(beta) * (mistakes - mistakes.min()))
        powers /= [groups.count(one) for one in groups]
        return np.asarray(powers / powers.sum())

    def choose(
        self,
        scores: Mapping[str, Floats],
        held: HeldOutPictures,
        sources: Sequence[Source],
        mistakes: NDArray[np.int64],
        steps: int,
    ) -> tuple[list[str], float]:
        """Return the groups of kernels that count and β, by what each scores on pictures held out.

        The best group alone, unless several are certain to rank better than that, and no worse
        what was left out whole.
        """
        groups = np.array(self.groups(sources))
        alone = {group: held.judge(values) for group, values in scores.items()}
        order = sorted(alone, key=lambda group: -alone[group].figure)
        best, strange = alone[order[0]], ~held.judged_taught
        most, chosen = 0.0, (order[:1], float(np.exp(-ETAS[-1] / steps)))
        for size in range(2, len(order) + 1):
            for eta in ETAS:
                beta = float(np.exp(-eta / steps))
                weights = self.hedged(sources, mistakes, steps, beta)
                total = sum(
                    weights[groups == group].sum() * scores[group] for group in order[:size]
                )
                gained = worth_of(held.judge(np.asarray(total, np.float32)), best, strange)
                if gained > most:
                    most, chosen = gained, (order[:size], beta)
        return chosen


def kernel_worth(
    queries: Sequence[Floats],
    stored: Sequence[Floats],
    held: NDArray[Any],
    judges: Relevance | None,
) -> NDArray[np.float64]:
    """Return the mean average precision of each kernel, or its share of right triplets.

    ``held`` are the triplets held out, or the rows, which ``judges`` says are related.
    """
    figures = []
    for one, other in zip(queries, stored, strict=True):
        if judges is None:
            image, more, less = held.T
            right = np.einsum("ij,ij->i", one[image], other[more] - other[less]) > 0
            figures.append(float(right.mean()))
        else:
            own = np.arange(len(held))
            relevant = judges.rows(own)
            np.fill_diagonal(relevant, False)
            scores = np.ascontiguousarray(one @ other.T, dtype=np.float32)
            outcome = judge(scores, relevant, own=own, cutoffs=(1,))
            figures.append(outcome.mean_average_precision)
    return np.array(figures)

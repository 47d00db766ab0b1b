"""The publish gate: what a new model must show before searches use it."""

from dataclasses import dataclass

from lookalike.collection.store.models import CodeFigures, Gain


@dataclass(frozen=True)
class Gate:
    """Decides by the figures of a trial whether what was learned is published.

    Where fewer than ``min_judges`` pictures are held out, a similarity is cross-validated. A
    collection has this gate; tests and trials pass one with other rules to ``Collection.open``.
    """

    min_judges: int = 500

    def passes_similarity(self, gain: Gain, over_start: Gain) -> bool:
        """Return whether a similarity is certain to rank better than the start.

        To replace one that was learned it need only rank better, since that ``gain`` is judged by
        fewer pictures.
        """
        return over_start.is_certain and gain.is_better

    def passes_words(self, over_commonest: Gain, gain: Gain | None) -> bool:
        """Return whether an annotator is certain to rank words better than by frequency.

        In mean average precision alone: words that half of all pictures have are hard to beat at
        rank 1, and say little. To replace one in use it must besides rank no worse than that,
        by which there is a ``gain``.
        """
        return over_commonest.mean_average_precision.is_gain and (gain is None or gain.is_no_worse)

    def passes_codes(self, figures: CodeFigures) -> bool:
        """Return whether codes spare a search half of the pictures, or were asked for as they are.

        Those whose number of candidates was given were asked for.
        """
        return not figures.chosen or 2 * figures.candidates < figures.pictures


GATE = Gate()
"""The gate of a collection that is given no other."""

"""Gates to pass to collections of tests, which are too small to prove anything beyond chance."""

from dataclasses import dataclass

from lookalike.collection import Gate


@dataclass(frozen=True)
class NoWorse(Gate):
    """Publishes a similarity that ranks no worse, judged once."""

    min_judges: int = 0

    def passes_similarity(self, gain, over_start):
        return all(
            one.mean_average_precision.mean >= 0 and not one.precision_at_1.is_loss
            for one in (gain, over_start)
        )

    def passes_words(self, over_commonest, gain):
        better = over_commonest.mean_average_precision.mean > 0
        return better and (gain is None or gain.is_no_worse)


@dataclass(frozen=True)
class Anything(NoWorse):
    """Publishes whatever was learned."""

    def passes_similarity(self, gain, over_start):
        return True

    def passes_words(self, over_commonest, gain):
        return True


OPEN = NoWorse()
EVERYTHING = Anything()

"""Choose what learns words: one annotator by name, or the best of several on held-out pictures."""

from collections.abc import Mapping
from typing import Any

from lookalike.annotation.base import Annotator
from lookalike.annotation.held_out import clearly_worse
from lookalike.annotation.registry import ANNOTATORS
from lookalike.collection.store.models import Figures
from lookalike.core.checks import check_choice
from lookalike.core.stored import parameters

AUTO = "auto"
"""The choice to train several annotators and to take the best."""

CANDIDATES: dict[str, dict[str, Any]] = {
    # 0.3 beside each picture's vector, for words that half of all pictures have.
    "wsabie": {"dimension": 200, "start": "ridge", "constant": 0.3, "choose_by": "MAP"},
    "ridge": {},
    "linear": {},
}
"""What ``auto`` chooses from, the first among equals, with settings that suit collections."""


def new_annotators(words: str, random_state: int | None) -> dict[str, Annotator]:
    """Return the annotators to train by name, or raise InvalidInput if there is no such choice."""
    check_choice("learn", "words", words, [AUTO, *ANNOTATORS.names])
    names = list(CANDIDATES) if words == AUTO else [words]
    return {name: _new_annotator(name, random_state) for name in names}


def best_of(tried: Mapping[str, Figures]) -> str:
    """Return the first name that is as good as the best, in mean average precision and at rank 1.

    As good is what is not below the best by more than a standard error, that of a share of as many
    pictures: of several models judged on few pictures the highest is often the luckiest
    (``docs/decisions/0009``). If none is as good in both, the largest mean average precision wins.
    """
    highest = max(figures.mean_average_precision for figures in tried.values())
    first = max(figures.precision_at_1 for figures in tried.values())

    def as_good(figures: Figures) -> bool:
        return not (
            clearly_worse(figures.mean_average_precision, highest, figures.queries)
            or clearly_worse(figures.precision_at_1, first, figures.queries)
        )

    good = (name for name, figures in tried.items() if as_good(figures))
    return next(good, max(tried, key=lambda name: tried[name].mean_average_precision))


def _new_annotator(name: str, random_state: int | None) -> Annotator:
    settings = dict(CANDIDATES.get(name, {}))
    if "random_state" in parameters(ANNOTATORS.get(name)):
        settings["random_state"] = random_state
    return ANNOTATORS.make(name, settings)

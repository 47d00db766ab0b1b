"""Choose what learns words: one annotator by name, or the best of several on held-out pictures."""

from collections.abc import Mapping
from typing import Any

from lookalike.annotation.base import Annotator
from lookalike.annotation.held_out import clearly_worse
from lookalike.annotation.registry import ANNOTATORS
from lookalike.collection.answers import Figures
from lookalike.core.checks import check_choice
from lookalike.core.stored import parameters

AUTO = "auto"
"""The choice to train several annotators and to take the best."""

CANDIDATES: dict[str, dict[str, Any]] = {
    # 0.3 beside each picture's vector, for words that half of all pictures have.
    "wsabie": {"start": "ridge", "constant": 0.3, "choose_by": "MAP"},
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
    """Return the name with the largest mean average precision, unless that is clearly worse at 1.

    Clearly worse is a precision at 1 below the best one by more than its standard error.
    """
    most = max(tried.values(), key=lambda figures: figures.precision_at_1)
    fine = [
        name
        for name, figures in tried.items()
        if not clearly_worse(figures.precision_at_1, most.precision_at_1, most.queries)
    ]
    return max(fine, key=lambda name: tried[name].mean_average_precision)


def _new_annotator(name: str, random_state: int | None) -> Annotator:
    settings = dict(CANDIDATES.get(name, {}))
    if "random_state" in parameters(ANNOTATORS.get(name)):
        settings["random_state"] = random_state
    return ANNOTATORS.make(name, settings)

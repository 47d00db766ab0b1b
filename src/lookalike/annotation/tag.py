"""A word for a picture, as an annotator gives it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tag:
    """A word for a picture; ``confidence`` is its probability of being right, NaN if unknown."""

    word: str
    score: float
    confidence: float

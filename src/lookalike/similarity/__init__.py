"""Learn: vectors and what is alike come in, a similarity that scores by inner product goes out."""

from lookalike.similarity.base import Similarity
from lookalike.similarity.oasis import OASIS

__all__ = ["OASIS", "Similarity"]

"""Name pictures: vectors and words come in, a ranking of the words for any picture goes out."""

from lookalike.annotation.base import Tag
from lookalike.annotation.ensemble import Ensemble
from lookalike.annotation.linear import LinearRanker
from lookalike.annotation.load import load_annotator
from lookalike.annotation.neighbours import NearestNeighbours
from lookalike.annotation.one_vs_rest import OneVsRest
from lookalike.annotation.parts import Parts
from lookalike.annotation.wsabie import WSABIE

__all__ = [
    "WSABIE",
    "Ensemble",
    "LinearRanker",
    "NearestNeighbours",
    "OneVsRest",
    "Parts",
    "Tag",
    "load_annotator",
]

"""Describe pictures: decoded pictures come in, vectors of unit length with a fingerprint go out."""

from lookalike.features.base import Feature, Vectors
from lookalike.features.embedding import Embedding
from lookalike.features.load import load_feature
from lookalike.features.pipeline import Described, Known, describe_files
from lookalike.features.reduction import Reduction
from lookalike.features.visterms import Visterms

__all__ = [
    "Described",
    "Embedding",
    "Feature",
    "Known",
    "Reduction",
    "Vectors",
    "Visterms",
    "describe_files",
    "load_feature",
]

"""Describe pictures: decoded pictures come in, vectors of unit length with a fingerprint go out."""

import typing

from lookalike.core import lazy

if typing.TYPE_CHECKING:
    from lookalike.core.vectors import Vectors
    from lookalike.features.base import Feature
    from lookalike.features.embedding import Embedding
    from lookalike.features.pipeline import Described, Unchanged, describe_files
    from lookalike.features.records import pack_vector, unpack_vectors
    from lookalike.features.reduction import Reduction
    from lookalike.features.region_records import RegionRecord, unpack_regions
    from lookalike.features.regions import Regions
    from lookalike.features.registry import FEATURES
    from lookalike.features.start_words import Likely, StartWords, Vocabulary
    from lookalike.features.views import Views
    from lookalike.features.visterms import Visterms

__all__ = [
    "FEATURES",
    "Described",
    "Embedding",
    "Feature",
    "Likely",
    "Reduction",
    "RegionRecord",
    "Regions",
    "StartWords",
    "Unchanged",
    "Vectors",
    "Views",
    "Visterms",
    "Vocabulary",
    "describe_files",
    "pack_vector",
    "unpack_regions",
    "unpack_vectors",
]

__getattr__ = lazy.exports(
    __name__,
    {
        "FEATURES": "registry",
        "Described": "pipeline",
        "Embedding": "embedding",
        "Feature": "base",
        "Unchanged": "pipeline",
        "Likely": "start_words",
        "Reduction": "reduction",
        "RegionRecord": "region_records",
        "Regions": "regions",
        "StartWords": "start_words",
        "Vectors": "base",
        "Views": "views",
        "Visterms": "visterms",
        "Vocabulary": "start_words",
        "describe_files": "pipeline",
        "pack_vector": "records",
        "unpack_regions": "region_records",
        "unpack_vectors": "records",
    },
)

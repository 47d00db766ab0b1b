"""Find: vectors of pictures come in, the nearest by inner product go out, best first."""

import typing

from lookalike.core.lazy import exports as _exports

if typing.TYPE_CHECKING:
    from lookalike.index.base import Hits, Index
    from lookalike.index.bits import BitIndex
    from lookalike.index.dense import DenseIndex, MappedIndex
    from lookalike.index.exact import ExactIndex
    from lookalike.index.expansion import QueryExpansion
    from lookalike.index.registry import INDEXES, RERANKERS
    from lookalike.index.reranker import Query, Reranker
    from lookalike.index.rescoring import Rescoring
    from lookalike.index.sparse import SparseIndex
    from lookalike.index.spatial import SpatialCheck
    from lookalike.index.spatial_expansion import SpatialExpansion
    from lookalike.index.why import WhyAlike, why_alike

__all__ = [
    "INDEXES",
    "RERANKERS",
    "BitIndex",
    "DenseIndex",
    "ExactIndex",
    "Hits",
    "Index",
    "MappedIndex",
    "Query",
    "QueryExpansion",
    "Reranker",
    "Rescoring",
    "SparseIndex",
    "SpatialCheck",
    "SpatialExpansion",
    "WhyAlike",
    "why_alike",
]

__getattr__ = _exports(
    __name__,
    {
        "INDEXES": "registry",
        "RERANKERS": "registry",
        "BitIndex": "bits",
        "DenseIndex": "dense",
        "ExactIndex": "exact",
        "Hits": "base",
        "Index": "base",
        "MappedIndex": "dense",
        "Query": "reranker",
        "QueryExpansion": "expansion",
        "Reranker": "reranker",
        "Rescoring": "rescoring",
        "SparseIndex": "sparse",
        "SpatialCheck": "spatial",
        "SpatialExpansion": "spatial_expansion",
        "WhyAlike": "why",
        "why_alike": "why",
    },
)

"""The indexes and the rerankers by name."""

from typing import TYPE_CHECKING

from lookalike.core.registry import Registry

if TYPE_CHECKING:
    from lookalike.index.base import Index
    from lookalike.index.reranker import Reranker

INDEXES: "Registry[Index]" = Registry(
    "index",
    "lookalike.indexes",
    {
        "dense": "lookalike.index.dense:DenseIndex",
        "sparse": "lookalike.index.sparse:SparseIndex",
        "bits": "lookalike.index.bits:BitIndex",
        "mapped": "lookalike.index.dense:MappedIndex",
    },
)
"""Open a saved index with ``INDEXES.get(name).open(path)``; ``INDEXES.load`` is not supported."""

RERANKERS: "Registry[Reranker]" = Registry(
    "reranker",
    "lookalike.rerankers",
    {
        "expansion": "lookalike.index.expansion:QueryExpansion",
        "exact": "lookalike.index.rescoring:Rescoring",
        "spatial": "lookalike.index.spatial:SpatialCheck",
        "spatial-expansion": "lookalike.index.spatial_expansion:SpatialExpansion",
    },
)
"""What improves the order of the first hits of a search."""

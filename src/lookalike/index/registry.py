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
    },
)
"""What finds the nearest vectors; opened by ``INDEXES.get(name).open(path)``."""

RERANKERS: "Registry[Reranker]" = Registry(
    "reranker", "lookalike.rerankers", {"expansion": "lookalike.index.expansion:QueryExpansion"}
)
"""What puts the first hits of a search into a better order."""

"""Find: vectors of pictures come in, the nearest by inner product go out, exactly."""

from lookalike.index.base import Hits
from lookalike.index.dense import DenseIndex
from lookalike.index.sparse import SparseIndex

__all__ = ["DenseIndex", "Hits", "SparseIndex"]

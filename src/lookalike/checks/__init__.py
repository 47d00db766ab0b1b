"""Check: a part of anybody's own comes in, an AssertionError that names the broken rule goes out.

Each function runs the contract that the parts of lookalike pass themselves; see docs/extending.md.
"""

from lookalike.checks.annotator import check_annotator
from lookalike.checks.encoder import check_encoder
from lookalike.checks.feature import check_feature
from lookalike.checks.index import check_index
from lookalike.checks.reranker import check_reranker
from lookalike.checks.similarity import check_similarity

__all__ = [
    "check_annotator",
    "check_encoder",
    "check_feature",
    "check_index",
    "check_reranker",
    "check_similarity",
]

"""Learn: vectors and relevance come in, a similarity that scores by inner product goes out."""

from typing import TYPE_CHECKING

from lookalike.core import lazy as _lazy

if TYPE_CHECKING:
    from lookalike.similarity.base import Similarity
    from lookalike.similarity.cosine import Cosine
    from lookalike.similarity.euclidean import Euclidean
    from lookalike.similarity.itml import ITML
    from lookalike.similarity.kernel import KernelSimilarity
    from lookalike.similarity.kitml import KITML
    from lookalike.similarity.krca import KRCA
    from lookalike.similarity.lda import LDA
    from lookalike.similarity.lego import LEGO
    from lookalike.similarity.lmnn import LMNN
    from lookalike.similarity.mcml import MCML
    from lookalike.similarity.mmc import MMC
    from lookalike.similarity.multi_kernel import MultiKernelSimilarity
    from lookalike.similarity.nca import NCA
    from lookalike.similarity.oasis import OASIS
    from lookalike.similarity.rca import RCA
    from lookalike.similarity.registry import SIMILARITIES
    from lookalike.similarity.sparse import SparseSimilarity

__all__ = [
    "ITML",
    "KITML",
    "KRCA",
    "LDA",
    "LEGO",
    "LMNN",
    "MCML",
    "MMC",
    "NCA",
    "OASIS",
    "RCA",
    "SIMILARITIES",
    "Cosine",
    "Euclidean",
    "KernelSimilarity",
    "MultiKernelSimilarity",
    "Similarity",
    "SparseSimilarity",
]

__getattr__ = _lazy.exports(
    __name__,
    {
        "Cosine": "cosine",
        "Euclidean": "euclidean",
        "ITML": "itml",
        "KITML": "kitml",
        "KRCA": "krca",
        "KernelSimilarity": "kernel",
        "LDA": "lda",
        "LEGO": "lego",
        "LMNN": "lmnn",
        "MCML": "mcml",
        "MMC": "mmc",
        "MultiKernelSimilarity": "multi_kernel",
        "NCA": "nca",
        "OASIS": "oasis",
        "RCA": "rca",
        "SIMILARITIES": "registry",
        "Similarity": "base",
        "SparseSimilarity": "sparse",
    },
)


def __dir__() -> list[str]:
    return __all__

"""Learn: vectors and what is alike come in, a similarity that scores by inner product goes out."""

from lookalike.similarity.base import Similarity
from lookalike.similarity.euclidean import Cosine, Euclidean
from lookalike.similarity.lda import LDA
from lookalike.similarity.lego import LEGO
from lookalike.similarity.lmnn import LMNN
from lookalike.similarity.mcml import MCML
from lookalike.similarity.nca import NCA
from lookalike.similarity.oasis import OASIS
from lookalike.similarity.rca import RCA

__all__ = [
    "LDA",
    "LEGO",
    "LMNN",
    "MCML",
    "NCA",
    "OASIS",
    "RCA",
    "Cosine",
    "Euclidean",
    "Similarity",
]

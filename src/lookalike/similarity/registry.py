"""The similarities by name."""

from contextlib import suppress
from typing import TYPE_CHECKING

from lookalike.core.errors import MissingPart
from lookalike.core.registry import Registry

if TYPE_CHECKING:
    from lookalike.similarity.base import Similarity

SIMILARITIES: "Registry[Similarity]" = Registry(
    "similarity",
    "lookalike.similarities",
    {
        "oasis": "lookalike.similarity.oasis:OASIS",
        "oks": "lookalike.similarity.kernel:KernelSimilarity",
        "omks": "lookalike.similarity.multi_kernel:MultiKernelSimilarity",
        "sparse": "lookalike.similarity.sparse:SparseSimilarity",
        "lda": "lookalike.similarity.lda:LDA",
        "cosine": "lookalike.similarity.cosine:Cosine",
        "hamming": "lookalike.codes.hamming:HammingSimilarity",
    },
    compared={
        "euclidean": "lookalike.similarity.euclidean:Euclidean",
        "itml": "lookalike.similarity.itml:ITML",
        "kitml": "lookalike.similarity.kitml:KITML",
        "krca": "lookalike.similarity.krca:KRCA",
        "lego": "lookalike.similarity.lego:LEGO",
        "lmnn": "lookalike.similarity.lmnn:LMNN",
        "mcml": "lookalike.similarity.mcml:MCML",
        "mmc": "lookalike.similarity.mmc:MMC",
        "nca": "lookalike.similarity.nca:NCA",
        "rca": "lookalike.similarity.rca:RCA",
    },
)


def learning_from(what: str) -> list[str]:
    """Return the names of the similarities that learn from ``what``, such as "triplets".

    Examples
    --------
    >>> "oasis" in learning_from("triplets"), "lda" in learning_from("triplets")
    (True, False)
    """
    result = []
    for name in SIMILARITIES.names:
        with suppress(MissingPart):
            if what in SIMILARITIES.get(name).learns_from:
                result.append(name)
    return result

"""Compress: vectors come in, short binary codes and the weights of their bits go out."""

import typing

from lookalike.core.lazy import exports as _exports

if typing.TYPE_CHECKING:
    from lookalike.codes.base import Encoder
    from lookalike.codes.bit_weights import BitWeights
    from lookalike.codes.deep_belief import DeepBeliefCodes
    from lookalike.codes.hamming import HammingSimilarity
    from lookalike.codes.itq import ITQCodes
    from lookalike.codes.lsh import LSHCodes
    from lookalike.codes.registry import ENCODERS
    from lookalike.codes.ridge import RidgeCodes
    from lookalike.codes.s3plh import S3PLH
    from lookalike.codes.spectral import SpectralCodes

__all__ = [
    "ENCODERS",
    "S3PLH",
    "BitWeights",
    "DeepBeliefCodes",
    "Encoder",
    "HammingSimilarity",
    "ITQCodes",
    "LSHCodes",
    "RidgeCodes",
    "SpectralCodes",
]

__getattr__ = _exports(
    __name__,
    {
        "ENCODERS": "registry",
        "S3PLH": "s3plh",
        "BitWeights": "bit_weights",
        "DeepBeliefCodes": "deep_belief",
        "Encoder": "base",
        "HammingSimilarity": "hamming",
        "ITQCodes": "itq",
        "LSHCodes": "lsh",
        "RidgeCodes": "ridge",
        "SpectralCodes": "spectral",
    },
)

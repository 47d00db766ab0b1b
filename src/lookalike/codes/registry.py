"""The encoders by name."""

from typing import TYPE_CHECKING

from lookalike.core.registry import Registry

if TYPE_CHECKING:
    from lookalike.codes.base import Encoder

ENCODERS: "Registry[Encoder]" = Registry(
    "encoder",
    "lookalike.encoders",
    {
        "s3plh": "lookalike.codes.s3plh:S3PLH",
        "deep_belief": "lookalike.codes.deep_belief:DeepBeliefCodes",
        "ridge_codes": "lookalike.codes.ridge:RidgeCodes",
        "itq": "lookalike.codes.itq:ITQCodes",
        "spectral": "lookalike.codes.spectral:SpectralCodes",
        "lsh": "lookalike.codes.lsh:LSHCodes",
    },
)
"""What turns vectors into binary codes."""

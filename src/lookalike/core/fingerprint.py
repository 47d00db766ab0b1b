"""Identify how a vector was made, so that vectors of two kinds are never compared."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core.errors import FingerprintMismatch


def fingerprint(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a hash of settings and arrays: 32 hexadecimal digits."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, ensure_ascii=False).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"|{name}:{array.dtype.str}:{array.shape}|".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()[:32]


def check_fingerprint(who: str, expected: str, actual: str) -> None:
    """Raise FingerprintMismatch if two fingerprints differ."""
    if expected != actual:
        raise FingerprintMismatch(
            f"{who} has vectors with the fingerprint {expected}, but these have {actual}: they "
            f"come from another feature, model or codebook and cannot be compared. Use the same "
            f"feature for both, or index into a new collection."
        )

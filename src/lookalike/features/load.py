"""Read a feature from its file, whichever it is."""

from collections.abc import Callable
from pathlib import Path

from lookalike.core.arrays import stored_kind
from lookalike.core.errors import DamagedFile
from lookalike.features.base import Feature
from lookalike.features.embedding import KIND as EMBEDDING
from lookalike.features.embedding import Embedding
from lookalike.features.visterms import KIND as VISTERMS
from lookalike.features.visterms import Visterms

_LOADERS: dict[str, Callable[[Path], Feature]] = {
    EMBEDDING: Embedding.load,
    VISTERMS: Visterms.load,
}


def load_feature(path: Path) -> Feature:
    """Read the feature that some ``save`` wrote to ``path``, by the kind stored in it."""
    kind = stored_kind(path)
    if kind not in _LOADERS:
        raise DamagedFile(
            f"{path} holds no feature: it must be one of {', '.join(sorted(_LOADERS))}; "
            f"it is {kind!r:.80}."
        )
    return _LOADERS[kind](path)

"""Read a feature from its file, whichever it is."""

import json
from collections.abc import Callable
from pathlib import Path

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
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            kind = json.loads((file.metadata() or {})["manifest"])["kind"]
        loader = _LOADERS[kind]
    except FileNotFoundError as error:
        raise DamagedFile(f"{path} does not exist.") from error
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise DamagedFile(
            f"{path} holds no feature: it must be one of {', '.join(sorted(_LOADERS))} ({error})."
        ) from error
    return loader(path)

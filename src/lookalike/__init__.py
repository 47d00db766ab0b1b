"""Image search, ranking and tagging that learns what similar means from its user.

The public names are loaded when first used, so that ``import lookalike`` stays light.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookalike.collection import Collection as Collection
    from lookalike.service.client import Client as Client

__version__ = "0.2.0"
__all__ = ["Client", "Collection", "__version__"]

_HOMES = {"Client": "lookalike.service.client", "Collection": "lookalike.collection"}
_STAGES = (
    "annotation",
    "checks",
    "codes",
    "collection",
    "core",
    "evaluate",
    "features",
    "images",
    "index",
    "similarity",
    "supervision",
)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in _STAGES:
        return importlib.import_module(f"lookalike.{name}")
    raise AttributeError(f"module 'lookalike' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_STAGES])

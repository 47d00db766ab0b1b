"""Image search, ranking and tagging that learns what similar means from its user.

The public names are loaded when first used, so that ``import lookalike`` stays light.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookalike.collection import Collection as Collection

__version__ = "0.1.0"
__all__ = ["Collection", "__version__"]

_STAGES = (
    "annotation",
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
    if name == "Collection":
        return importlib.import_module("lookalike.collection").Collection
    if name in _STAGES:
        return importlib.import_module(f"lookalike.{name}")
    raise AttributeError(f"module 'lookalike' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_STAGES])

"""Features by name."""

from typing import TYPE_CHECKING

from lookalike.core.registry import Registry

if TYPE_CHECKING:
    from lookalike.features.base import Feature

FEATURES: "Registry[Feature]" = Registry(
    "feature",
    "lookalike.features",
    {
        "embedding": "lookalike.features.embedding:Embedding",
        "visterms": "lookalike.features.visterms:Visterms",
        "views": "lookalike.features.views:Views",
        "regions": "lookalike.features.regions:Regions",
    },
)
"""Our own features, those registered in this process, and those of installed packages."""

"""The annotators by name."""

from pathlib import Path
from typing import TYPE_CHECKING

from lookalike.core.registry import Registry

if TYPE_CHECKING:
    from lookalike.annotation.base import Annotator


class Annotators(Registry["Annotator"]):
    """A registry that also loads the one annotator saved as a folder."""

    def load(self, path: str | Path) -> "Annotator":
        """Load an annotator of any kind from the file or folder that its ``save`` wrote."""
        if Path(path).is_dir():
            return self.get("ensemble").load(path)
        return super().load(path)


ANNOTATORS = Annotators(
    "annotator",
    "lookalike.annotators",
    {
        "wsabie": "lookalike.annotation.wsabie:WSABIE",
        "linear": "lookalike.annotation.linear:LinearRanker",
        "ridge": "lookalike.annotation.ridge:Ridge",
        "one_vs_rest": "lookalike.annotation.one_vs_rest:OneVsRest",
        "neighbours": "lookalike.annotation.neighbours:NearestNeighbours",
        "ensemble": "lookalike.annotation.ensemble:Ensemble",
    },
)
"""The models that give words to pictures."""

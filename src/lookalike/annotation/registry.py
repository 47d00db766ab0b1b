"""The annotators by name."""

from pathlib import Path
from typing import TYPE_CHECKING

from lookalike.core.registry import Registry

if TYPE_CHECKING:
    from lookalike.annotation.base import Annotator


class Annotators(Registry["Annotator"]):
    """A registry that also knows the one annotator kept in a folder."""

    def load(self, path: str | Path) -> "Annotator":
        """Load the annotator that some ``save`` wrote, whichever kind it is."""
        if Path(path).is_dir():
            return self.get("ensemble").load(path)
        return super().load(path)


ANNOTATORS = Annotators(
    "annotator",
    "lookalike.annotators",
    {
        "wsabie": "lookalike.annotation.wsabie:WSABIE",
        "linear": "lookalike.annotation.linear:LinearRanker",
        "one_vs_rest": "lookalike.annotation.one_vs_rest:OneVsRest",
        "neighbours": "lookalike.annotation.neighbours:NearestNeighbours",
        "ensemble": "lookalike.annotation.ensemble:Ensemble",
    },
)
"""What gives words to pictures."""

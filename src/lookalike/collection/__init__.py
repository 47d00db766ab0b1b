"""Keep: pictures and what is said of them come in; a folder that searches, tags, learns stays."""

from lookalike.collection.collection import Collection
from lookalike.collection.records import (
    Added,
    Ask,
    Event,
    Figures,
    InUse,
    Learned,
    Match,
    ModelRow,
    PictureRow,
    Standing,
    Suggestion,
    TaggedPicture,
    Tagging,
    Trial,
)
from lookalike.collection.where import Where

__all__ = [
    "Added",
    "Ask",
    "Collection",
    "Event",
    "Figures",
    "InUse",
    "Learned",
    "Match",
    "ModelRow",
    "PictureRow",
    "Standing",
    "Suggestion",
    "TaggedPicture",
    "Tagging",
    "Trial",
    "Where",
]

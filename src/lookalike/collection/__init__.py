"""Keep: pictures and what is said of them come in; a folder that searches, tags, learns stays."""

from lookalike.collection.collection import Collection
from lookalike.collection.records import (
    Added,
    Figures,
    InUse,
    Learned,
    Match,
    ModelRow,
    PictureRow,
    TaggedPicture,
    Tagging,
    Trial,
)

__all__ = [
    "Added",
    "Collection",
    "Figures",
    "InUse",
    "Learned",
    "Match",
    "ModelRow",
    "PictureRow",
    "TaggedPicture",
    "Tagging",
    "Trial",
]

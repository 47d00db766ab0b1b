"""Keep: pictures and what is said of them come in; a folder that searches and learns stays."""

from lookalike.collection.answers import (
    Added,
    Album,
    Ask,
    Event,
    Figures,
    InUse,
    Learned,
    Match,
    ModelRow,
    PictureRow,
    RankerInfo,
    SavedSearch,
    Standing,
    Suggestion,
    Trial,
    WordsToLearn,
)
from lookalike.collection.collection import Collection
from lookalike.collection.filter import Where
from lookalike.collection.search.tagging import PictureTag, TaggedPicture, Tagging

__all__ = [
    "Added",
    "Album",
    "Ask",
    "Collection",
    "Event",
    "Figures",
    "InUse",
    "Learned",
    "Match",
    "ModelRow",
    "PictureRow",
    "PictureTag",
    "RankerInfo",
    "SavedSearch",
    "Standing",
    "Suggestion",
    "TaggedPicture",
    "Tagging",
    "Trial",
    "Where",
    "WordsToLearn",
]

"""Keep: pictures and what is said of them come in; a folder that searches and learns stays."""

from lookalike.collection.answers import (
    Added,
    Album,
    Ask,
    Duplicates,
    Event,
    Figures,
    InUse,
    KnownWord,
    Learned,
    Match,
    ModelRow,
    PictureRow,
    RankerInfo,
    SavedSearch,
    Standing,
    Suggestion,
    Trial,
    WordCounts,
    WordsToLearn,
)
from lookalike.collection.collection import Collection
from lookalike.collection.search.tagging import PictureTag, TaggedPicture, Tagging
from lookalike.collection.store.filter import Where

__all__ = [
    "Added",
    "Album",
    "Ask",
    "Collection",
    "Duplicates",
    "Event",
    "Figures",
    "InUse",
    "KnownWord",
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
    "WordCounts",
    "WordsToLearn",
]

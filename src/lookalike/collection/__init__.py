"""Keep: pictures and what is said of them come in; a folder that searches and learns stays."""

from lookalike.collection.collection import Collection
from lookalike.collection.log.entry import Entry
from lookalike.collection.log.log import NewWords
from lookalike.collection.pictures.added import Added
from lookalike.collection.ranking.gate import Gate
from lookalike.collection.ranking.rankers import RankerInfo
from lookalike.collection.search.albums import Album
from lookalike.collection.search.completing import KnownWord
from lookalike.collection.search.matches import Duplicates, Match, WordCounts
from lookalike.collection.search.suggesting import Suggestion
from lookalike.collection.search.tagging import PictureTag, TaggedPicture, Tagging
from lookalike.collection.store.albums import SavedSearch
from lookalike.collection.store.filter import Where
from lookalike.collection.store.models import CodeFigures, Figures, Gain, ModelRow, Trial
from lookalike.collection.store.pictures import PictureRow
from lookalike.collection.store.queries import Ask
from lookalike.collection.training.trials import InUse, Learned
from lookalike.collection.upkeep.backup import BackedUp, Restored, restore_backup
from lookalike.collection.upkeep.checking import Checked, Finding
from lookalike.collection.votes.ledger import Standing

__all__ = [
    "Added",
    "Album",
    "Ask",
    "BackedUp",
    "Checked",
    "CodeFigures",
    "Collection",
    "Duplicates",
    "Entry",
    "Figures",
    "Finding",
    "Gain",
    "Gate",
    "InUse",
    "KnownWord",
    "Learned",
    "Match",
    "ModelRow",
    "NewWords",
    "PictureRow",
    "PictureTag",
    "RankerInfo",
    "Restored",
    "SavedSearch",
    "Standing",
    "Suggestion",
    "TaggedPicture",
    "Tagging",
    "Trial",
    "Where",
    "WordCounts",
    "restore_backup",
]

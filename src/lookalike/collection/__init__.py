"""Keep: pictures and what is said of them come in; a folder that searches and learns stays."""

from typing import TYPE_CHECKING

from lookalike.collection.collection import Collection
from lookalike.collection.log.entry import Entry
from lookalike.collection.log.log import NewWords
from lookalike.collection.log.people import UNDOABLE, PersonKind
from lookalike.collection.nouns.people import Person
from lookalike.collection.nouns.ratings import Comparison, RatedRankings
from lookalike.collection.pictures.added import Added
from lookalike.collection.pictures.describing import readable_pictures
from lookalike.collection.pictures.names import Subfolder
from lookalike.collection.ranking.gate import Gate
from lookalike.collection.ranking.info import RankerInfo
from lookalike.collection.search.albums import Album
from lookalike.collection.search.completing import KnownWord
from lookalike.collection.search.lexicon import PictureTag
from lookalike.collection.search.matches import (
    Copies,
    Duplicates,
    Match,
    Reading,
    ReadWord,
    Source,
    WordCounts,
)
from lookalike.collection.search.nearby import Nearby
from lookalike.collection.search.suggesting import Suggestion
from lookalike.collection.search.tagging import TaggedPicture, Tagging
from lookalike.collection.store.albums import SavedSearch
from lookalike.collection.store.filter import NEAR_KILOMETRES, Filter, read_near
from lookalike.collection.store.folder import Folder
from lookalike.collection.store.labels import FAVOURITE
from lookalike.collection.store.models import CodeFigures, Figures, Gain, ModelRow, Trial
from lookalike.collection.store.people import OWNER, Proposal
from lookalike.collection.store.pictures import PictureRow
from lookalike.collection.store.queries import Ask, Ref
from lookalike.collection.training.trials import InUse, Learned
from lookalike.collection.upkeep.backup import BackedUp, Restored, is_backup, restore_backup
from lookalike.collection.upkeep.checking import Checked, Finding
from lookalike.collection.vectors.queries import MAX_EXAMPLES, spread
from lookalike.collection.votes.ledger import Standing
from lookalike.core.lazy import exports as _exports

if TYPE_CHECKING:
    from lookalike.collection.search.exporting import recipe_beside
    from lookalike.collection.search.object_match import ObjectMatch
    from lookalike.collection.training.choosing import new_annotators
    from lookalike.collection.training.learning import codes_wanted

__all__ = [
    "FAVOURITE",
    "MAX_EXAMPLES",
    "NEAR_KILOMETRES",
    "OWNER",
    "UNDOABLE",
    "Added",
    "Album",
    "Ask",
    "BackedUp",
    "Checked",
    "CodeFigures",
    "Collection",
    "Comparison",
    "Copies",
    "Duplicates",
    "Entry",
    "Figures",
    "Filter",
    "Finding",
    "Folder",
    "Gain",
    "Gate",
    "InUse",
    "KnownWord",
    "Learned",
    "Match",
    "ModelRow",
    "Nearby",
    "NewWords",
    "ObjectMatch",
    "Person",
    "PersonKind",
    "PictureRow",
    "PictureTag",
    "Proposal",
    "RankerInfo",
    "RatedRankings",
    "ReadWord",
    "Reading",
    "Ref",
    "Restored",
    "SavedSearch",
    "Source",
    "Standing",
    "Subfolder",
    "Suggestion",
    "TaggedPicture",
    "Tagging",
    "Trial",
    "WordCounts",
    "codes_wanted",
    "is_backup",
    "new_annotators",
    "read_near",
    "readable_pictures",
    "recipe_beside",
    "restore_backup",
    "spread",
]

__getattr__ = _exports(
    __name__,
    {
        "ObjectMatch": "search.object_match",
        "codes_wanted": "training.learning",
        "new_annotators": "training.choosing",
        "recipe_beside": "search.exporting",
    },
)

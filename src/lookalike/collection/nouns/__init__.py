"""Nouns: what the face of a collection offers beside its verbs, a class for each subject."""

from lookalike.collection.nouns.albums import Albums
from lookalike.collection.nouns.bin import Bin
from lookalike.collection.nouns.duplicates import DuplicateGroups
from lookalike.collection.nouns.labels import Labels
from lookalike.collection.nouns.log import Log
from lookalike.collection.nouns.models import Models
from lookalike.collection.nouns.people import People
from lookalike.collection.nouns.pictures import Pictures
from lookalike.collection.nouns.queries import Queries
from lookalike.collection.nouns.ratings import Ratings
from lookalike.collection.nouns.texts import Texts
from lookalike.collection.nouns.upkeep import Upkeep
from lookalike.collection.nouns.votes import Votes
from lookalike.collection.nouns.words import Words

__all__ = [
    "Albums",
    "Bin",
    "DuplicateGroups",
    "Labels",
    "Log",
    "Models",
    "People",
    "Pictures",
    "Queries",
    "Ratings",
    "Texts",
    "Upkeep",
    "Votes",
    "Words",
]

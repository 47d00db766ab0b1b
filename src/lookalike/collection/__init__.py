"""Keep: pictures and what is alike come in, a folder that searches and learns stays."""

from lookalike.collection.collection import Collection
from lookalike.collection.records import Added, Figures, Learned, Match, ModelRow, PictureRow

__all__ = ["Added", "Collection", "Figures", "Learned", "Match", "ModelRow", "PictureRow"]

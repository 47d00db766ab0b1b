"""Read what is similar: labels, folders and clicks come in, relevance and triplets go out."""

from lookalike.supervision.clicks import clicks_to_relevance, image_relevance, read_clicks
from lookalike.supervision.labels import folder_labels, read_labels
from lookalike.supervision.relevance import Relevance
from lookalike.supervision.sampler import TripletSampler
from lookalike.supervision.tag_tree import TagTree
from lookalike.supervision.tag_tree_file import read_tag_tree

__all__ = [
    "Relevance",
    "TagTree",
    "TripletSampler",
    "clicks_to_relevance",
    "folder_labels",
    "image_relevance",
    "read_clicks",
    "read_labels",
    "read_tag_tree",
]

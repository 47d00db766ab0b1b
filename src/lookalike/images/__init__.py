"""Read pictures: paths come in; RGB pictures with their facts, or reasons for failure, go out."""

from lookalike.images.decode import Decode, Facts, Picture, decode
from lookalike.images.find import (
    ENDINGS,
    Files,
    Refused,
    find_pictures,
    is_inside,
    real_folders,
)
from lookalike.images.read import Limits, content_hash, read_bytes
from lookalike.images.samples import Sample, emoji_samples
from lookalike.images.thumbnails import thumbnail

__all__ = [
    "ENDINGS",
    "Decode",
    "Facts",
    "Files",
    "Limits",
    "Picture",
    "Refused",
    "Sample",
    "content_hash",
    "decode",
    "emoji_samples",
    "find_pictures",
    "is_inside",
    "read_bytes",
    "real_folders",
    "thumbnail",
]

"""Encode text: words and sentences come in, vectors of unit length go out, near where alike."""

import typing

from lookalike.core import lazy

if typing.TYPE_CHECKING:
    from lookalike.features.text.memory import TextMemory
    from lookalike.features.text.sentences import SentenceEncoder, is_installed, sentence_encoder

__all__ = ["SentenceEncoder", "TextMemory", "is_installed", "sentence_encoder"]

__getattr__ = lazy.exports(
    __name__,
    {
        "SentenceEncoder": "sentences",
        "TextMemory": "memory",
        "is_installed": "sentences",
        "sentence_encoder": "sentences",
    },
)

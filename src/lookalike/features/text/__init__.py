"""Encode text: words and sentences come in, vectors of unit length go out, near where alike."""

import typing

from lookalike.core import lazy

if typing.TYPE_CHECKING:
    from lookalike.features.text.sentences import SentenceEncoder, sentence_encoder

__all__ = ["SentenceEncoder", "sentence_encoder"]

__getattr__ = lazy.exports(
    __name__, {"SentenceEncoder": "sentences", "sentence_encoder": "sentences"}
)

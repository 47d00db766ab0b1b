"""Number the words of pictures, and find which pictures have which word."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookalike.core import sparse as sp
from lookalike.core.errors import DamagedFile, InvalidInput
from lookalike.core.text import word_key
from lookalike.supervision import Relevance

MAX_WORD = 1000
"""Maximum length of a word; a longer one is a mistake, such as a quote never closed."""

_MAX_PACKED = 2**30


def read_words(
    who: str, y: Any, n: int, known: Sequence[str] = ()
) -> tuple[sp.csr_matrix, tuple[str, ...]]:
    """Return which of n pictures have which word; known words come first and keep their numbers.

    Spellings that differ only in case or Unicode form are one word, written as most pictures
    have it (the first of ties in sort order), or as it was known before.

    Parameters
    ----------
    who : str
        The caller, for messages.
    y : sequence of labels, sequence of sets of labels, or Relevance with labels
        The ``y`` given to ``fit``.
    n : int
        The number of pictures.
    known : sequence of str
        Words that already have a number.

    Returns
    -------
    has : csr_matrix of shape (n, words)
        1 where a picture has a word; rows are sorted.
    words : tuple of str
    """
    relevance = Relevance.of(y, n)
    if relevance.labels_ is None:
        raise InvalidInput(
            f"{who}: y must have the words of each picture; got pairs of pictures. Give a list "
            f"with a word, or a set of words, for each."
        )
    spellings = relevance.labels_
    for word in spellings:
        if len(word) > MAX_WORD:
            raise InvalidInput(
                f"{who}: a word has {len(word)} characters, {word[:40]!r}…; the limit is "
                f"{MAX_WORD}. Check for a quote that is never closed."
            )
    uses = np.bincount(relevance.links.indices, minlength=len(spellings))
    written = {word_key(word): word for word in known}
    most: Counter[str] = Counter()
    for word, count in zip(spellings, uses.tolist(), strict=True):
        key = word_key(word)
        if key not in written or (key in most and count > most[key]):
            written[key] = word
            most[key] = count
    number = {key: place for place, key in enumerate(written)}
    column = np.array([number[word_key(word)] for word in spellings], np.int64)
    links = relevance.links
    has = sp.csr_matrix(
        (
            np.ones(links.nnz, np.float32),
            column[links.indices] if links.nnz else links.indices,
            links.indptr.copy(),
        ),
        shape=(n, len(written)),
    )
    has.sum_duplicates()
    has.data[:] = 1.0
    return has, tuple(written.values())


def pack_words(words: Sequence[str]) -> NDArray[np.uint8]:
    """Return words as bytes for :func:`~lookalike.core.arrays.save_arrays`."""
    return np.frombuffer(zlib.compress("\n".join(words).encode(), 9), np.uint8)


def unpack_words(packed: NDArray[np.uint8], count: int) -> tuple[str, ...]:
    """Return the words that :func:`pack_words` packed, or raise DamagedFile."""
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(packed.tobytes(), _MAX_PACKED)
        words = tuple(text.decode().split("\n")) if text else ("",) * min(count, 1)
    except (zlib.error, UnicodeDecodeError) as error:
        raise DamagedFile("the words of a model cannot be read.") from error
    if len(words) != count or reader.unconsumed_tail or not reader.eof:
        raise DamagedFile(f"the words of a model are damaged: {count} expected, {len(words)} read.")
    return words

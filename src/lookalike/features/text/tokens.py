"""Split text into the numbers a text model takes, by the tokenizer.json that came with it."""

import json
import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from lookalike.core.errors import InvalidInput

MAX_BYTES = 64 * 2**20
"""The largest tokenizer file that is read."""

_BEGIN, _END = "<|startoftext|>", "<|endoftext|>"
_WORDS = re.compile(r"'(?:s|t|re|ve|m|ll|d)\b|[^\W\d_]+|\d|(?:[^\s\w]|_)+")
_PARTS = re.compile(r"\w+|[^\w\s]")


class Tokens:
    """A tokenizer of one of two kinds: CLIP's byte-pair encoding, or BERT's pieces of words.

    CLIP: R. Sennrich, B. Haddow and A. Birch, *Neural machine translation of rare words with
    subword units* (2016), on bytes of lowercase text, words ending in ``</w>``. BERT: the longest
    piece that fits, again and again, of lowercase text without accents.

    Parameters
    ----------
    content : bytes
        A ``tokenizer.json`` as the package tokenizers writes them.
    """

    def __init__(self, content: bytes) -> None:
        model, whole = _read(content)
        kind = model.get("type", "WordPiece" if "continuing_subword_prefix" in model else "BPE")
        self._vocabulary: dict[str, int] = model["vocab"]
        self.is_pairs = kind == "BPE" and model.get("end_of_word_suffix") == "</w>"
        if not self.is_pairs and kind != "WordPiece":
            raise InvalidInput(
                f"The tokenizer is of the kind {kind!s:.40}, which is not supported. Give the "
                f"tokenizer.json of CLIP (BPE with </w>) or of BERT (WordPiece)."
            )
        names = (_BEGIN, _END) if self.is_pairs else ("[CLS]", "[SEP]")
        missing = [name for name in names if name not in self._vocabulary]
        if missing:
            raise InvalidInput(f"The tokenizer has no {' and no '.join(missing)}.")
        self.begin, self.end = (self._vocabulary[name] for name in names)
        padding = whole.get("padding") or {}
        self.pad = int(padding.get("pad_id", self.end if self.is_pairs else 0))
        pairs = model.get("merges", ())
        split = (pair.split(" ") if isinstance(pair, str) else pair for pair in pairs)
        self._ranks = {(a, b): rank for rank, (a, b) in enumerate(split)}

    def split(self, text: str, longest: int) -> list[int]:
        """Return the numbers of a text, with those that begin and end it, at most ``longest``."""
        plain = " ".join(text.lower().split())
        words = self._pairs(plain) if self.is_pairs else self._pieces(plain)
        numbers = [number for some in words for number in some]
        return [self.begin, *numbers[: longest - 2], self.end]

    def _pairs(self, text: str) -> list[list[int]]:
        unknown = self._vocabulary[_END]
        return [
            [self._vocabulary.get(part, unknown) for part in self._merged(word)]
            for word in _WORDS.findall(unicodedata.normalize("NFC", text))
        ]

    def _merged(self, word: str) -> list[str]:
        """Return the parts of a word after all merges, those learned first before others."""
        parts = [self._signs[byte] for byte in word.encode()]
        parts[-1] += "</w>"
        while len(parts) > 1:
            pairs = [*pairwise(parts)]
            best = min(pairs, key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            at = pairs.index(best)
            parts[at : at + 2] = ["".join(best)]
        return parts

    @cached_property
    def _signs(self) -> list[str]:
        """A visible sign for each byte: itself where it is one, else one from 256 on."""
        shown = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        others = iter(range(256, 512))
        return [chr(byte) if byte in shown else chr(next(others)) for byte in range(256)]

    def _pieces(self, text: str) -> list[list[int]]:
        letters = unicodedata.normalize("NFD", text)
        plain = "".join(sign for sign in letters if unicodedata.category(sign) != "Mn")
        return [self._longest(word) for word in _PARTS.findall(plain.replace("_", " _ "))]

    def _longest(self, word: str) -> list[int]:
        result: list[int] = []
        begin = 0
        while begin < len(word):
            mark = "##" if begin else ""
            ends = range(len(word), begin, -1)
            end = next((e for e in ends if mark + word[begin:e] in self._vocabulary), 0)
            if not end:
                return [self._vocabulary.get("[UNK]", self.pad)]
            result.append(self._vocabulary[mark + word[begin:end]])
            begin = end
        return result


def _read(content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the model of a tokenizer file, and the whole, or raise InvalidInput."""
    if len(content) > MAX_BYTES:
        raise InvalidInput(
            f"The tokenizer has {len(content):,} bytes; at most {MAX_BYTES:,} are read."
        )
    try:
        whole = json.loads(content)
        model = whole["model"]
        vocabulary, merges = model["vocab"], model.get("merges", [])
        sound = isinstance(vocabulary, dict) and all(
            isinstance(number, int) and number >= 0 for number in vocabulary.values()
        )
        if not sound or not all(map(_is_pair, merges)):
            raise ValueError("its vocabulary is not a table of texts and numbers")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(
            f"The tokenizer cannot be read: {error!s:.100}. Give the file tokenizer.json that came "
            f"with the text model."
        ) from error
    return model, whole


def _is_pair(merge: str | Sequence[str]) -> bool:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    return len(parts) == 2 and all(isinstance(part, str) for part in parts)

"""Text that people wrote: normalise it, compare it ignoring case, and show it safely."""

import math
import os
import re
import unicodedata
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from lookalike.core.errors import InvalidInput

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""Replaces a character that cannot be shown."""

_UNDECODED = re.compile("[\ud800-\udfff]")
_CONTROLS = ("Cc", "Cs")
_TURNS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
_MARKS = re.compile("[\u0300-\u036f]")
_METHOD = re.compile(r"\A(Collection(\.[a-z_]+)?|Ask): ")
_NOT_XML = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def nfc(text: str) -> str:
    """Return text in the Unicode form NFC, so that equal text compares equal.

    Examples
    --------
    >>> nfc("Grün") == "Grün"
    True
    """
    return unicodedata.normalize("NFC", text)


def label_name(value: Any) -> str:
    """Return a label's name: NFC, runs of white space as one space; empty for no label.

    A label is text or a whole number; ``1``, ``1.0`` and ``"1"`` are the same label. None, NaN
    and empty text are no label.

    Examples
    --------
    >>> label_name("  Gru\u0308n  tee "), label_name(7), label_name(None)
    ('Grün tee', '7', '')
    """
    if isinstance(value, str):
        return " ".join(nfc(value).split())
    if value is None:
        return ""
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        number = float(value)
        if math.isnan(number):
            return ""
        if number.is_integer():
            return str(int(number))
    raise InvalidInput(
        f"A label must be text, a whole number, or None for no label; got {value!r:.80}."
    )


def counted(count: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun, in the plural unless it is one.

    Examples
    --------
    >>> counted(1, "picture"), counted(4009, "picture"), counted(2, "query", "queries")
    ('1 picture', '4,009 pictures', '2 queries')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {nouns or f'{noun}s'}"


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it, rounded.

    Examples
    --------
    >>> duration(7.2), duration(1000), duration(9000)
    ('7 seconds', '17 minutes', '2.5 hours')
    """
    if seconds < 90:
        return counted(max(1, round(seconds)), "second")
    if seconds < 90 * 60:
        return counted(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours"


def without_method(message: str) -> str:
    """Return an error's message for people who did not call the class or method that it names.

    Examples
    --------
    >>> without_method("Collection.undo: event 7 is already undone.")
    'Event 7 is already undone.'
    >>> without_method("Collection: there is already an album “Cats”.")
    'There is already an album “Cats”.'
    >>> without_method("Ask: there is no picture or query 7 to search with.")
    'There is no picture or query 7 to search with.'
    """
    rest = _METHOD.sub("", message)
    return message if rest == message else rest[:1].upper() + rest[1:]


def is_utf8(text: str) -> bool:
    r"""Return whether text can be written as UTF-8, as the names of some files cannot.

    Examples
    --------
    >>> is_utf8("Grün"), is_utf8("Gr\udcfcn")
    (True, False)
    """
    return _UNDECODED.search(text) is None


def word_key(word: str) -> str:
    """Return the key that all spellings of a word share, whatever their case and Unicode form.

    Examples
    --------
    >>> word_key("Café") == word_key("CAFE\u0301"), word_key("Straße") == word_key("STRASSE")
    (True, True)
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())


def plain_key(word: str) -> str:
    """Return the key that spellings of a word share with and without marks such as accents.

    Examples
    --------
    >>> plain_key("Müller") == plain_key("muller"), plain_key("が") == plain_key("か")
    (True, False)
    """
    key = word_key(word)
    if key.isascii():
        return key
    apart = unicodedata.normalize("NFD", key)
    return unicodedata.normalize("NFC", _MARKS.sub("", apart))


def first_control(text: str) -> str | None:
    r"""Return the first control character or undecoded byte in text, or None.

    Examples
    --------
    >>> first_control("a\x07b"), first_control("tea")
    ('\x07', None)
    """
    # Printable text, which most is, contains none.
    if text.isprintable():
        return None
    return next((sign for sign in text if unicodedata.category(sign) in _CONTROLS), None)


def is_unseen(sign: str) -> bool:
    r"""Return whether a sign is a control character or turns the direction of what follows.

    Examples
    --------
    >>> is_unseen("\x07"), is_unseen("\u202e"), is_unseen("a")
    (True, True, False)
    """
    return unicodedata.category(sign) in _CONTROLS or unicodedata.bidirectional(sign) in _TURNS


def without_controls(text: str) -> str:
    r"""Return text with each control character and undecoded byte replaced by �.

    Examples
    --------
    >>> without_controls("tea\x00\udce9")
    'tea��'
    """
    if text.isprintable():
        return text
    return "".join(UNKNOWN if unicodedata.category(c) in _CONTROLS else c for c in text)


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


def safe_cell(text: str) -> str:
    """Return text for a cell of a table, which no spreadsheet takes for a formula.

    :func:`read_cell` gives it back unchanged.

    Examples
    --------
    >>> safe_cell("=1+1"), safe_cell("tea"), read_cell(safe_cell("=1+1"))
    ("'=1+1", 'tea', '=1+1')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def read_cell(text: str) -> str:
    """Return the text of a cell that :func:`safe_cell` may have written."""
    return text[1:] if text[:1] == "'" and text[1:].startswith(_FORMULA) else text


def shown(path: str | Path) -> str:
    r"""Return a path as text for JSON, with undecoded bytes replaced by �.

    Examples
    --------
    >>> shown("caf\udce9.jpg")
    'caf�.jpg'
    """
    text = os.fspath(path)
    return text if text.isascii() else _UNDECODED.sub(UNKNOWN, text)


def xml_text(text: str) -> str:
    r"""Return text for XML: on one line, with forbidden characters replaced by �.

    Examples
    --------
    >>> xml_text(" a\tcat\x00 ")
    'a cat�'
    """
    return " ".join(_NOT_XML.sub(UNKNOWN, text).split())

"""Text that people wrote: spelled one way, compared whatever its case, shown safely."""

import math
import os
import re
import unicodedata
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from lookalike.core.errors import InvalidInput

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""What stands for a character that cannot be shown."""

_UNDECODED = re.compile("[\ud800-\udfff]")
_CONTROLS = ("Cc", "Cs")
_NOT_XML = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def nfc(text: str) -> str:
    """Return text in the Unicode form NFC, in which one spelling is one string.

    Examples
    --------
    >>> nfc("Grün") == "Grün"
    True
    """
    return unicodedata.normalize("NFC", text)


def label_name(value: Any) -> str:
    """Return a label's name: NFC, white space stripped and single; empty for no label.

    Text and whole numbers name a label, and ``1``, ``1.0`` and ``"1"`` the same one. None, NaN
    and empty text name none.

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
        f"A label must be text or a whole number, or None where there is none; got {value!r}."
    )


def word_key(word: str) -> str:
    """Return what two spellings of one word share: case and Unicode form do not count.

    Examples
    --------
    >>> word_key("Café") == word_key("CAFE\u0301"), word_key("Straße") == word_key("STRASSE")
    (True, True)
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())


def first_control(text: str) -> str | None:
    r"""Return the first control character or undecoded byte in text; None if there is none.

    Examples
    --------
    >>> first_control("a\x07b"), first_control("tea")
    ('\x07', None)
    """
    # What is printable holds none, and most text is.
    if text.isprintable():
        return None
    return next((sign for sign in text if unicodedata.category(sign) in _CONTROLS), None)


def without_controls(text: str) -> str:
    r"""Return text with a replacement sign for each control character and undecoded byte.

    Examples
    --------
    >>> without_controls("tea\x00\udce9")
    'tea��'
    """
    if text.isprintable():
        return text
    return "".join(UNKNOWN if unicodedata.category(c) in _CONTROLS else c for c in text)


def shown(path: str | Path) -> str:
    r"""Return a path as JSON can carry it: undecoded bytes become a replacement sign.

    Examples
    --------
    >>> shown("caf\udce9.jpg")
    'caf�.jpg'
    """
    text = os.fspath(path)
    return text if text.isascii() else _UNDECODED.sub(UNKNOWN, text)


def xml_text(text: str) -> str:
    r"""Return text that XML can hold: on one line, signs it forbids replaced.

    Examples
    --------
    >>> xml_text(" a\tcat\x00 ")
    'a cat�'
    """
    return " ".join(_NOT_XML.sub(UNKNOWN, text).split())

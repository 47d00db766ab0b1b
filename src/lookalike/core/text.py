"""Text that people wrote: spelled one way, compared whatever its case, shown safely."""

import math
import unicodedata
from numbers import Integral, Real
from typing import Any

from lookalike.core.errors import InvalidInput


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
        return " ".join(unicodedata.normalize("NFC", value).split())
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


def printable(text: str) -> str:
    r"""Return text that can be shown: undecodable bytes of a file's name become the sign for them.

    Examples
    --------
    >>> printable("caf\udce9.jpg")
    'caf\ufffd.jpg'
    """
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

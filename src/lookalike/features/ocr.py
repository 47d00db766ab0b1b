"""Read the words that are written in pictures: signs, covers, scanned pages."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from PIL import Image

from lookalike.core.errors import MissingPart
from lookalike.core.text import nfc

PACKAGE = "rapidocr"

SIDE = 1600
"""The longer side, in pixels, that larger pictures are reduced to."""

MIN_SCORE = 0.8
"""The least score of a line; of what leaves and patterns were taken for, most have less."""

MAX_CHARACTERS = 10_000
"""The most that is kept of a picture's text."""

TextReader: TypeAlias = Callable[[Image.Image], str]
"""What returns the text that is written in a picture, a line for each line; empty for none."""


def is_installed() -> bool:
    """Return whether the package with the models is there."""
    return importlib.util.find_spec(PACKAGE) is not None


def text_reader() -> TextReader:
    """Return what reads text, by the models in the package rapidocr (Apache-2.0; PP-OCRv6).

    They know Latin and Chinese script. Nothing is downloaded.

    Raises
    ------
    MissingPart
        If the package is not installed.
    """
    if not is_installed():
        raise MissingPart(
            f"Reading text in pictures needs the package {PACKAGE}, which is not installed. "
            f"Install it with: pip install 'lookalike[read]'"
        )
    from rapidocr import RapidOCR

    model = RapidOCR(params={"Global.log_level": "error", "Global.text_score": MIN_SCORE})

    def read(image: Image.Image) -> str:
        small = image.copy()
        small.thumbnail((SIDE, SIDE))
        # The models take blue before green before red.
        result = model(np.ascontiguousarray(np.asarray(small.convert("RGB"))[:, :, ::-1]))
        return plain_text("\n".join(result.txts or ()))

    return read


def plain_text(text: str) -> str:
    r"""Return text as it is kept: no control characters, no empty lines, not too long.

    Examples
    --------
    >>> plain_text(" EXIT\x07 \n\n to  street ")
    'EXIT\nto street'
    """
    shown = "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in nfc(text))
    lines = (" ".join(line.split()) for line in shown.split("\n"))
    return "\n".join(line for line in lines if line)[:MAX_CHARACTERS]
